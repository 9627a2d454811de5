/*
 * target.h
 *		The target: the server and database that rows are loaded into.
 */
#ifndef TARGET_H
#define TARGET_H

#include "plan/dump_plan.h"

/* ----------
 * Does the target have yet what was committed there?
 *
 * A crash loses what did not wait for the disk, and unlogged tables; a
 * failover loses what did not wait for the standby.
 * ----------
 */

/*
 * An expression that has another value after the server was started again,
 * and after it recovered from a crash of its own, when statistics are reset.
 */
#define TARGET_INCARNATION_SQL \
"pg_catalog.concat_ws(' ', pg_catalog.pg_postmaster_start_time()," \
" pg_catalog.pg_stat_get_bgwriter_stat_reset_time())"

/* What a server is now; owned. */
typedef struct TargetState
{
	char	   *incarnation;	/* the value of that */
	char	   *history;		/* which server's writes the target continues
								 * from: another value after a failover or a
								 * restore, the same after a crash; empty if
								 * the role may not know it */
	char	   *wal_level;
	char	   *system_identifier;	/* empty if the role may not know it */
	Oid			database;
	char	   *layout;			/* as those of a DumpOrigin */
	bool		has_lz4;
	bool		is_standby;
} TargetState;

extern TargetState target_state(PGconn *conn);

/* Has the expression another value than before? */
extern bool target_history_was_restarted(PGconn *conn,
										 const char *incarnation);

/*
 * Ask for the state; exit with a message unless the history is the one
 * expected, if that is known (not empty).  Commits do not wait for standbys,
 * so one that was promoted may lack some.
 */
extern TargetState target_history_expect(PGconn *conn, const char *expected);

/*
 * A server that recovers from a crash empties its unlogged tables: exit with
 * a message if it was restarted since, and one of the tables that are loaded
 * is unlogged, or one of their partitions.
 */
extern void target_history_check_unlogged(PGconn *conn,
										  const DumpTables *tables,
										  const char *incarnation);

/*
 * The target of a run: the leader's connection, how workers reach it, and
 * what tells whether it is yet the server that it was.  Options, parameters
 * and encoding are for the caller to set.
 */
typedef struct Target
{
	const Options *options;
	ConnParams	params;			/* as the user gave them */
	const char *encoding;		/* of all names and rows; borrowed */
	PGconn	   *conn;
	const PeerAddress *address;
	const char *incarnation;	/* see TargetState */
	const char *history;
	const char *wal_level;
	bool		fast_copy;		/* rows are loaded by the extension's library,
								 * where it can */
	bool		fast_index;		/* and indexes are built by it */
	volatile int *builds_reported;	/* 1 = a session has said why the server
									 * builds its indexes; shared */
} Target;

/*
 * Connect to the database that the user names, and refuse a standby, which
 * cannot be the target.
 */
extern void target_open(Target *target);

/*
 * Refuse what cannot be the target of a copy: a server older than pg_dump, or
 * the very database that is read.  With --create the new database may not be
 * the source either; new_name is its name, else NULL.
 */
extern void target_refuse_source(const Target *target,
								 const DumpOrigin *source,
								 const char *pg_dump_version,
								 const char *new_name);

/*
 * Refuse a target that is the database that is read, as another connection
 * shows it; new_name as above.
 */
extern void target_refuse_same_database(const Target *target,
										const DumpOrigin *source,
										const char *new_name);

/* Go to another database of the same server. */
extern void target_enter(Target *target, const char *dbname);

/* Is there a database of this name on the server? */
extern bool target_has_database(PGconn *conn, const char *name);

/*
 * A session for a moment in another database of the same server, to look at
 * it; of status CONNECTION_BAD if there is none.
 */
extern PGconn *target_try_database(const Target *target, const char *dbname);

/*
 * Bring the leader's session in the state that loading needs, and note what
 * the server is.
 */
extern void target_begin(Target *target);

/*
 * The leader's session has nothing to do while others work, for hours maybe,
 * and may have been lost meanwhile.  Connect again; exits with a message if
 * it is another server now.
 */
extern void target_renew(Target *target);

/*
 * The same after what has taken a moment, as a rule: a session that answers
 * is the one that it was, on a server that was not restarted, and is kept.
 */
extern void target_keep(Target *target);

/* Another session in the state of the leader's. */
extern PGconn *target_connect(const Target *target);

/* The same, and ready to load rows. */
extern PGconn *target_connect_loader(const Target *target);

/*
 * In a session without a transaction, which is about to build indexes: from
 * now on the extension's library builds those that it can, if the run uses
 * the library for that.  Says why the server builds all of them although the
 * library was to be used, but only once in a run.
 */
extern void target_begin_builds(const Target *target, PGconn *conn);

/*
 * Begin a transaction that loads rows: no trigger fires in it if the options
 * say so.
 */
extern void target_begin_load(const Target *target, PGconn *conn);

/*
 * Run a statement in a session of the target's.  Unlike session_query() this
 * is not watched: --stall-timeout is about the source, and the target may
 * take its time.  Ends by session_failed() when it fails.
 */
extern PGresult *target_query(PGconn *conn, const char *sql, int n_params,
							  const char *const *params);

/* The same, for a statement without parameters; the result is discarded. */
extern void target_command(PGconn *conn, const char *sql);

/*
 * The address for sessions that make definitions, ours and pg_restore's, with
 * settings: more memory for index builds, and commits that wait for the disk
 * or, if the caller makes up for it, do not.  Owned.
 */
extern PeerAddress *target_restore_address(const Target *target,
										   const char *synchronous_commit);

/* ----------
 * Jobs that are done on the target exactly once.
 *
 * A job is one transaction there.  A worker that is lost before its COMMIT
 * has done nothing, and one that got the answer has done all.  In between
 * only the server knows, by the transaction's ID, which is noted before.
 * ----------
 */

/*
 * How far a job's transaction is.  Lives in memory that all workers share;
 * only the one that has the job writes to it.
 */
typedef enum TargetCommitState
{
	TARGET_COMMIT_PENDING = 0,
	TARGET_COMMIT_SENT,			/* COMMIT was, or is about to be, sent */
	TARGET_COMMIT_DONE			/* and was answered */
} TargetCommitState;

typedef struct TargetCommit
{
	volatile TargetCommitState state;
	uint64		xid;			/* of the transaction */
} TargetCommit;

/* Commit the transaction on this connection, which is a job's. */
extern void target_commit(PGconn *conn, TargetCommit *commit);

/*
 * Is there nothing left to do of the job?  If a worker that had it before was
 * lost while it waited for the answer to COMMIT, the server is asked, for up
 * to two minutes while the transaction is in progress still.  Exits with a
 * message if it does not know.
 */
extern bool target_commit_is_done(PGconn *conn, const Target *target,
								  TargetCommit *commit);

/* ----------
 * --toast-compression: how the target compresses long values.
 *
 * The method is given as the setting default_toast_compression has it.  It is
 * for columns that have none of their own.  "default", or NULL, leaves it as
 * the target's sessions have it.
 * ----------
 */

/*
 * Tell of an error if the target has no such method.  For findings_report()
 * to end the run.
 */
extern void toast_compression_check(PGconn *conn, const char *method);

#endif							/* TARGET_H */
