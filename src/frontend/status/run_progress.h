/*
 * run_progress.h
 *		Shows progress while workers read rows, and estimates how much time is
 *		left.
 *
 * Bytes are counted as in progress.h.  The expected number is the estimate of
 * the plan, corrected by the real sizes of finished files: those of the same
 * table, or those of similar tables while the table has none.  So the last
 * line shows the same bytes as the summary.
 *
 * There is one terminal, so there is one such stage at a time.
 */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

#include "status/run.h"

/*
 * Begin the stage (see progress.h).  The run must be complete except for its
 * results, which workers write.
 */
extern void run_progress_begin(const Run *run);

/* The largest number of runs in a stage. */
#define RUN_PROGRESS_SIDES 2

/*
 * Begin a stage with several runs, which are read one after the other.
 * "what" names the stage, and "names" what each run reads.  Files and large
 * objects that earlier runs have finished do not count.  All pointers are
 * borrowed.
 */
extern void run_progress_begin_sides(const char *what, const Run *const *runs,
									 const char *const *names, int n_runs);

/*
 * A ProgressCompose callback for index builds after the rows, see IndexPlan.
 */
extern void run_progress_add_rest(void *arg, ProgressLine *line, bool at_end);

#endif							/* RUN_PROGRESS_H */
