/*
 * verify.h
 *		--verify: is an archive still what was written?
 */
#ifndef VERIFY_H
#define VERIFY_H

#include "options/options.h"

/*
 * Check the archive in options->verify, of pg_pardump or of pg_dump, by
 * options->jobs processes.  Logs every finding, a line each, and then a line
 * that sums up; returns the exit status, 0 if there was none.
 */
extern int	verify_archive(const Options *options);

#endif							/* VERIFY_H */
