/*
 * coverage.h
 *		Included first in every file when coverage is measured: gcov writes
 *		what it has counted in exit(), but not in _exit().
 *
 * A signal handler that ends the process while gcov writes would wait for
 * gcov's lock, which is the process's own, forever; and other processes would
 * wait for the lock of the file.  So all signals are blocked by then.
 */
#ifndef COVERAGE_H
#define COVERAGE_H

#include <signal.h>
#include <unistd.h>

extern void __gcov_dump(void);

static inline void coverage_exit(int status) __attribute__((noreturn));

/* In exit(), too: gcov's own destructor has priority 100, and comes later. */
static void __attribute__((destructor(101)))
coverage_block_signals(void)
{
	sigset_t	all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

static inline void
coverage_exit(int status)
{
	coverage_block_signals();
	__gcov_dump();
	_exit(status);
}

#define _exit(status) coverage_exit(status)

#endif							/* COVERAGE_H */
