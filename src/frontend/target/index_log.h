/*
 * index_log.h
 *		When each index was built, for the event log and the report.
 */
#ifndef INDEX_LOG_H
#define INDEX_LOG_H

#include "plan/dump_table.h"
#include "toc/toc.h"

/* In shared memory: set by the process that builds, read by the leader. */
typedef struct IndexBuild
{
	const TocEntry *entry;		/* an index, or a constraint that has one */
	const DumpTable *table;
	int			index_job;		/* of --index-jobs, from 0 */
	int			together;		/* as many had one run of pg_restore, and have
								 * its times */
	volatile int64 start_us;	/* microseconds since 1970; 0 = not begun */
	volatile int64 end_us;		/* 0 = not ended, or with errors */
} IndexBuild;

/* In shared memory, all zero, never freed. */
extern IndexBuild *index_log_new(int n);

/*
 * Entry, table, index_job and together are set: its build begins or has ended
 * well.  Notes the time, and an event, "index_start" or "index_end".
 */
extern void index_log_begin(IndexBuild *build, int64 start_us);
extern void index_log_end(IndexBuild *build, int64 end_us);

/* Its name, qualified and quoted; owned. */
extern char *index_log_name(const IndexBuild *build);

#endif							/* INDEX_LOG_H */
