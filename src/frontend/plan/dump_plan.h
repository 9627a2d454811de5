/*
 * dump_plan.h
 *		The plan of a dump or of a direct copy.
 *
 * The plan is complete before any row is read, and does not change.  It is
 * plain data that contains only pointers to other parts of the plan, so
 * tasks/task_plan.c can write it to a file, and another host can execute it
 * with the same options.  How to reach the server is not a part of it
 * (source.h), nor are the results (run.h).
 */
#ifndef DUMP_PLAN_H
#define DUMP_PLAN_H

#include "plan/job_queue.h"
#include "plan/wal_changes.h"

/* ----------
 * Where and when a dump was taken, as its manifest tells.
 * ----------
 */

/* The identifier of the server's cluster; takes pg_control_system(). */
#define SYSTEM_IDENTIFIER_SQL \
"(SELECT c.system_identifier FROM pg_catalog.pg_control_system() c)"

/*
 * How the server stores tuples, and whether it has lz4.  Hashes of strings
 * depend on the byte order (hashfn.c:hash_bytes).  What is passed by value is
 * 64 bits wide where float8 is.
 */
#define LAYOUT_SQL \
"pg_catalog.concat_ws(' ', pg_catalog.hashtext('byte order')," \
" (SELECT t.typbyval FROM pg_catalog.pg_type t WHERE t.oid OPERATOR(pg_catalog.=) 701::pg_catalog.oid)," \
" pg_catalog.current_setting('max_identifier_length')," \
" pg_catalog.current_setting('block_size'))," \
" EXISTS (SELECT FROM pg_catalog.pg_settings s" \
" WHERE s.name OPERATOR(pg_catalog.=) 'default_toast_compression'" \
" AND 'lz4' OPERATOR(pg_catalog.=) ANY (s.enumvals))"

/* Strings are NULL for what the server does not tell this user. */
typedef struct DumpOrigin
{
	char	   *server_version;
	char	   *system_identifier;
	char	   *database;		/* as it is named now */
	Oid			database_oid;
	char	   *lsn;			/* NULL too if it was not asked */
	const char *slot;			/* whose snapshot it is; NULL = none */
	const char *slot_lsn;		/* its consistent point, or NULL */
	int64		start_us;		/* microseconds since 1970 */
	char	   *layout;			/* of tuples: the same where they are stored
								 * in the same way by servers of a major */
	bool		has_lz4;		/* values can be compressed by it */
} DumpOrigin;

/*
 * Ask the leader's session, directly after it has taken its snapshot.  The
 * position in the write-ahead log is that of this moment: what the snapshot
 * sees was logged before it.  has_lsn: false if the snapshot was given, as
 * the position would be a later one.  Both are false where the role may not
 * call the functions for it: to call one without privilege, even in a branch
 * not taken, would end the transaction.
 */
extern DumpOrigin *dump_origin_read(PGconn *conn, bool has_lsn,
									bool has_identifier);

/* ----------
 * The plan
 * ----------
 */

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
