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
 * then a summary.  Returns the exit status: 0 if there is no problem,
 * ARCHIVE_EXIT_UNREAD if commands failed and nothing is known to be damaged,
 * otherwise 1.
 */
extern int	verify_archive(const Options *options);

#endif							/* VERIFY_H */
