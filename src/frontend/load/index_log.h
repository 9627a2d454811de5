/*
 * index_log.h
 *		When each index was built, for the event log and the report.
 */
#ifndef INDEX_LOG_H
#define INDEX_LOG_H

#include "archive/toc.h"
#include "plan/dump_table.h"
#include "process/progress.h"
#include "session/connection.h"

/* ----------
 * What the target says of an index that is being built, for the screen.
 * ----------
 */

#define INDEX_LOOK_PHASE_BYTES 64

/* All zero but for the address, before the first look. */
typedef struct IndexLook
{
	const PeerAddress *target_address;
	PGconn	   *conn;			/* its own session; NULL before the first */
	bool		given_up;		/* the target does not tell */
	char		phase[INDEX_LOOK_PHASE_BYTES];	/* ends in a space */
} IndexLook;

/*
 * A ProgressCompose: adds the table whose index has been under construction
 * for longest, the phase, and how much of that is done, if there is one and
 * the target tells it within a moment.  Nothing depends on it: no error is
 * one of the run's.
 */
extern void index_look_add(void *look, ProgressLine *line, bool at_end);

/* No more looks. */
extern void index_look_end(IndexLook *look);

/* In shared memory: set by the process that builds, read by the leader. */
typedef struct IndexBuild
{
	const TocEntry *entry;		/* an index, or a constraint that has one */
	const DumpTable *table;
	int			index_job;		/* of --index-jobs, from 0 */
	int			together;		/* as many are built by one job, and have its
								 * times */
	volatile int64 start_us;	/* microseconds since 1970; 0 = not begun */
	volatile int64 end_us;		/* 0 = not ended, or with errors */
} IndexBuild;

/* What has come of all builds so far; in shared memory. */
typedef struct IndexTotals
{
	volatile int made;			/* entries, with those that have failed */
	volatile int failed;
	volatile int64 busy_us;		/* the time of all jobs, added up */
	volatile bool came_to_end;	/* all of them were made */
} IndexTotals;

/* All that are to be built. */
typedef struct IndexBuilds
{
	IndexBuild *builds;
	int			n;
	IndexTotals *totals;
} IndexBuilds;

/* Room for n builds, all zero, never freed. */
extern IndexBuilds index_log_new(int n);

/* How many were built so far. */
extern int	index_log_built(const IndexBuilds *builds);

/*
 * Entry, table, index_job and together are set: its build begins or has ended
 * well.  Notes the time, and an event, "index_start" or "index_end".
 */
extern void index_log_begin(IndexBuild *build, int64 start_us);
extern void index_log_end(IndexBuild *build, int64 end_us);

/* Its name, qualified and quoted; owned. */
extern char *index_log_name(const IndexBuild *build);

#endif							/* INDEX_LOG_H */
