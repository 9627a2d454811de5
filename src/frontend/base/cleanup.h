/*
 * cleanup.h
 *		What must be undone when the program ends: the exit stack.
 */
#ifndef CLEANUP_H
#define CLEANUP_H

#include "base/fe_compat.h"

typedef void (*CleanupCallback) (void *arg);

/*
 * Call callback(arg) when this process exits with a non-zero status or
 * without cleanup_forget_all(); last registered, first called.  A forked
 * child inherits nothing of it.
 */
extern void cleanup_push(CleanupCallback callback, void *arg);

/*
 * This is not to be undone any more.  It must be what was registered last, or
 * the program ends with a message.
 */
extern void cleanup_pop(CleanupCallback callback, void *arg);

/* All went well: nothing is to be undone. */
extern void cleanup_forget_all(void);

/*
 * In a child that is a run of its own: from now on the exit stack is this
 * process's, and empty.
 */
extern void cleanup_begin_process(void);

/*
 * Is the exit stack this process's own?  Not in a worker, whom its leader's
 * does not concern.  Safe in a handler.
 */
extern bool cleanup_is_mine(void);

#endif							/* CLEANUP_H */
