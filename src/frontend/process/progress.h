/*
 * progress.h
 *		--progress: shows a line about the progress of each stage of a run.
 *
 * Bytes of rows are counted as they are read from the tables: in the format
 * in which they are read (COPY's text, its binary format, or raw tuples),
 * before any compression, including the contents of large objects.  Progress,
 * summaries, reports, events and metrics of all commands use this definition.
 * Files that an incremental dump reuses count as if they had been read; rows
 * that an earlier run has restored do not count.  Bytes of files are called
 * "stored", and bytes that a copy sends to its target "sent".
 *
 * On a terminal the line overwrites the previous one, once a second;
 * elsewhere a new line is written every ten seconds.  Each stage ends with a
 * line that stays.  Lines are made from the plan and from shared memory of
 * workers, without queries.
 *
 * There is one terminal, so there is one state, in the process that begins
 * it.  If progress is not shown, all these functions do nothing.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "process/worker_pool.h"

/* ----------
 * A line of progress: fields, as many as the width of the terminal allows.
 *
 * If it does not fit, the least important fields are left out: first the
 * words of a number, then the number.  No field is cut.
 * ----------
 */

/* The highest rank of a field. */
#define PROGRESS_RANKS 9

typedef struct ProgressField
{
	const char *before;			/* words around the number; borrowed */
	char	   *number;			/* owned */
	const char *after;
	int			rank;
	bool		brief;			/* show it without its words */
	bool		left_out;
} ProgressField;

#define PROGRESS_FIELDS 12

/* A line.  At first all members are zero. */
typedef struct ProgressLine
{
	ProgressField fields[PROGRESS_FIELDS];
	int			n_fields;
} ProgressLine;

/*
 * Add a number, with this format, and the words before and after it, which
 * are borrowed.  A field of rank 0 is always shown; others get the remaining
 * room in the order of their ranks.
 */
extern void progress_line_add(ProgressLine *line, int rank, const char *before,
							  const char *after, const char *format,...)
			pg_attribute_printf(5, 6);

/*
 * Add a name in the same way.  A long name is truncated, and ends with "...".
 */
extern void progress_line_add_name(ProgressLine *line, int rank,
								   const char *name);

/*
 * Decide whether to show progress: on a terminal unless it is unwanted,
 * elsewhere if it is wanted.
 */
extern void progress_begin(bool wanted, bool unwanted);

/*
 * In a child process that is a separate run, whose parent shows progress:
 * show none.  Messages of the child clear the line of the parent, which
 * appears again soon.
 */
extern void progress_begin_process(void);

extern bool progress_is_shown(void);

/*
 * Makes the line of a stage whenever one is due; at_end is true for the last
 * one.  arg must exist as long as the stage.
 */
typedef void (*ProgressCompose) (void *arg, ProgressLine *line, bool at_end);

/* Begin a stage with this function for its line, and end the previous one. */
extern void progress_stage(ProgressCompose compose, void *arg);

/*
 * Begin a stage whose line has a name and counts, "indexes 12/332".  what is
 * the name, noun follows the numbers, and *done is read for each line.  For a
 * stage without counts done is NULL; its line shows total unless that is 0.
 * Texts are borrowed.
 */
extern void progress_stage_count(const char *what, const char *noun,
								 const volatile int *done, int total);

/*
 * Begin a stage without counts that usually takes no time; if it does not,
 * nothing is shown.  If this stage is active already, it continues.
 */
extern void progress_stage_if_long(const char *what);

/*
 * Set a function that adds a detail to the end of the line of a stage with
 * counts, except to the last one; NULL for none.
 */
extern void progress_set_detail(ProgressCompose detail, void *arg);

/* Call this often.  Shows the line when it is time. */
extern void progress_tick(void);

/* End the stage successfully, and show its last line. */
extern void progress_end(void);

/* Add the elapsed time of the run to a line. */
extern void progress_add_time(ProgressLine *line);

/*
 * Add the finished share of a stage after these words, and the remaining
 * time, or at the end the elapsed time of the run.  begun is the time of
 * run_clock_seconds() when the stage began.  Returns how long it has been
 * running, which is never 0.
 */
extern double progress_add_share(ProgressLine *line, const char *what,
								 uint64 done, uint64 total, double begun,
								 bool at_end);

/* The callbacks for a pool whose leader only shows progress. */
extern PoolWatch progress_watch(void);

#endif							/* PROGRESS_H */
