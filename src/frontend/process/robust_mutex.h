/*
 * robust_mutex.h
 *		Locks in shared memory that tell which processes live.
 *
 * A process holds its lock for as long as it lives, and the kernel gives up
 * for the dead what they held, also after SIGKILL
 * (pthread_mutexattr_setrobust(3)).
 */
#ifndef ROBUST_MUTEX_H
#define ROBUST_MUTEX_H

#include "base/fe_compat.h"

#include <pthread.h>

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

#endif							/* ROBUST_MUTEX_H */
