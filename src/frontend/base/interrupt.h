/*
 * interrupt.h
 *		Signal handling in the leader and in workers, the ends of forked
 *		processes, and the exit stack.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "libpq-fe.h"

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT cancel the statement that
 * runs on the connection of interrupt_set_connection() and make
 * interrupt_check() end the program; before, they kill it.  If the statement
 * does not end within some seconds, its connection is shut down.
 */
extern void interrupt_install_leader(void);

/* That of interrupt_check(), which is 1 else. */
extern void interrupt_set_exit_code(int code);

#define INTERRUPT_EXIT_BASE 128

/*
 * In a worker the same signals cancel the statement, if the server can be
 * reached within seconds, and end the process in silence: the leader speaks.
 * The process also ends when its leader does.  The leader's process id is
 * given, as it may be gone already.  The exit code is the signal's number and
 * INTERRUPT_EXIT_BASE.  first, unless it is NULL, is called
 * before all that, in the handler; it must be safe there.
 */
extern void interrupt_install_worker(pid_t leader, void (*first) (void));

/* In a child: ask this process to end when its parent ends, or has ended. */
extern void interrupt_end_with(pid_t parent);

/*
 * In a child that is a run of its own, forked with signals held back: signals
 * and connections are as when a program begins.  It is asked to end when its
 * parent ends.
 */
extern void interrupt_begin_process(pid_t parent);

/* Back to the defaults, all of them: for a child that will exec. */
extern void interrupt_reset_signals(void);

/*
 * Hold back all signals around a fork(), and let them through again, in the
 * parent and in the child.  A signal to a child that has its parent's
 * handlers still would be noted there, and lost; the parent would wait for
 * its end.
 */
extern void interrupt_hold_signals(void);
extern void interrupt_release_signals(void);

/*
 * fork() a process, which an error calls "what".  Returns 0 in the child,
 * where signals are held until it has handlers of its own and lets them
 * through.
 */
extern pid_t interrupt_fork(const char *what);

/*
 * Between these calls the signals of interrupt_install_leader() are only
 * noted for interrupt_check(), also before interrupt_install_leader() was
 * called.  interrupt_end_notes() brings back what they did before, and ends
 * the program as interrupt_check() does if one was noted.
 */
extern void interrupt_begin_notes(void);
extern void interrupt_end_notes(void);

/*
 * Around a question to the user: the signals of interrupt_install_leader()
 * are held back, and noted only within interrupt_wait_input().
 * interrupt_end_prompt() brings back what they did before, and ends the
 * program as interrupt_check() does if one was noted.
 */
extern void interrupt_begin_prompt(void);
extern void interrupt_end_prompt(void);

/*
 * Wait until the descriptor can be read, or is at its end; returns false if a
 * signal was noted.
 */
extern bool interrupt_wait_input(int fd);

/* Name the connection whose statement a signal cancels; NULL for none. */
extern void interrupt_set_connection(PGconn *conn);

/* Did a signal come?  Exit with a message if so. */
extern bool interrupt_came(void);
extern void interrupt_check(void);

/* ----------
 * The exit stack: callbacks that undo changes when the program ends.
 * ----------
 */

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

#endif							/* INTERRUPT_H */
