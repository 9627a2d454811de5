/*
 * compare_command.h
 *		--compare-with: does a database hold what another one, or an archive,
 *		holds?
 */
#ifndef COMPARE_COMMAND_H
#define COMPARE_COMMAND_H

#include "options/options.h"

/*
 * Compare, and tell of each table whether it is equal.  Returns the exit
 * status: 1 if anything differs.
 */
extern int	compare_databases(const Options *options, const char *argv0);

#endif							/* COMPARE_COMMAND_H */
