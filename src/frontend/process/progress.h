/*
 * progress.h
 *		--progress: a line about how far the run is, stage by stage.
 *
 * Bytes of rows are counted as the rows are read from the tables: in the
 * format in which they are read (COPY's text, its binary format, or raw
 * tuples), before any compression, with the contents of large objects.  So
 * they are in progress, summaries, reports, events and metrics of all
 * commands.  Files that an incremental dump uses again count as if they had
 * been read, and what an earlier run has restored does not count.  Bytes of
 * files are called stored, and those that a copy sends to its target are on
 * the wire.
 *
 * On a terminal the line is written over the one before, once a second;
 * elsewhere a new line is written every ten seconds.  Each stage ends with a
 * line that stays.  It is drawn from the plan and from what workers tell in
 * shared memory, without a query.
 *
 * There is one screen, and so one state, of the process that begins it.  If
 * no progress is to be shown, all these functions do nothing.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "process/worker_pool.h"

/* ----------
 * One line of progress, made of fields, as wide as the terminal allows.
 *
 * Where it does not fit, what matters least is left out, a number's words
 * before the number; none is cut.
 * ----------
 */

/* The highest rank of a field. */
#define PROGRESS_RANKS 9

typedef struct ProgressField
{
	const char *before;			/* words; borrowed */
	char	   *number;			/* owned */
	const char *after;
	int			rank;
	bool		brief;			/* without its words */
	bool		left_out;
} ProgressField;

#define PROGRESS_FIELDS 12

/* All zero at first. */
typedef struct ProgressLine
{
	ProgressField fields[PROGRESS_FIELDS];
	int			n_fields;
} ProgressLine;

/*
 * Add a number, as its format says, and the words before and after it, which
 * are borrowed.  Rank 0 stays as it is; the others have what room there is in
 * the order of their ranks.
 */
extern void progress_line_add(ProgressLine *line, int rank, const char *before,
							  const char *after, const char *format,...)
			pg_attribute_printf(5, 6);

/* The same for a name: one that is long is cut, and ends in "...". */
extern void progress_line_add_name(ProgressLine *line, int rank,
								   const char *name);

/*
 * Is progress to be shown?  On a terminal, unless that is unwanted, and
 * elsewhere if it is wanted.
 */
extern void progress_begin(bool wanted, bool unwanted);

/*
 * In a child that is a run of its own, whose parent shows progress: it shows
 * none.  Its messages clear the line of the parent, which appears again soon.
 */
extern void progress_begin_process(void);

extern bool progress_is_shown(void);

/*
 * A stage begins, the last one ends.  compose makes its line whenever one is
 * due, the last one with at_end; what it is given must live as long as the
 * stage.
 */
typedef void (*ProgressCompose) (void *arg, ProgressLine *line, bool at_end);

/* A stage begins whose line this composes. */
extern void progress_stage(ProgressCompose compose, void *arg);

/*
 * A stage whose line has a name and counts, "indexes 12/332".  The first text
 * is its name; the second follows the numbers; *done is looked at as it goes.
 * done may be NULL for a stage that is not counted: total, unless 0, is all
 * it has.  Texts are borrowed.
 */
extern void progress_stage_count(const char *what, const char *noun,
								 const volatile int *done, int total);

/*
 * A stage that is not counted, and as a rule over at once: then nothing is
 * shown of it.  If it is under way already, it continues.
 */
extern void progress_stage_if_long(const char *what);

/*
 * What a stage that counts is at, for the end of its line: called when one is
 * due, but the last; NULL for nothing.
 */
extern void progress_set_detail(ProgressCompose detail, void *arg);

/* To be called often: shows the line when it is time. */
extern void progress_tick(void);

/* The stage has ended well: shows its last line. */
extern void progress_end(void);

/* In a line: the time of the run so far. */
extern void progress_add_time(ProgressLine *line);

/*
 * The share of a stage that is done, after these words, and the time that is
 * left, or at the end the time of the run.  The stage began at that time of
 * run_clock_seconds().  Returns for how long it has been running, which is
 * never 0.
 */
extern double progress_add_share(ProgressLine *line, const char *what,
								 uint64 done, uint64 total, double begun,
								 bool at_end);

/* For a pool whose leader does nothing else. */
extern PoolWatch progress_watch(void);

#endif							/* PROGRESS_H */
