/*
 * task_server.c
 *		Which server it is, and whether the leader is there.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/message.h"
#include "session/session_loss.h"
#include "tasks/task_server.h"

/* How long the server may take to say who holds a lock. */
#define ANSWER_MS 15000

/* So long a lock is tried, and so long it is waited between attempts. */
#define LOCK_FOR_MS 5000
#define LOCK_MS 100

/*
 * A hosting service may have revoked these: to call one without privilege,
 * even in a branch not taken, is an error.
 */
static const char may_query[] =
"SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')"
" AND pg_catalog.has_function_privilege('pg_catalog.pg_control_checkpoint()', 'EXECUTE')"
" AND pg_catalog.has_function_privilege('pg_catalog.pg_control_recovery()', 'EXECUTE'),"
" pg_catalog.current_database(), SESSION_USER";

/* Of the two timelines see target.c. */
static const char server_query[] =
"SELECT s.system_identifier, GREATEST(c.timeline_id, r.min_recovery_end_timeline)"
" FROM pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c,"
" pg_catalog.pg_control_recovery() r";

TaskServer
task_server_read(PGconn *conn)
{
	PGresult   *res = session_query(conn, may_query);
	bool		may_ask = PQgetvalue(res, 0, 0)[0] == 't';
	TaskServer	server = {
		.system_identifier = "",
		.timeline = "",
		.database = pg_strdup(PQgetvalue(res, 0, 1)),
		.user = pg_strdup(PQgetvalue(res, 0, 2)),
	};

	PQclear(res);
	if (!may_ask)
		return server;
	res = session_query(conn, server_query);
	server.system_identifier = pg_strdup(PQgetvalue(res, 0, 0));
	server.timeline = pg_strdup(PQgetvalue(res, 0, 1));
	PQclear(res);
	return server;
}

static void
check(const char *what, const char *is, const char *expected)
{
	if (strcmp(is, expected) == 0)
		return;
	pg_log_error("this is another server than the leader's: its %s is \"%s\", not \"%s\"",
				 what, printable(is), printable(expected));
	pg_log_error_hint("Name the leader's by -d/--dbname.");
	exit(1);
}

/* Only one of the two may ask which server it is. */
static void
refuse_other_rights(PGconn *conn, bool may_ask)
{
	PGresult   *res = session_query(conn, "SELECT CURRENT_USER");

	pg_log_error("it cannot be told whether this is the leader's server");
	pg_log_error_detail("Role \"%s\" may%s execute pg_control_system(), pg_control_checkpoint() and pg_control_recovery() here, and the leader's could%s.",
						printable(PQgetvalue(res, 0, 0)), may_ask ? "" : " not",
						may_ask ? " not" : "");
	pg_log_error_hint("Let the role execute them in both places, or in none.");
	exit(1);
}

void
task_server_check(PGconn *conn, const TaskServer *expected)
{
	TaskServer	server = task_server_read(conn);
	bool		may_ask = server.system_identifier[0] != '\0';

	/* first: another role may not be allowed to ask for the others */
	if (strcmp(server.user, expected->user) != 0)
		pg_fatal("role \"%s\" may see other rows than the leader's, \"%s\": connect as that",
				 printable(server.user), printable(expected->user));
	if (may_ask != (expected->system_identifier[0] != '\0'))
		refuse_other_rights(conn, may_ask);
	check("system identifier", server.system_identifier,
		  expected->system_identifier);
	check("timeline", server.timeline, expected->timeline);
	check("database", server.database, expected->database);
}

/* One that nobody else comes upon, of a bigint's range. */
static uint64
lock_key(const char *run_id)
{
	char		digits[16];

	strlcpy(digits, run_id, sizeof(digits));
	return strtoull(digits, NULL, 16);
}

/* The same in decimal; owned. */
static char *
lock_number(const char *run_id)
{
	return psprintf(UINT64_FORMAT, lock_key(run_id));
}

/* Who has the lock for long is not part of the run: all see the number. */
void
task_server_hold(PGconn *conn, const char *run_id)
{
	char	   *number = lock_number(run_id);
	const char *params[] = {number};
	bool		taken = false;

	for (int waited_ms = 0; !taken; waited_ms += LOCK_MS)
	{
		PGresult   *res = session_query_params(conn,
											   "SELECT pg_catalog.pg_try_advisory_lock($1::pg_catalog.int8)",
											   1, params, 0);

		taken = PQgetvalue(res, 0, 0)[0] == 't';
		PQclear(res);
		interrupt_check();
		if (!taken && waited_ms >= LOCK_FOR_MS)
			session_lost("Another session holds the lock by which tasks see that the leader is there.");
		pg_usleep(taken ? 0 : LOCK_MS * 1000L);
	}
	free(number);
}

/*
 * Does the leader hold it?  False if the server did not say; then the session
 * is lost, or of no use.  Never waits for long.
 */
bool
task_server_check_leader(PGconn *conn, const char *run_id)
{
	char	   *number = lock_number(run_id);
	char	   *sql = psprintf("SELECT pg_catalog.pg_try_advisory_xact_lock_shared('%s'::pg_catalog.int8)",
							   number);
	PGresult   *res = session_exec_within(conn, sql, ANSWER_MS);
	bool		known = PQresultStatus(res) == PGRES_TUPLES_OK;
	bool		is_gone = known && PQgetvalue(res, 0, 0)[0] == 't';

	PQclear(res);
	free(sql);
	free(number);
	if (is_gone)
	{
		pg_log_error("the run that this plan is of has ended");
		pg_log_error_detail("Nobody holds its lock on the server, and so its snapshot.");
		exit(1);
	}
	return known;
}

/* The two halves of the lock's number are apart (lockfuncs.c). */
char *
task_server_leader_process(const char *run_id)
{
	uint64		key = lock_key(run_id);

	return psprintf("(SELECT l.pid FROM pg_catalog.pg_locks l"
					" JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) l.database"
					" WHERE l.mode OPERATOR(pg_catalog.=) 'ExclusiveLock'"
					" AND l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.granted"
					" AND d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
					" AND l.classid OPERATOR(pg_catalog.=) '%u'::pg_catalog.oid"
					" AND l.objid OPERATOR(pg_catalog.=) '%u'::pg_catalog.oid"
					" AND l.objsubid OPERATOR(pg_catalog.=) 1 LIMIT 1)",
					(uint32) (key >> 32), (uint32) key);
}
