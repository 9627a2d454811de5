/*
 * run_figures.h
 *		The figures of one run: what summary, metrics and --all-databases
 *		report of it.
 *
 * With --all-databases the run of each database is a process of its own.  It
 * hands its figures to the process that started it in shared memory, while it
 * is at work and at its end.  Any other process has no such memory, and
 * run_figures_own() returns NULL there.
 */
#ifndef RUN_FIGURES_H
#define RUN_FIGURES_H

typedef struct RunFigures
{
	/* while the run is at work */
	volatile uint64 expected_bytes; /* of its rows; 0 = not known yet */
	volatile uint64 done_bytes; /* of the expected ones */
	const char *volatile stage; /* a constant; NULL before the first one */

	/* when it has ended, of all that it did */
	int			tables;
	int			objects;		/* large objects */
	uint64		rows;
	uint64		raw_bytes;
	uint64		stored_bytes;
	int			retries;
	int			reused_files;
	uint64		reused_bytes;
	int			masked_columns;
	int			files;			/* of an archive that was verified */
	int			findings;		/* in these */
	int			errors;			/* that a restore passed over */
} RunFigures;

/* Add the figures of a run that has ended to a sum. */
extern void run_figures_add(RunFigures *sum, const RunFigures *figures);

/* In the process of a run: these are its figures, in shared memory. */
extern void run_figures_enter(RunFigures *figures);

/* In that process: its figures.  NULL in any other process. */
extern RunFigures *run_figures_own(void);

/*
 * In that process: from now on update() sets how far the run is.  arg must
 * live as long as the process.  Nothing happens in any other process.
 */
extern void run_figures_watch(void (*update) (void *arg, RunFigures *figures),
							  void *arg);

/* To be called often: calls update() when it is time. */
extern void run_figures_tick(void);

#endif							/* RUN_FIGURES_H */
