/*
 * standby_pause.c
 *		Pauses the replay of a standby so that it resumes by itself.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "session/connection.h"
#include "session/session_loss.h"
#include "standby/standby_pause.h"

/*
 * The advisory locks are these and the process of the first session; any
 * number that others are not likely to use.
 */
#define LOCK_CLASS "1885811312"

/* How long a session may take to answer, beyond the pause. */
#define ANSWER_MS (STANDBY_PAUSE_MS + 15000)

/* The same of a run that has failed: this is not to keep it from its end. */
#define EXIT_MS 2000

/* 55006 object_in_use is ours, below. */
#define SQLSTATE_BY_OTHER "55006"

struct StandbyPause
{
	const Standby *standby;
	PGconn	   *conn;			/* the session that pauses */
	char	   *lock_key;		/* LOCK_CLASS and a process */
	char	   *block;
	bool		begun;
};

/*
 * The server must not end the session in the midst of the block, by a timeout
 * or because the client is gone: so these are not the settings of other
 * sessions.
 */
static const char settings_query[] =
"SELECT pg_catalog.set_config(v.name, v.setting, false)"
" FROM (VALUES ('search_path', ''), ('statement_timeout', '0'), ('transaction_timeout', '0'),"
" ('client_connection_check_interval', '0'), ('client_min_messages', 'error'),"
" ('lock_timeout', '" CppAsString2(STANDBY_PAUSE_MS) "')) v (name, setting)"
" WHERE EXISTS (SELECT FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) v.name)";

/*
 * A request to cancel it, a conflict with what is replayed until the pause is
 * there, and the end of the time for the lock, are errors in the inner block;
 * after it replay is resumed in any case.
 */
static const char block_format[] =
"DO LANGUAGE plpgsql $pause$ BEGIN"
" IF pg_catalog.pg_get_wal_replay_pause_state() OPERATOR(pg_catalog.<>) 'not paused' THEN"
" RAISE EXCEPTION USING ERRCODE = '" SQLSTATE_BY_OTHER "', MESSAGE = 'replay is paused already'; END IF;"
" BEGIN PERFORM pg_catalog.pg_wal_replay_pause();"
" PERFORM pg_catalog.pg_advisory_xact_lock_shared(%s);"
" EXCEPTION WHEN query_canceled OR OTHERS THEN NULL; END;"
" PERFORM pg_catalog.pg_wal_replay_resume(); END $pause$";

const char	standby_pause_by_other[] =
"EXISTS (SELECT FROM pg_catalog.pg_locks l"
" WHERE l.locktype OPERATOR(pg_catalog.=) 'advisory'"
" AND l.classid OPERATOR(pg_catalog.=) " LOCK_CLASS "::pg_catalog.oid"
" AND l.objid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()::pg_catalog.oid)";

/* ----------
 * When it has not done its work
 * ----------
 */

/*
 * If another user ends the block's session, the standby stays paused: so it
 * is resumed in one more session, by the user who connected, not by the role.
 */
static bool
resume_after_failure(const StandbyPause *pause)
{
	PGconn	   *conn = connection_try_peer(pause->standby->address,
										   "pg_pardump resume");
	PGresult   *res = session_exec_within(conn,
										  "SELECT pg_catalog.pg_wal_replay_resume()",
										  ANSWER_MS);
	bool		result = PQresultStatus(res) == PGRES_TUPLES_OK;

	PQclear(res);
	PQfinish(conn);
	return result;
}

/* Of its result, or NULL if there is none yet, which is not a failure. */
static bool
is_failure(const PGresult *res)
{
	return res && PQresultStatus(res) != PGRES_COMMAND_OK &&
		!session_error_is(res, SQLSTATE_BY_OTHER);
}

static void
resume(const StandbyPause *pause)
{
	bool		resumed = resume_after_failure(pause);

	pg_log_error("the replay of standby %s could not be paused: %s",
				 pause->standby->name, connection_words(pause->conn));
	if (resumed)
		pg_log_error_detail("It was resumed.");
	else
		pg_log_error_hint("Look whether it is paused, and resume it there: SELECT pg_wal_replay_resume().");
}

