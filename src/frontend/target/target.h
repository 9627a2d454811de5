/*
 * target.h
 *		The server and database that rows go to.
 */
#ifndef TARGET_H
#define TARGET_H

#include "base/fe_compat.h"

#include "plan/dump_table.h"
#include "session/connection.h"

/*
 * The target of a run: the leader's connection, how workers reach it, and
 * what tells whether it is yet the server that it was.
 */
typedef struct Target
{
	PGconn	   *conn;
	const PeerAddress *address;
	const char *incarnation;	/* see TARGET_INCARNATION_SQL */
	const char *history;		/* see target_history() */
} Target;

/*
 * Connect to the database that --target names, and refuse what cannot be the
 * target: a server older than pg_dump, a standby, or the very database that
 * is read.  With --create the new database may not be the source either;
 * new_name is its name, else NULL.
 */
extern PGconn *target_open(const Options *options, PGconn *source,
						   const char *pg_dump_version,
						   const char *new_name);

/*
 * Where pg_restore is to connect, with settings for its sessions: more memory
 * for index builds, and commits that wait for the disk or, if the caller
 * makes up for it, do not.  Owned.
 */
extern PeerAddress *target_restore_address(PGconn *target,
										   const PeerAddress *address,
										   const char *synchronous_commit);

/* The same server, another database; owned. */
extern PeerAddress *target_address(const PeerAddress *address,
								   const char *dbname);

/*
 * An expression that has another value after the server was started again,
 * and after it recovered from a crash of its own, when statistics are reset.
 */
#define TARGET_INCARNATION_SQL \
"pg_catalog.concat_ws(' ', pg_catalog.pg_postmaster_start_time()," \
" pg_catalog.pg_stat_get_bgwriter_stat_reset_time())"

/* Its value; owned. */
extern char *target_incarnation(PGconn *target);

/*
 * Tells which server's writes the target goes on from: another value after a
 * failover or a restore, the same after a crash.  Empty, with a warning, if
 * the role may not know it.  Owned.
 */
extern char *target_history(PGconn *target);

/*
 * Exit with a message unless it is the one expected.  Commits do not wait for
 * standbys, so one that was promoted may lack some.
 */
extern void target_expect_history(PGconn *target, const char *expected);

/*
 * The unlogged ones of the tables that are loaded, or of their partitions, in
 * a list; NULL if there are none.  Owned.
 */
extern char *target_unlogged(PGconn *target, const DumpTables *tables);

/* Bring a session that loads rows in the state it needs. */
extern void target_set_up(PGconn *target, const Options *options,
						  const char *encoding);

#endif							/* TARGET_H */
