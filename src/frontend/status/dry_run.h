/*
 * dry_run.h
 *		Shows the plan of a dump instead of executing it, for --dry-run and
 *		--check.
 */
#ifndef DRY_RUN_H
#define DRY_RUN_H

#include "archive/archive_dir.h"
#include "plan/dump_plan.h"

/*
 * --check: print to event_log_text_output(), in a few lines, what a run with
 * this plan would do.  need is NULL if no archive is made.  The run reads
 * n_servers servers.  If there is only one, source is the number of
 * connections that it has left besides the leader's.  target is the same for
 * a target, and database its database; NULL if there is no target.  facts
 * are lines to print below the first one, or NULL.  With --all-databases, one
 * line is printed.  The sizes are also written as an event.
 */
extern void dry_run_print_sums(const Options *options, const DumpPlan *plan,
							   const ArchiveNeed *need, int n_servers,
							   const ConnectionsLeft *source,
							   const ConnectionsLeft *target,
							   const char *database, const char *facts);

/* Of which server, and whether the needed number is exact. */
typedef enum ConnectionsText
{
	CONNECTIONS_SOURCE,
	CONNECTIONS_SOURCE_AT_MOST,
	CONNECTIONS_TARGET_AT_MOST
} ConnectionsText;

/*
 * A line of such an output, owned: how many connections are needed and free.
 * The session that has asked for the free ones counts as free, because the
 * needed ones include it.  left may be NULL.
 */
extern char *dry_run_connections(ConnectionsText text, int needed,
								 const ConnectionsLeft *left);

/*
 * Print the lines with the expected times, if --max-rate or --expected-rate
 * gives a rate: of a run that reads this number of bytes, and needs this
 * number of seconds at the expected rate.
 */
extern void dry_run_print_times(const Options *options, uint64 bytes,
								double seconds, FILE *out);

/*
 * --dry-run: print to event_log_text_output() how each table would be dumped,
 * and why, the totals, and the expected time if an option gives a rate.  The
 * plan is the one that workers would execute.  The output is in the plan's
 * encoding.
 */
extern void dry_run_print(const Options *options, const DumpPlan *plan);

#endif							/* DRY_RUN_H */
