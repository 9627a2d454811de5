/*
 * run_progress.h
 *		The line of progress of the stage in which workers read rows, and how
 *		much of the run is left.
 *
 * Bytes are those of progress.h.  What is expected is the plan's estimate,
 * corrected by what the files have had that are done: table by table, else
 * by all of them.  So the line ends with the bytes that the summary shows.
 *
 * There is one screen, and so one such stage at a time.
 */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

#include "status/run.h"

/*
 * The stage begins (see progress.h).  The run must be complete but for what
 * the workers write to its results.
 */
extern void run_progress_begin(const Run *run);

/* The most runs that a stage has. */
#define RUN_PROGRESS_SIDES 2

/*
 * A stage with several runs, one after the other.  "what" names the stage,
 * and "names" say what each run reads.  Files and large objects whose results
 * are done already do not count.  All is borrowed.
 */
extern void run_progress_begin_sides(const char *what, const Run *const *runs,
									 const char *const *names, int n_runs);

/* A ProgressCompose for index builds after the rows, see IndexPlan. */
extern void run_progress_add_rest(void *arg, ProgressLine *line, bool at_end);

#endif							/* RUN_PROGRESS_H */
