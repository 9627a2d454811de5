/*
 * compare_source.h
 *		Makes sure that a restored database has the contents of the one that
 *		the archive was made of.
 */
#ifndef COMPARE_SOURCE_H
#define COMPARE_SOURCE_H

#include "status/run.h"
#include "target/target.h"

/*
 * Before anything is done: can the source of --compare-with be reached, and
 * is it another database than the target, or than new_name, unless that is
 * NULL, on the target's server?  Exits with a message if not, or if it has
 * not all the tables; what it would not let us compare is told: findings.
 */
extern void compare_source_check(const Run *run, const Target *target,
								 const char *new_name);

/*
 * Compare what the run has restored with the source of --compare-with, in a
 * snapshot that is taken now, as compare_contents() does; tables are found
 * there by their names.  Each difference is an error message; returns how
 * many there are.  Exits with a message if the source cannot be read, or has
 * not all the tables.
 */
extern int	compare_source(const Run *run, const Target *target);

#endif							/* COMPARE_SOURCE_H */
