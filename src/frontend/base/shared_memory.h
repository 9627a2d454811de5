/*
 * shared_memory.h
 *		Memory that this process shares with those that it forks later, and
 *		locks in it that show which processes live.
 */
#ifndef SHARED_MEMORY_H
#define SHARED_MEMORY_H

#include <pthread.h>

/*
 * An array of n elements, which may be 0, of the given size in bytes each:
 * all zero, and never freed.  Exits with a message if there is no room.
 */
extern void *shared_memory_new(size_t n, size_t size);

/* The same, but if there is no room, NULL and errno. */
extern void *shared_memory_try(size_t n, size_t size);

/* ----------
 * Locks of living processes
 *
 * A process holds its lock for as long as it lives.  The kernel releases the
 * lock if the process dies, also by SIGKILL (pthread_mutexattr_setrobust(3)).
 * ----------
 */

/* In shared memory, before the processes are forked; held by none. */
extern void robust_mutex_init(pthread_mutex_t * mutex);

/*
 * Lock it, for this process's life, or until pthread_mutex_unlock(); false if
 * another one has it, unless that is waited for.
 */
extern bool robust_mutex_hold(pthread_mutex_t * mutex, bool wait);

/*
 * Does a living process have it?  This one, too; and for a moment who asks
 * the same.
 */
extern bool robust_mutex_is_held(pthread_mutex_t * mutex);

#endif							/* SHARED_MEMORY_H */
