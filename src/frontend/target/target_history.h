/*
 * target_history.h
 *		Does the target have yet what was committed there?
 *
 * A crash loses what did not wait for the disk, and unlogged tables; a
 * failover loses what did not wait for the standby.
 */
#ifndef TARGET_HISTORY_H
#define TARGET_HISTORY_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

#include "plan/dump_table.h"

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
	char	   *history;		/* which server's writes the target goes on
								 * from: another value after a failover or a
								 * restore, the same after a crash; empty if
								 * the role may not know it */
	char	   *wal_level;
	char	   *system_identifier;	/* empty if the role may not know it */
	Oid			database;
	char	   *layout;			/* as those of a DumpOrigin */
	bool		has_lz4;
} TargetState;

extern TargetState target_state(PGconn *conn);

/* Has the expression another value than before? */
extern bool target_history_was_restarted(PGconn *conn,
										 const char *incarnation);

/*
 * Commits of pg_restore need not have waited for the disk; this one does, and
 * with it all before it.
 */
extern void target_history_make_durable(PGconn *conn);

/* Warn if the role may not know the history. */
extern void target_history_tell(const TargetState *state);

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

#endif							/* TARGET_HISTORY_H */
