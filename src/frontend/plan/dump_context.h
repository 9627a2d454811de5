/*
 * dump_context.h
 *		What a dump, or a direct copy, is.
 */
#ifndef DUMP_CONTEXT_H
#define DUMP_CONTEXT_H

#include "archive/archive_dir.h"
#include "archive/file_result.h"
#include "plan/dump_origin.h"
#include "plan/job_queue.h"
#include "replication/logical_slot.h"
#include "session/connection.h"
#include "source/leader_session.h"

/*
 * Settled before the workers start, the same for all, but for what only the
 * leader has.
 */
typedef struct DumpContext
{
	const Options *options;
	const PeerAddress *address;
	const LogicalSlot *slot;	/* that the snapshot is of, or NULL */
	const char *snapshot;		/* as first exported; workers ask leader */
	LeaderSession *leader;		/* once workers are to start */
	bool		keep_snapshot;	/* the leader: when all jobs are done, too */
	const struct ProgressBeside *beside;	/* shown with the rows; or NULL */
	bool	   *told;			/* the leader: by table, that no worker can
								 * lock it */
	int			n_retries;		/* the leader's count of jobs begun anew */
	const DumpOrigin *origin;
	const char *encoding;		/* of the archive */
	int			lock_wait_ms;
	CompressSpec compress;
	char	   *compression;	/* the same for the server that is to do it;
								 * NULL if the workers are */
	const ArchiveDir *archive;	/* NULL for a copy */
	const DumpTables *tables;
	const ServerExtension *extension;
	const LargeObjects *objects;
	const ChunkPlan *plan;
	const JobQueue *queue;
	FileResults *results;		/* workers fill it */
} DumpContext;

#endif							/* DUMP_CONTEXT_H */
