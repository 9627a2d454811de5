/*
 * target.h
 *		The server and database that rows go to.
 */
#ifndef TARGET_H
#define TARGET_H

#include "base/fe_compat.h"

#include "plan/dump_origin.h"
#include "session/connection.h"

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
 * The leader's session has nothing to do while others work, for hours maybe:
 * whatever has become of it meanwhile is of no matter.  Connect again; exits
 * with a message if it is another server now.
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

/*
 * The address for sessions that make definitions, ours and pg_restore's, with
 * settings: more memory for index builds, and commits that wait for the disk
 * or, if the caller makes up for it, do not.  Owned.
 */
extern PeerAddress *target_restore_address(const Target *target,
										   const char *synchronous_commit);

#endif							/* TARGET_H */
