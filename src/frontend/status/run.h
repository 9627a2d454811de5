/*
 * run.h
 *		A plan being executed: what leader and workers know of it.
 *
 * A dump and a direct copy have this in common.  Events, progress, summary
 * and manifest are made of it, independent of the source of the rows.
 */
#ifndef RUN_H
#define RUN_H

#include "archive/archive_dir.h"
#include "load/index_builder.h"

typedef struct Run
{
	const Options *options;
	const DumpPlan *plan;
	const ArchiveDir *archive;	/* that is made; NULL on a target */
	FileResults *results;		/* workers fill it */
	int			n_retries;		/* the leader's count of repeated jobs */
	const IndexBuilds *indexes; /* that are built meanwhile; or NULL */
	const char *const *servers; /* names of those that are read, by
								 * FileResult.server; NULL if it is one */
	int			n_servers;
} Run;

/*
 * Make room for the results of all that the plan has, and of what belongs to
 * the archive if there is one: before workers are forked, who share it.
 */
extern void run_make_results(Run *run, pg_checksum_type checksum_type);

/* Where the result of a file of the plan is. */
extern FileResult *run_file_result(const Run *run, const DataFile *file);

/*
 * Of a job's results, which are those of data files or of large objects, the
 * one with this number, from 0; NULL after the last.
 */
extern FileResult *run_job_result(const Run *run, const Job *job, int i);

/*
 * In a worker: a job is on a target, committed; see target_history_expect()
 * and _check_unlogged().  But files that it has left to other jobs are not,
 * by data file; or NULL.
 */
extern void run_job_is_done(const Run *run, const Job *job,
							const volatile bool *left);

/* What an earlier run has done of it, which this one has taken for done. */
typedef struct ResumedWork
{
	int			files;
	int			parts;			/* of other files */
	int			objects;
	double		bytes;			/* of those that the plan expects */
} ResumedWork;

extern ResumedWork run_before(const Run *run);

/* Has this file, or large object, been done, and by an earlier run? */
static inline bool
run_was_done_before(const FileResult *result)
{
	return result->done && result->start_us == 0 && !result->incomplete;
}

/* Are all rows of a table of this Run done?  For callbacks, too. */
extern bool run_table_is_done(const void *run, int table);

/* The same, and nothing of it had to be left out. */
extern bool run_table_is_complete(const Run *run, int table);

/* ----------
 * What a dump notes in the event log.
 * ----------
 */

/*
 * Open the log if there is to be one.  From here on the log ends in "failed"
 * if the program fails.  Exits with a message if it could not be opened, or
 * would be in the archive's directory.
 */
extern void run_event_begin(const Options *options);

/* A stage of the run begins: "stage". */
extern void run_event_stage(const char *stage);

/*
 * The plan is made, the workers are to be started: "run".  target_address is
 * NULL but in a copy.
 */
extern void run_event_run(const Options *options, const DumpPlan *plan,
						  const PeerAddress *target_address);

/* After it, if the run continues an earlier one: "resumed". */
extern void run_event_resumed(const Run *run);

/*
 * Of a dry run, instead of "run" and what follows it: "plan" for each table,
 * and "dry_run" for all of it; seconds is 0 if no rate was expected.
 */
extern void run_event_plan(const DumpPlan *plan, int table, uint64 est_bytes);
extern void run_event_dry_run(const Options *options, const DumpPlan *plan,
							  double seconds);

/*
 * In a worker: "chunk_start" and "chunk_end".  In a copy, format is that of
 * the rows on their way, and format_reason why it is not one that takes less
 * work, or NULL; else both are NULL.  new_reason is why no file of the
 * previous archive was used again, or NULL.
 */
extern void run_event_chunk_start(const Run *run,
								  const DataFile *file, const char *format,
								  const char *format_reason);
extern void run_event_chunk_end(const Run *run,
								const DataFile *file, const char *new_reason);

/*
 * Members of any event: bytes of rows, and as they are stored, or, without an
 * archive, as they were on the wire.
 */
extern void run_event_add_bytes(Event *event, const Run *run,
								uint64 raw_bytes, uint64 stored_bytes);

/*
 * A job will be done again, "retry".  The run counts it, in this process:
 * call it in the leader, or count for the leader elsewhere.
 */
extern void run_event_retry(Run *run, int job);

/* The same in a worker that reads the rest of a file again; it counts. */
extern void run_event_read_again(const Run *run, const DataFile *file);

/* In a worker: "objects_start" and "objects_end". */
extern void run_event_objects(const Run *run, const char *kind,
							  const LargeObjectGroup *group);

#endif							/* RUN_H */
