/*
 * coverage.h
 *		Included first in every file when coverage is measured: gcov writes
 *		what it has counted in exit(), but not in _exit().
 */
#ifndef COVERAGE_H
#define COVERAGE_H

#include <unistd.h>

extern void __gcov_dump(void);

static inline void coverage_exit(int status) __attribute__((noreturn));

static inline void
coverage_exit(int status)
{
	__gcov_dump();
	_exit(status);
}

#define _exit(status) coverage_exit(status)

#endif							/* COVERAGE_H */
