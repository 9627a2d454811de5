/*
 * verify.h
 *		Checks that an archive is still what was written (--verify).
 */
#ifndef VERIFY_H
#define VERIFY_H

#include "options/options.h"

/*
 * Check the archive in options->verify, which pg_pardump or pg_dump has
 * written, with options->jobs processes.  Logs each problem as one line, and
 * then a summary.  Returns the exit status, which is 0 if there is no
 * problem.
 */
extern int	verify_archive(const Options *options);

#endif							/* VERIFY_H */
