/*
 * target.h
 *		The target: the server and database that rows are loaded into, for
 *		copies and restores.
 */
#ifndef TARGET_H
#define TARGET_H

#include "plan/dump_plan.h"

/* ----------
 * Does the target still have everything that was committed?
 *
 * A crash loses commits that did not wait for the disk, and unlogged tables;
 * a failover loses commits that did not wait for the standby.
 * ----------
 */

/*
 * An expression whose value changes when the server is restarted, and when it
 * recovers from a crash, because that resets statistics.
 */
#define TARGET_INCARNATION_SQL \
"pg_catalog.concat_ws(' ', pg_catalog.pg_postmaster_start_time()," \
" pg_catalog.pg_stat_get_bgwriter_stat_reset_time())"

/* The state of a server; owned. */
typedef struct TargetState
{
	char	   *incarnation;	/* value of that expression */
	char	   *history;		/* which server's writes the target continues:
								 * another value after a failover or a
								 * restore, the same after a crash; empty if
								 * the role may not read it */
	char	   *wal_level;
	char	   *system_identifier;	/* empty if the role may not read it */
	Oid			database;
	char	   *layout;			/* as in DumpOrigin */
	bool		has_lz4;
	bool		is_standby;
} TargetState;

extern TargetState target_state(PGconn *conn);

/* Has the value of the expression changed? */
extern bool target_history_was_restarted(PGconn *conn,
										 const char *incarnation);

/*
 * Read the state.  Exits with a message unless the history is the expected
 * one, if that is known (not empty).  Commits do not wait for standbys, so a
 * promoted one may lack some.
 */
extern TargetState target_history_expect(PGconn *conn, const char *expected);

/*
 * Exits with a message if the server was restarted since, and one of the
 * loaded tables or their partitions is unlogged: a server that recovers from
 * a crash empties its unlogged tables.
 */
extern void target_history_check_unlogged(PGconn *conn,
										  const DumpTables *tables,
										  const char *incarnation);

/*
 * The target of a run: the leader's connection, how workers connect, and the
 * texts that show whether it is still the same server.  The caller sets
 * options, parameters and encoding.
 */
typedef struct Target
{
	const Options *options;
	ConnParams	params;			/* the user's */
	const char *encoding;		/* encoding of all names and rows; borrowed */
	PGconn	   *conn;
	const PeerAddress *address;
	const char *incarnation;	/* see TargetState */
	const char *history;
	const char *wal_level;
	bool		fast_copy;		/* the extension's library loads rows, if it
								 * can */
	bool		fast_index;		/* it also builds indexes */
	volatile int *builds_reported;	/* 1 = a session has reported why the
									 * server builds its indexes; shared */
} Target;

/*
 * Connect to the user's database.  Exits with a message if it is on a
 * standby, which cannot be the target.
 */
extern void target_open(Target *target);

/*
 * Exits with a message if this cannot be the target of a copy: a server older
 * than pg_dump, or the database that is read.  With --create the new database
 * must not be the source either; new_name is its name, otherwise NULL.
 */
extern void target_refuse_source(const Target *target,
								 const DumpOrigin *source,
								 const char *pg_dump_version,
								 const char *new_name);

/*
 * Exits with a message if the target is the database that is read, according
 * to another connection; new_name as above.
 */
extern void target_refuse_same_database(const Target *target,
										const DumpOrigin *source,
										const char *new_name);

/* Connect to another database of the same server. */
extern void target_enter(Target *target, const char *dbname);

/* Is there a database with this name on the server? */
extern bool target_has_database(PGconn *conn, const char *name);

/*
 * Open a session in another database of the same server for a short time; its
 * status is CONNECTION_BAD if there is none.
 */
extern PGconn *target_try_database(const Target *target, const char *dbname);

/*
 * Prepare the leader's session for loading, and note the state of the server.
 */
extern void target_begin(Target *target);

/*
 * Connect again, because the leader's session may have been lost: it is idle
 * while others work, maybe for hours.  Exits with a message if it is another
 * server now.
 */
extern void target_renew(Target *target);

/*
 * Make sure that the session is usable after steps that usually take a
 * moment: a session that answers, on a server that was not restarted, is
 * kept.  Otherwise, connect again.
 */
extern void target_keep(Target *target);

/* Open another session, prepared like the leader's. */
extern PGconn *target_connect(const Target *target);

/* Open another session that is prepared for loading rows. */
extern PGconn *target_connect_loader(const Target *target);

/*
 * In a session without a transaction, before it builds indexes: from now on
 * the extension's library builds those that it can, if the run uses the
 * library for this.  Reports once in a run if the server builds all of them
 * although the library should.
 */
extern void target_begin_builds(const Target *target, PGconn *conn);

/*
 * Begin a transaction that loads rows.  With --disable-triggers no trigger
 * fires in it.
 */
extern void target_begin_load(const Target *target, PGconn *conn);

/*
 * Run a statement in a session on the target.  Unlike session_query() this is
 * not watched: --stall-timeout concerns the source, and the target may take
 * long.  Ends with session_failed() on an error.
 */
extern PGresult *target_query(PGconn *conn, const char *sql, int n_params,
							  const char *const *params);

/*
 * Run a statement without parameters in the same way.  The result is
 * discarded.
 */
extern void target_command(PGconn *conn, const char *sql);

/*
 * The address for sessions that create definitions, ours and pg_restore's,
 * with settings: more memory for index builds, and commits that wait for the
 * disk or, if the caller can repeat the work, do not wait.  Owned.
 */
extern PeerAddress *target_restore_address(const Target *target,
										   const char *synchronous_commit);

/* ----------
 * Jobs that are done on the target exactly once.
 *
 * A job is one transaction there.  A worker that is lost before its COMMIT
 * has done nothing, and one that got the answer has done everything.  In
 * between only the server knows, by the transaction's ID, which is noted
 * before.
 * ----------
 */

/*
 * The progress of a job's transaction, in memory that all workers share; only
 * the worker that has the job writes to it.
 */
typedef enum TargetCommitState
{
	TARGET_COMMIT_PENDING = 0,
	TARGET_COMMIT_SENT,			/* COMMIT was sent, or is about to be */
	TARGET_COMMIT_DONE			/* COMMIT was answered */
} TargetCommitState;

typedef struct TargetCommit
{
	volatile TargetCommitState state;
	uint64		xid;			/* ID of the transaction */
} TargetCommit;

/* Commit the transaction of a job on this connection. */
extern void target_commit(PGconn *conn, TargetCommit *commit);

/*
 * Was the job done before?  If a worker that had it was lost while it waited
 * for the answer to COMMIT, the server is queried, for up to two minutes
 * while the transaction is still in progress.  Exits with a message if the
 * server does not know.
 */
extern bool target_commit_is_done(PGconn *conn, const Target *target,
								  TargetCommit *commit);

/* ----------
 * --toast-compression: how the target compresses long values.
 *
 * The method is a value of the setting default_toast_compression.  It applies
 * to columns without a method of their own.  With "default", or NULL, the
 * setting of the target's sessions is kept.
 * ----------
 */

/*
 * Report an error if the target does not support the method.
 * findings_report() then ends the run.
 */
extern void toast_compression_check(PGconn *conn, const char *method);

#endif							/* TARGET_H */
