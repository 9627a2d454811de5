/*
 * compare.h
 *		Compares two databases, or a database and an archive, and reports
 *		tables, rows, large objects and sequences that differ.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "status/run.h"

struct Source;

/*
 * --compare-with of pg_pardump: compare, and report for each table whether it
 * is equal.  Returns the exit status: 1 if anything differs.
 */
extern int	compare_databases(const Options *options, const char *argv0);

/*
 * After a copy: compare the copied tables, in the snapshot of the copy, with
 * those of the target; also large objects, and positions of sequences with
 * those in the plan's table of contents.  Each difference is an error
 * message; returns the number of differing objects.  *compared describes what
 * was compared, for example "2 tables, 1 sequence, 20,100 rows"; owned.
 * Closes the source.
 */
extern int	compare_copy(struct Source *source, const Target *target,
						 const DumpPlan *plan, char **compared);

/*
 * Before a restore: exits with a message if the source of --compare-with
 * cannot be reached, is the target (or the database new_name on the target's
 * server, unless that is NULL), or lacks tables.  Problems of reading it are
 * reported as findings.
 */
extern void compare_restore_check(const Run *run, const Target *target,
								  const char *new_name);

/*
 * After a restore: compare the restored objects with the source of
 * --compare-with, in a snapshot that is taken now, like compare_copy().
 * Tables are found there by name.
 */
extern int	compare_restore(const Run *run, const Target *target,
							char **compared);

#endif							/* COMPARE_H */
