/*
 * shared_memory.c
 *		Implements shared_memory.h with anonymous mappings and robust mutexes.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>

#include "base/shared_memory.h"

void *
shared_memory_try(size_t n, size_t size)
{
	/*
	 * One more, as there is no mapping of no bytes.  Most of a large one may
	 * never be used, so nothing is reserved, where the system allows that.
	 */
	void	   *memory = mmap(NULL, (n + 1) * size, PROT_READ | PROT_WRITE,
							  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void *
shared_memory_new(size_t n, size_t size)
{
	void	   *memory = shared_memory_try(n, size);

	if (memory == NULL)
		pg_fatal("could not map shared memory: %m");
	return memory;
}

/* ----------
 * Locks that show which processes are alive.
 * ----------
 */
void
robust_mutex_init(pthread_mutex_t * mutex)
{
	pthread_mutexattr_t attr;
	int			rc;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	rc = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	if (rc != 0)
		pg_fatal("could not create a lock in shared memory: %s", strerror(rc));
}

bool
robust_mutex_hold(pthread_mutex_t * mutex, bool wait)
{
	int			rc = wait ? pthread_mutex_lock(mutex) :
		pthread_mutex_trylock(mutex);

	/*
	 * The last owner has died while it held the lock.  The data that these
	 * locks protect is valid at any time, so nothing has to be repaired.
	 * Without this call, the next unlock would make the lock unusable.
	 */
	if (rc == EOWNERDEAD)
		rc = pthread_mutex_consistent(mutex);
	if (rc != 0 && rc != EBUSY)
		pg_fatal("could not lock in shared memory: %s", strerror(rc));
	return rc == 0;
}

bool
robust_mutex_is_held(pthread_mutex_t * mutex)
{
	if (!robust_mutex_hold(mutex, false))
		return true;
	pthread_mutex_unlock(mutex);
	return false;
}
