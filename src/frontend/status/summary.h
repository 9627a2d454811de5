/*
 * summary.h
 *		Reports the figures of a run at its end, and makes the manifest of a
 *		dump.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "process/run_figures.h"
#include "status/run.h"

/* ----------
 * Hints about what makes a run slower than necessary.
 *
 * There is a hint if one worker reads what several could share, and the
 * number of jobs was not given; and if SQL reads tables because the extension
 * is missing.  There is none for a small run, where it makes no difference,
 * or about something that an option has chosen.  But if the extension exists,
 * and may not be used or cannot be trusted, there is always a hint.
 * ----------
 */

/*
 * Below this size there are no hints, because the rows are read within a
 * second or two in any case.
 */
#define ADVICE_BYTES ((uint64) 64 * 1024 * 1024)

/*
 * A dump or restore that shows no progress only prints hints with -v.  With
 * --check, they are always printed.
 */
extern bool advice_is_shown(const Options *options);

/*
 * Print hints on standard error after the plan and before the rows, when the
 * user can still stop the run and change the options.  With --all-databases,
 * the run of a database only passes the bytes to the parent process, which
 * prints each hint once.
 */
extern void advice_give(const Options *options, const DumpPlan *plan);

/* Print the hint about jobs if it is due for this many bytes of rows. */
extern void advice_give_jobs(const Options *options, uint64 bytes);

/* ----------
 * The share of each server (--also-from).
 * ----------
 */

/* "Rows are read from 2 servers: ..."; owned.  NULL if there is only one. */
extern char *server_share_plan(const Run *run);

/* ----------
 * Warnings about an old snapshot, while the run continues.
 * ----------
 */

/* The age of a snapshot.  At first only may_ask is set. */
typedef struct SnapshotAge
{
	bool		may_ask;		/* may execute pg_control_checkpoint() */
	int64		looked_at;		/* 0 = never */
	int64		warned;			/* the age of the last warning, 0 = none */
} SnapshotAge;

/*
 * A query for the number of transaction IDs that were assigned since the
 * snapshot was taken, as of the last checkpoint, and for
 * autovacuum_freeze_max_age.  (Within a transaction, age() never changes.)
 * NULL if the last query was a moment ago, or the role may not run it.
 */
extern const char *snapshot_age_query(SnapshotAge *age);

/* The detail of warnings about the age of a snapshot; %s is the setting. */
#define SNAPSHOT_AGE_DETAIL "autovacuum_freeze_max_age is %s.  Until the run ends, vacuum can neither freeze rows that are newer than the snapshot of the run nor remove rows that were deleted after it, in any table of this database."

/*
 * Warn if the result of the query is greater than the setting, and again each
 * time it has doubled.  An error as result is ignored.
 */
extern void snapshot_age_warn(SnapshotAge *age, const PGresult *res);

/* The figures of a run, as far as it has come. */
extern RunFigures summary_figures(const Run *run);

/*
 * Report the figures and the elapsed time in the event log and, if show is
 * true, on standard error.
 */
extern void summary_report(const Run *run, bool show);

/*
 * Print which table took the workers the most time, which table has the most
 * bytes of rows, and how many jobs were retried.
 */
extern void summary_print_tables(const Run *run, FILE *stream);

/* Print how many columns of how many tables were masked, if any. */
extern void summary_print_masks(const Run *run, FILE *stream);

/* ----------
 * The manifest of a dump.
 * ----------
 */

/*
 * Make the manifest when all files are complete.  A copy has no manifest, but
 * its report needs the same data; paths are the names of chunks then, "chunk
 * 2 of 9".  The result borrows from the plan, and is never freed.
 */
extern Manifest *run_manifest_new(const Run *run);

#endif							/* SUMMARY_H */
