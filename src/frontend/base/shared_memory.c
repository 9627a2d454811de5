/*
 * shared_memory.c
 *		Memory that this process shares with those that it forks later.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>

#include "base/shared_memory.h"

void *
shared_memory_new(size_t n, size_t size)
{
	/* one more, as there is no mapping of no bytes */
	void	   *memory = mmap(NULL, (n + 1) * size, PROT_READ | PROT_WRITE,
							  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		pg_fatal("could not map shared memory: %m");
	return memory;
}

void
shared_memory_discard(void *memory, size_t n, size_t size)
{
#ifdef MADV_REMOVE
	(void) madvise(memory, n * size, MADV_REMOVE);
#endif
}
