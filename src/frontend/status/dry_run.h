/*
 * dry_run.h
 *		Shows the plan of a dump instead of executing it.
 */
#ifndef DRY_RUN_H
#define DRY_RUN_H

#include "archive/archive_dir.h"
#include "plan/dump_plan.h"
#include "session/connection.h"

/*
 * --check: print to event_log_text_output() what a run with this plan would
 * do, in a few lines.  need is NULL if no archive is made; n_servers are
 * read.  source are the connections that the only server has left besides the
 * leader's, and target those of a target, whose database is named; NULL if
 * there is none.  Of one of several databases, one line.  The sizes are an
 * event of the log, too.
 */
extern void dry_run_print_sums(const Options *options, const DumpPlan *plan,
							   const ArchiveNeed *need, int n_servers,
							   const ConnectionsLeft *source,
							   const ConnectionsLeft *target,
							   const char *database);

/*
 * Print to event_log_text_output() how each table would be dumped, and why
 * so, what it comes to, and how long it would take at the rate the options
 * expect, if any.  The plan is that which workers would be given; the
 * output has its encoding.
 */
extern void dry_run_print(const Options *options, const DumpPlan *plan);

#endif							/* DRY_RUN_H */
