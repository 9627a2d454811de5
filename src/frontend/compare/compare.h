/*
 * compare.h
 *		Compares two databases, or a database and an archive.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "status/run.h"

struct Source;

/*
 * --compare-with of pg_pardump: compare, and report of each table whether it
 * is equal.  Returns the exit status: 1 if anything differs.
 */
extern int	compare_databases(const Options *options, const char *argv0);

/*
 * After a copy: compare the tables that were to be copied, in the snapshot of
 * the copy, with those of the target, large objects likewise, and positions
 * of sequences with those of the plan's table of contents.  Each difference
 * is an error message; returns the number of places that differ.  *compared
 * is what was compared, such as "2 tables, 1 sequence, 20,100 rows"; owned.
 * The source is closed then.
 */
extern int	compare_copy(struct Source *source, const Target *target,
						 const DumpPlan *plan, char **compared);

/*
 * Before a restore: can the source of --compare-with be reached, and is it
 * another database than the target, or than new_name, unless that is NULL, on
 * the target's server?  Exits with a message if not, or if it has not all the
 * tables; what would keep us from reading it is reported: findings.
 */
extern void compare_restore_check(const Run *run, const Target *target,
								  const char *new_name);

/*
 * After a restore: compare what it was to restore with the source of
 * --compare-with, in a snapshot that is taken now, as compare_copy() does;
 * tables are found there by their names.
 */
extern int	compare_restore(const Run *run, const Target *target,
							char **compared);

#endif							/* COMPARE_H */
