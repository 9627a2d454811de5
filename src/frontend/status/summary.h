/*
 * summary.h
 *		What a dump came to, at its end.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "process/run_figures.h"
#include "status/run.h"

/* ----------
 * Hints about what made a run slower than necessary.
 *
 * That is one worker for what several could share, if one was not asked for,
 * and tables that SQL reads for want of the extension.  Neither is said of a
 * run so small that it makes no difference, nor of what an option has chosen;
 * but an extension that is there, and may not be used or cannot be trusted,
 * is always worth one.
 * ----------
 */

/*
 * The plan is made: give hints on standard error, before the rows, while the
 * user can still stop the run and choose otherwise.  A dump or restore that
 * shows no progress gives them only with -v.
 */
extern void advice_give(const Options *options, const DumpPlan *plan);

/* ----------
 * What each of several servers has to do with a run (--also-from).
 * ----------
 */

/* "Rows are read from 2 servers: ..."; owned; NULL if there is one only. */
extern char *server_share_plan(const Run *run);

/* ----------
 * Warns while the snapshot of a run grows old.
 * ----------
 */

/* All zero at first, but for: */
typedef struct SnapshotAge
{
	bool		may_ask;		/* may execute pg_control_checkpoint() */
	int64		looked_at;		/* 0 = never */
	int64		warned;			/* the age of the last warning, 0 = none */
} SnapshotAge;

/*
 * A query for how many transaction IDs were assigned since the snapshot of
 * the transaction was taken, as of the last checkpoint (in a transaction
 * age() never changes), and for autovacuum_freeze_max_age.  NULL if it was
 * asked a moment ago, or may not be.
 */
extern const char *snapshot_age_query(SnapshotAge *age);

/*
 * Warn by the query's result that this is more than the setting, and again
 * each time it has doubled.  A result that is an error is passed over.
 */
extern void snapshot_age_warn(SnapshotAge *age, const PGresult *res);

/* What a run has done so far, in numbers. */
extern RunFigures summary_figures(const Run *run);

/*
 * Tell it on standard error if asked to (show), and in the event log: also
 * how long the program has been running.
 */
extern void summary_report(const Run *run, bool show);

/*
 * Which table took the workers the most time, how much had to be retried, and
 * which table has the most bytes of rows.
 */
extern void summary_print_tables(const Run *run, FILE *stream);

/* How many columns of how many tables were masked, if any. */
extern void summary_print_masks(const Run *run, FILE *stream);

/* ----------
 * The manifest of a dump.
 * ----------
 */

/*
 * Make it when all files are complete.  Of a copy, which has none, it tells
 * the same, for a report: paths are what a piece is, "chunk 2 of 9".  It
 * borrows from the plan, and is never freed.
 */
extern Manifest *run_manifest_new(const Run *run);

#endif							/* SUMMARY_H */
