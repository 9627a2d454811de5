/*
 * cleanup.h
 *		What must be undone when the program ends, and what signals do.
 */
#ifndef CLEANUP_H
#define CLEANUP_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

typedef void (*CleanupCallback) (void *arg);

/*
 * Call callback(arg) when this process exits with a non-zero status or
 * without cleanup_forget_all(); last registered, first called.  A forked
 * child inherits nothing of it.
 */
extern void cleanup_push(CleanupCallback callback, void *arg);

/* All went well: nothing is to be undone. */
extern void cleanup_forget_all(void);

/*
 * A write to a broken pipe, or beyond the limit of a file's size, is an error
 * to report like others, not a signal to die of.  And the ends of children
 * are to be told, even if whoever started this program ignores those of its
 * own.
 */
extern void cleanup_set_process_signals(void);

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT cancel the statement that
 * runs on the connection of cancel_set_connection() and make
 * cleanup_check_interrupt() end the program; before, they kill it.  If the
 * statement does not end within some seconds, its connection is shut down.
 */
extern void cleanup_install_leader_signals(void);

/*
 * In a worker the same signals cancel the statement, if the server can be
 * reached within seconds, and end the process in silence: the leader speaks.
 * The process also ends when its leader does.  The leader's process id is
 * given, as it may be gone already.
 */
extern void cleanup_install_worker_signals(pid_t leader);

/*
 * End child processes: ask them by SIGTERM, and kill those that are not gone
 * after five seconds, be they stopped, deaf, or waiting for a server that
 * does not answer.  All are reaped.  A pid of 0 is passed over; all are 0
 * then.
 */
extern void cleanup_end_children(pid_t *pids, int n_pids);

/*
 * The process group of a child that must end before this process does, as it
 * would take the end of its input for that of a file; 0 for none.  It is
 * ended when the process exits or is ended by a signal.
 */
extern void cleanup_set_fed_child(pid_t pid);

/*
 * Kill that process group, if there is one, and see it gone.  A worker that
 * cannot exits with 1, so that nobody begins its job anew.  Safe in a
 * handler.
 */
extern void cleanup_end_fed_child(void);

/* Is this child gone?  It is reaped then, and the pid 0. */
extern bool cleanup_child_gone(pid_t *pid);

/* Back to the defaults, all of them: for a child that will exec. */
extern void cleanup_reset_signals(void);

/*
 * Hold back all signals around a fork(), and let them through again, in the
 * parent and in the child.  A signal to a child that has its parent's
 * handlers still would be noted there, and lost; the parent would wait for
 * its end.
 */
extern void cleanup_hold_signals(void);
extern void cleanup_release_signals(void);

/* Name the connection whose statement a signal cancels; NULL for none. */
extern void cancel_set_connection(PGconn *conn);

/* Exit with a message if a signal came. */
extern void cleanup_check_interrupt(void);

#endif							/* CLEANUP_H */
