/*
 * run_event.h
 *		What a dump notes in the event log.
 */
#ifndef RUN_EVENT_H
#define RUN_EVENT_H

#include "status/run.h"

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

/* In the leader: a job will be done again, "retry"; the run counts it. */
extern void run_event_retry(Run *run, int job);

/* In a worker: "objects_start" and "objects_end". */
extern void run_event_objects(const Run *run, const char *kind,
							  const LargeObjectGroup *group);

#endif							/* RUN_EVENT_H */
