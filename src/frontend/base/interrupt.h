/*
 * interrupt.h
 *		What signals do, in the leader and in a worker.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/*
 * A write to a broken pipe, or beyond the limit of a file's size, is an error
 * to report like others, not a signal to die of.  And the ends of children
 * must be reported, even if the program that started this one ignores
 * SIGCHLD.
 */
extern void interrupt_set_process_signals(void);

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

/* Exit with a message if a signal came. */
extern void interrupt_check(void);

/*
 * For the exit stack, which is about to run: connections are of use yet, so
 * none is shut down any more, and interrupt_check() does not end what ends.
 */
extern void interrupt_begin_exit(void);

#endif							/* INTERRUPT_H */
