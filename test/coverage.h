/*
 * coverage.h
 *		Included first in every file when coverage is measured: gcov writes
 *		what it has counted in exit(), but not in _exit().
 */
#ifndef COVERAGE_H
#define COVERAGE_H

#include <signal.h>
#include <unistd.h>

extern void __gcov_dump(void);

static inline void coverage_exit(int status) __attribute__((noreturn));

static inline void
coverage_exit(int status)
{
	sigset_t	mask;

	/*
	 * A signal handler may have interrupted exit(), which holds gcov's lock:
	 * end then, as without gcov.
	 */
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	alarm(60);
	__gcov_dump();
	_exit(status);
}

#define _exit(status) coverage_exit(status)

#endif							/* COVERAGE_H */
