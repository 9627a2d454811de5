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
 * The server and the moment of a dump, for its manifest.
 * ----------
 */

/*
 * The identifier of the server's cluster; the role must be allowed to call
 * pg_control_system().
 */
#define SYSTEM_IDENTIFIER_SQL \
"(SELECT c.system_identifier FROM pg_catalog.pg_control_system() c)"

/*
 * How the server stores tuples, and whether it supports lz4.  Hashes of
 * strings depend on the byte order (hashfn.c:hash_bytes).  If float8 is
 * passed by value, values are 64 bits wide.
 */
#define LAYOUT_SQL \
"pg_catalog.concat_ws(' ', pg_catalog.hashtext('byte order')," \
" (SELECT t.typbyval FROM pg_catalog.pg_type t WHERE t.oid OPERATOR(pg_catalog.=) 701::pg_catalog.oid)," \
" pg_catalog.current_setting('max_identifier_length')," \
" pg_catalog.current_setting('block_size'))," \
" EXISTS (SELECT FROM pg_catalog.pg_settings s" \
" WHERE s.name OPERATOR(pg_catalog.=) 'default_toast_compression'" \
" AND 'lz4' OPERATOR(pg_catalog.=) ANY (s.enumvals))"

/* Strings are NULL if the role may not read them. */
typedef struct DumpOrigin
{
	char	   *server_version;
	char	   *system_identifier;
	char	   *database;		/* its current name */
	Oid			database_oid;
	char	   *lsn;			/* NULL also if it was not queried */
	const char *slot;			/* whose snapshot is used; NULL = none */
	const char *slot_lsn;		/* its consistent point, or NULL */
	int64		start_us;		/* microseconds since 1970 */
	char	   *layout;			/* layout of tuples: equal if servers of the
								 * same major version store them in the same
								 * way */
	bool		has_lz4;		/* values can be compressed with lz4 */
} DumpOrigin;

/*
 * Read the facts in the leader's session, directly after it has taken its
 * snapshot.  The WAL position is that of this moment: everything that the
 * snapshot sees was logged before it.  has_lsn is false if the snapshot was
 * given, because the position would be a later one.  has_lsn and
 * has_identifier are also false if the role may not call these functions: a
 * call without privilege, even in a branch that is not taken, would end the
 * transaction.
 */
extern DumpOrigin *dump_origin_read(PGconn *conn, bool has_lsn,
									bool has_identifier);

/* ----------
 * The plan
 * ----------
 */

typedef struct DumpPlan
{
	/* the moment */
	const DumpOrigin *origin;
	const char *snapshot;		/* the leader's first export */
	const char *snapshot_identity;	/* its identity with any name, see
									 * snapshot.h */
	bool		snapshot_is_sound;	/* no session needs to check it, with any
									 * name, see standby_overflow.h */

	/* the contents */
	const Toc  *pg_dump_toc;	/* contains the tables' entries */
	const Toc  *toc;			/* of the new archive; in a copy the same */
	bool		leaves_out_extension;	/* is pg_pardump left out, unlike by
										 * pg_dump? */
	const char *encoding;		/* of all names, statements and rows */
	const DumpTables *tables;
	const LargeObjects *objects;

	/* the method */
	const ServerExtension *extension;	/* NULL if no server is read */
	const ChunkPlan *chunks;
	const JobQueue *queue;
	int			lock_wait_ms;
	CompressSpec compress;
	const char *server_compress;	/* the same as text, if the server
									 * compresses; NULL if the workers do */
	pg_checksum_type checksum_type;
	const FingerprintSpec *fingerprints;	/* to be recorded; or NULL */
	PreviousArchive *fetched;	/* read by commands before the plan is made;
								 * or NULL */
	const PreviousArchive *previous;	/* files to reuse; or NULL */
	const WalHistory *history;	/* to be recorded; or NULL */
	bool		knows_changes;	/* of blocks since the previous archive, from
								 * WAL summaries */
} DumpPlan;

/*
 * Make all parts of the plan that follow from pg_dump's table of contents,
 * without any change: the chunks, the large objects, the order of jobs, the
 * archive's table of contents.  The other members of the plan must be set,
 * and conn's transaction, which is the leader's, must hold the locks of all
 * tables.  Exits with a message if the server should compress and cannot.
 */
extern void dump_plan_make(DumpPlan *plan, PGconn *conn,
						   const Options *options);

/*
 * Note which files of the plan have not changed since the previous archive.
 */
extern void dump_plan_note_changes(DumpPlan *plan,
								   const ChangedBlocks *changes);

/* The estimated bytes of all tables and large objects. */
extern uint64 dump_plan_bytes(const DumpPlan *plan);

/*
 * The part of these bytes that must be dumped, because no file of the
 * previous archive can be reused; and the size of the stored files that may
 * be reused.
 */
extern uint64 dump_plan_new_bytes(const DumpPlan *plan);
extern uint64 dump_plan_previous_bytes(const DumpPlan *plan);

/* The description of a job of the queue, see job_describe(); owned. */
extern char *dump_plan_describe_job(const DumpPlan *plan, int job, int step);

#endif							/* DUMP_PLAN_H */
