/*
 * run_figures.h
 *		The figures of one run, which summary, metrics and --all-databases
 *		report.
 *
 * With --all-databases the run of each database is a separate process.  It
 * passes its figures to the process that started it in shared memory, during
 * the run and at its end.  Other processes have no such memory, and
 * run_figures_own() returns NULL there.
 */
#ifndef RUN_FIGURES_H
#define RUN_FIGURES_H

#include "pqexpbuffer.h"

#include "base/message.h"

typedef struct RunFigures
{
	/* during the run */
	volatile uint64 expected_bytes; /* of its rows; 0 = not yet known */
	volatile uint64 done_bytes; /* of the expected ones */
	volatile double eta_seconds;	/* of rows and indexes; 0 = unknown */
	const char *volatile stage; /* a constant; NULL before the first one */
	volatile bool source_is_closed; /* its snapshot is not needed any more */

	/* hints (status/summary.h) */
	uint64		undivided_bytes;	/* of tables that are not split */
	uint64		copied_bytes;	/* without the extension */
	uint64		unusable_bytes; /* with an extension that cannot be used */

	/* totals at the end of the run */
	int			tables;
	int			objects;		/* large objects */
	uint64		rows;
	uint64		raw_bytes;
	uint64		stored_bytes;
	int			retries;
	int			reused_files;
	uint64		reused_bytes;
	int			masked_columns;
	int			files;			/* files of a verified archive */
	int			findings;		/* damaged files among them */
	int			errors;			/* errors that a restore ignored */
	FindingCounts checked;		/* what --check has found */
	const char *compression;	/* with --check: a constant, or NULL */
} RunFigures;

/* What a run has done, which decides the figures that are shown. */
typedef enum RunKind
{
	RUN_DUMP,
	RUN_RESTORE,
	RUN_COPY,
	RUN_VERIFY,
	RUN_BACKUP					/* or extraction, of files without rows */
} RunKind;

/*
 * Append the figures of a summary: "321 tables, 1,241,000 rows, 1.46 GB
 * stored as 210 MB in 32.3 s, 46.3 MB/s".  A run of several databases leaves
 * out the rate of each.  Stored bytes of a backup are only shown if they are
 * not 0.
 */
extern void run_figures_append(PQExpBuffer buf, const RunFigures *figures,
							   RunKind kind, double seconds, bool with_rate);

/* Add the figures of a run that has ended to a sum. */
extern void run_figures_add(RunFigures *sum, const RunFigures *figures);

/* In the process of a run: set its figures, in shared memory. */
extern void run_figures_enter(RunFigures *figures);

/* In that process: its figures.  NULL in any other process. */
extern RunFigures *run_figures_own(void);

/*
 * In that process: from now on, update() sets the progress of the run.  arg
 * must exist as long as the process.  Does nothing in other processes.
 */
extern void run_figures_watch(void (*update) (void *arg, RunFigures *figures),
							  void *arg);

/* Call this often.  Calls update() when it is time. */
extern void run_figures_tick(void);

#endif							/* RUN_FIGURES_H */
