/*
 * interrupt.h
 *		Signal handling in the leader and in workers, how forked processes
 *		end, and the exit stack, which undoes changes when the program ends.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "libpq-fe.h"

/*
 * Install the leader's signal handlers.  From now on, SIGINT, SIGTERM, SIGHUP
 * and SIGQUIT cancel the statement that runs on the connection of
 * interrupt_set_connection(), and interrupt_check() ends the program
 * afterwards.  Before that, these signals end the process at once.  If the
 * statement does not end within some seconds, its connection is shut down.
 */
extern void interrupt_install_leader(void);

/* Set the exit code of interrupt_check(), which is 1 by default. */
extern void interrupt_set_exit_code(int code);

#define INTERRUPT_EXIT_BASE 128

/*
 * In a worker: the same signals cancel the statement, if the server can be
 * reached within seconds, and end the process without a message, because the
 * leader reports the end.  The process also ends when the leader ends.  The
 * leader's process ID is an argument because the leader may have ended
 * already.  The exit code is INTERRUPT_EXIT_BASE plus the signal's number.
 * The handler first calls "first", unless it is NULL, which must be safe in a
 * handler.
 */
extern void interrupt_install_worker(pid_t leader, void (*first) (void));

/* In a child: end this process when its parent ends, or has already ended. */
extern void interrupt_end_with(pid_t parent);

/*
 * In a child that is a separate run, and was forked with signals blocked:
 * reset signals and connections to the state of a new program.  The process
 * ends when its parent ends.
 */
extern void interrupt_begin_process(pid_t parent);

/* Reset all signals to their defaults, in a child before exec(). */
extern void interrupt_reset_signals(void);

/*
 * Block all signals around a fork(), and unblock them in both the parent and
 * the child.  Otherwise, a signal to a child that still has the handlers of
 * its parent would only be recorded there and lost, and the parent would wait
 * for the child's end.
 */
extern void interrupt_hold_signals(void);
extern void interrupt_release_signals(void);

/*
 * fork() a process.  Returns 0 in the child, where signals are held until it
 * has handlers of its own and lets them through.
 */
extern pid_t interrupt_fork(void);

/*
 * Between these calls, the signals of interrupt_install_leader() are only
 * recorded for interrupt_check(), even before interrupt_install_leader() was
 * called.  interrupt_end_notes() restores the previous handlers, and calls
 * interrupt_check().
 */
extern void interrupt_begin_notes(void);
extern void interrupt_end_notes(void);

/*
 * Call these around a question to the user.  The signals of
 * interrupt_install_leader() are blocked, and are recorded only within
 * interrupt_wait_input(). interrupt_end_prompt() restores the previous
 * handlers, and calls interrupt_check().
 */
extern void interrupt_begin_prompt(void);
extern void interrupt_end_prompt(void);

/*
 * Wait until the descriptor has data or is at its end.  Returns false if a
 * signal was recorded.
 */
extern bool interrupt_wait_input(int fd);

/* Set the connection whose statement a signal cancels, or NULL for none. */
extern void interrupt_set_connection(PGconn *conn);

/*
 * interrupt_came() returns whether a signal was recorded.  interrupt_check()
 * exits with a message in this case.
 */
extern bool interrupt_came(void);
extern void interrupt_check(void);

/* ----------
 * The exit stack: callbacks that undo changes when the program ends.
 * ----------
 */

typedef void (*CleanupCallback) (void *arg);

/*
 * Register callback(arg) for the end of this process, unless
 * cleanup_forget_all() is called before.  The last registered callback is
 * called first.  A forked child does not call them.
 */
extern void cleanup_push(CleanupCallback callback, void *arg);

/*
 * Remove a callback, because its change need not be undone any more.  It must
 * be the one that was registered last, or the program ends with a message.
 */
extern void cleanup_pop(CleanupCallback callback, void *arg);

/* Remove all callbacks after success. */
extern void cleanup_forget_all(void);

/* In a child that is a separate run: begin with an empty exit stack. */
extern void cleanup_begin_process(void);

/*
 * Does the exit stack belong to this process?  It does not in a worker, which
 * must not undo changes of its leader.  Safe in a signal handler.
 */
extern bool cleanup_is_mine(void);

#endif							/* INTERRUPT_H */
