/*
 * dump_plan.h
 *		What a dump, or a direct copy, is going to do.
 *
 * Settled before anything is done, and the same for all who do it: plain data
 * whose pointers are to other parts of it, so that it could be written to a
 * file, with numbers for these, and be executed elsewhere under the same
 * options.  How to reach the server is not a part of it (source.h), nor are
 * the results (run.h).
 */
#ifndef DUMP_PLAN_H
#define DUMP_PLAN_H

#include "plan/dump_origin.h"
#include "plan/fingerprint_spec.h"
#include "plan/job_queue.h"
#include "plan/wal_changes.h"

typedef struct DumpPlan
{
	/* When */
	const DumpOrigin *origin;
	const char *snapshot;		/* as the leader has exported it first */
	const char *snapshot_identity;	/* under any name, see snapshot.h */
	bool		snapshot_is_sound;	/* see standby_overflow.h: no session need
									 * check it, under any name */

	/* What */
	const Toc  *pg_dump_toc;	/* which the tables' entries are of */
	const Toc  *toc;			/* of the archive to be; in a copy the same */
	bool		leaves_out_extension;	/* pg_pardump, unlike pg_dump */
	const char *encoding;		/* of all names, statements and rows */
	const DumpTables *tables;
	const LargeObjects *objects;

	/* How */
	const ServerExtension *extension;	/* NULL if no server is read */
	const ChunkPlan *chunks;
	const JobQueue *queue;
	int			lock_wait_ms;
	CompressSpec compress;
	const char *server_compress;	/* the same for the server that is to do
									 * it; NULL if the workers are */
	pg_checksum_type checksum_type;
	const FingerprintSpec *fingerprints;	/* to be recorded; or NULL */
	const PreviousArchive *previous;	/* whose files may be used again; or
										 * NULL */
	const WalHistory *history;	/* to be recorded; or NULL */
	bool		knows_changes;	/* of blocks since the previous archive, by
								 * summaries of the log */
} DumpPlan;

/*
 * Decide all that follows from pg_dump's table of contents, and change
 * nothing: the chunks, the large objects, the order of jobs, the archive's
 * table of contents.  When it is called the plan has all the rest, and conn's
 * transaction, which is the leader's, the locks of all tables.  Exits with a
 * message if the server is to compress and cannot.
 */
extern void dump_plan_make(DumpPlan *plan, PGconn *conn,
						   const Options *options);

/*
 * What has changed since the previous archive is known: note which files of
 * the plan that leaves as they were.
 */
extern void dump_plan_note_changes(DumpPlan *plan,
								   const ChangedBlocks *changes);

/* Of all tables and large objects, estimated. */
extern uint64 dump_plan_bytes(const DumpPlan *plan);

/*
 * Of this what is sure to be dumped: no file of the previous archive may be
 * used again for it.  And how large the stored files are that may be.
 */
extern uint64 dump_plan_new_bytes(const DumpPlan *plan);
extern uint64 dump_plan_previous_bytes(const DumpPlan *plan);

/* What a job of the queue is about, see job_describe(); owned. */
extern char *dump_plan_describe_job(const DumpPlan *plan, int job, int step);

#endif							/* DUMP_PLAN_H */
