/*
 * robust_mutex.c
 *		Locks in shared memory that tell which processes live.
 */
#include "base/fe_compat.h"

#include "process/robust_mutex.h"

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