/* The lock; what the first session was in the midst of may have failed. */
static void
give_up_lock(const StandbyPause *pause, int wait_ms)
{
	PGconn	   *conn = pause->standby->conn;
	char	   *sql = psprintf("SELECT pg_catalog.pg_advisory_unlock(%s)",
							   pause->lock_key);

	if (PQtransactionStatus(conn) == PQTRANS_ACTIVE)
		PQclear(session_wait_result(conn, wait_ms));
	if (PQtransactionStatus(conn) == PQTRANS_INERROR)
		PQclear(session_exec_within(conn, "ROLLBACK", wait_ms));
	PQclear(session_exec_within(conn, sql, wait_ms));
	free(sql);
}

/*
 * An exit callback: the run fails while others are paused.  Their blocks end
 * by themselves, unless another user has ended those sessions, too, for
 * example all sessions of this program.
 */
static void
end_at_exit(void *arg)
{
	StandbyPause *pause = arg;
	PGresult   *res;

	if (!pause->begun)
		return;
	pause->begun = false;
	interrupt_set_connection(NULL);
	give_up_lock(pause, EXIT_MS);
	res = session_wait_result(pause->conn, EXIT_MS);
	if (is_failure(res))
		resume(pause);
	PQclear(res);
}

StandbyPause *
standby_pause_new(const Standby *standby)
{
	StandbyPause *pause = pg_malloc0(sizeof(StandbyPause));
	bool		begun;

	pause->standby = standby;
	pause->lock_key = psprintf(LOCK_CLASS ", %d", session_backend(standby->conn));
	pause->block = psprintf(block_format, pause->lock_key);
	pause->conn = connection_try_peer(standby->address, "pg_pardump pause");
	/* what cancels the leader's statements is not for this one */
	if (PQstatus(pause->conn) != CONNECTION_OK)
		pg_fatal("could not connect once more to pause the replay of standby %s: %s",
				 standby->name, connection_words(pause->conn));
	begun = session_begin_settings(pause->conn);
	PQclear(session_query(pause->conn, settings_query));
	session_end_settings(pause->conn, begun);
	cleanup_push(end_at_exit, pause);
	return pause;
}

void
standby_pause_free(StandbyPause *pause)
{
	cleanup_pop(end_at_exit, pause);
	session_close(pause->conn);
	free(pause->block);
	free(pause->lock_key);
	free(pause);
}

/* Others may know its number, and have it: they are not waited for. */
static void
take_lock(const StandbyPause *pause)
{
	char	   *sql = psprintf("SELECT pg_catalog.pg_try_advisory_lock(%s)",
							   pause->lock_key);
	PGresult   *res = session_query(pause->standby->conn, sql);

	if (PQgetvalue(res, 0, 0)[0] != 't')
	{
		pg_log_error("another session on standby %s has the advisory lock that is to end a pause of its replay",
					 pause->standby->name);
		pg_log_error_detail("Its numbers are %s.", pause->lock_key);
		exit(1);
	}
	PQclear(res);
	free(sql);
}

void
standby_pause_begin(StandbyPause *pause)
{
	take_lock(pause);
	pause->begun = true;
	/* its result is waited for when it is to end */
	if (!PQsendQuery(pause->conn, pause->block))
		pg_fatal("could not pause the replay of standby %s: %s",
				 pause->standby->name, PQerrorMessage(pause->conn));
}

void
standby_pause_end(StandbyPause *pause)
{
	char	   *sql;
	PGresult   *res;

	if (!pause->begun)
		return;
	sql = psprintf("SELECT pg_catalog.pg_advisory_unlock(%s)", pause->lock_key);
	PQclear(session_query(pause->standby->conn, sql));
	free(sql);
	res = session_wait_result(pause->conn, ANSWER_MS);
	pause->begun = false;
	if (res == NULL || is_failure(res))
	{
		resume(pause);
		exit(1);
	}
	PQclear(res);
}
