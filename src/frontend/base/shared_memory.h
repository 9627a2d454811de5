/*
 * shared_memory.h
 *		Memory that this process shares with processes that it forks later,
 *		and locks in it that show which processes are alive.
 */
#ifndef SHARED_MEMORY_H
#define SHARED_MEMORY_H

#include <pthread.h>

/*
 * Returns an array of n elements, which may be 0, of this size in bytes: all
 * zeros, and never freed.  Exits with a message if there is not enough
 * memory.
 */
extern void *shared_memory_new(size_t n, size_t size);

/* The same, but if there is no room, NULL and errno. */
extern void *shared_memory_try(size_t n, size_t size);

/* ----------
 * Locks that show which processes are alive.
 *
 * A process holds its lock as long as it lives.  The kernel releases the lock
 * when the process dies, even by SIGKILL (pthread_mutexattr_setrobust(3)).
 * ----------
 */

/* Initialize a lock in shared memory, before the processes are forked. */
extern void robust_mutex_init(pthread_mutex_t * mutex);

/*
 * Take the lock until this process ends, or until pthread_mutex_unlock().  If
 * another process has it, wait, or return false without wait.
 */
extern bool robust_mutex_hold(pthread_mutex_t * mutex, bool wait);

/*
 * Does a living process hold the lock?  True also if this process holds it,
 * or, for a moment, if another process is asking the same.
 */
extern bool robust_mutex_is_held(pthread_mutex_t * mutex);

#endif							/* SHARED_MEMORY_H */
