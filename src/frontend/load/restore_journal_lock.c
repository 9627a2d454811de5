/*
 * restore_journal_lock.c
 *		Keeps two runs from restoring into one database.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "load/restore_journal_lock.h"
#include "load/target.h"
#include "process/progress.h"
#include "session/session.h"
#include "session/session_lost.h"

/* How long to wait for a run that was killed. */
#define LOCK_WAIT_MS 10000
#define LOCK_LOOK_MS 100

/*
 * The weakest one that two cannot have, of those that a role without
 * privileges on the view cannot have either.
 */
static const char lock_command[] =
"LOCK TABLE " JOB_LOG_LOCK_VIEW " IN SHARE UPDATE EXCLUSIVE MODE NOWAIT";

/* "pard", and which lock of ours it is; it is the database's. */
#define DATABASE_LOCK "1885434468, 1"

static const char lock_database_query[] =
"SELECT pg_catalog.pg_try_advisory_lock(" DATABASE_LOCK ")";

static const char holder_query[] =
"SELECT l.pid, COALESCE(a.usename, '?') FROM pg_catalog.pg_locks l"
" LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) l.pid"
" JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) l.database"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
" AND l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.granted"
" AND ROW(l.classid, l.objid) OPERATOR(pg_catalog.=)"
" ROW(1885434468::pg_catalog.oid, 1::pg_catalog.oid)";

RestoreJournalLock
restore_journal_lock_try(PGconn *conn)
{
	RestoreJournalLock result = JOB_LOG_LOCKED;
	PGresult   *res;

	session_begin_unwatched(conn, "BEGIN");
	res = PQexec(conn, lock_command);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		/* ERRCODE_LOCK_NOT_AVAILABLE, _UNDEFINED_TABLE, _UNDEFINED_SCHEMA */
		if (session_error_is(res, "55P03"))
			result = JOB_LOG_HELD;
		else if (session_error_is(res, "42P01 3F000"))
			result = JOB_LOG_GONE;
		else
			session_failed(conn, res, "query failed", lock_command);
		PQclear(target_query(conn, "ROLLBACK", 0, NULL));
	}
	PQclear(res);
	return result;
}

/* False when there is no time left. */
static bool
wait_a_moment(int *waited_ms)
{
	if (*waited_ms >= LOCK_WAIT_MS)
		return false;
	interrupt_check();
	pg_usleep(LOCK_LOOK_MS * 1000L);
	*waited_ms += LOCK_LOOK_MS;
	return true;
}

/*
 * The same, but wait a moment for a run that was killed: it holds its lock
 * until its processes are gone.
 */
static RestoreJournalLock
restore_journal_lock_wait(PGconn *conn)
{
	int			waited_ms = 0;
	RestoreJournalLock result;

	do
		result = restore_journal_lock_try(conn);
	while (result == JOB_LOG_HELD && wait_a_moment(&waited_ms));
	return result;
}

RestoreJournalLock
restore_journal_lock(PGconn *conn)
{
	RestoreJournalLock result = restore_journal_lock_wait(conn);

	if (result == JOB_LOG_HELD)
		restore_journal_lock_refuse();
	return result;
}

static bool
try_database(PGconn *conn)
{
	PGresult   *res = target_query(conn, lock_database_query, 0, NULL);
	bool		locked = PQgetvalue(res, 0, 0)[0] == 't';

	PQclear(res);
	return locked;
}

/*
 * Which session holds that lock, which any role can; owned, NULL if none
 * does.
 */
static char *
describe_holder(PGconn *conn)
{
	PGresult   *res = target_query(conn, holder_query, 0, NULL);
	char	   *result = NULL;

	if (PQntuples(res) > 0)
		result = psprintf("Process %s of role \"%s\" holds the advisory lock (" DATABASE_LOCK ").",
						  PQgetvalue(res, 0, 0),
						  printable(PQgetvalue(res, 0, 1)));
	PQclear(res);
	return result;
}

static void
refuse_database(PGconn *conn)
{
	char	   *holder = describe_holder(conn);

	pg_log_error("another pg_parrestore is restoring into this database, or somebody holds its lock");
	if (holder)
		pg_log_error_detail("%s", holder);
	pg_log_error_hint("A role that may create a schema in the database does without that lock.");
	exit(1);
}

void
restore_journal_lock_warn(PGconn *conn)
{
	char	   *holder = describe_holder(conn);

	if (holder == NULL)
		return;
	pg_log_warning("another pg_parrestore, of a role that may not create a schema, may be restoring into this database");
	pg_log_warning_detail("%s", holder);
	free(holder);
}

static bool
restore_journal_lock_wait_database(PGconn *conn)
{
	int			waited_ms = 0;
	bool		locked;

	do
		locked = try_database(conn);
	while (!locked && wait_a_moment(&waited_ms));
	return locked;
}

void
restore_journal_lock_database(PGconn *conn)
{
	if (!restore_journal_lock_wait_database(conn))
		refuse_database(conn);
}

void
restore_journal_lock_refuse(void)
{
	pg_fatal("another pg_parrestore is restoring into this database");
}

/* ----------
 * The sessions of a restore's leader, which may be lost while others
 * work.
 * ----------
 */

/* How long the server may take to end another session. */
#define ANSWER_MS 15000

/* While waiting for the next retry. */
#define WAIT_US 100000

void
restore_journal_session_note(RestoreJournal *log)
{
	log->backend = session_backend(log->lock);
	log->connected_at = clock_monotonic_ms();
}

/*
 * Whose client cannot be reached any more the server keeps until TCP gives
 * up, and with it the lock.  If it does not, the lock shows that.
 */
static void
end_lost_session(const RestoreJournal *log, PGconn *conn)
{
	int64		age_ms = clock_monotonic_ms() - log->connected_at;
	char	   *sql = backend_query_terminate(log->backend, (int) (age_ms / 1000));
	bool		lost;

	session_begin(conn, "BEGIN");
	PQclear(session_look(conn, sql, ANSWER_MS, &lost));
	free(sql);
	if (lost)
		session_lost("The server did not end the session that was lost in time.");
	session_command(conn, "ROLLBACK");
}

/* If it is gone when its removal was begun, it was this run that did it. */
static void
lock_again(RestoreJournal *log, PGconn *conn)
{
	RestoreJournalLock state;

	if (log->is_kept)
	{
		state = restore_journal_lock_wait(conn);
		if (state == JOB_LOG_GONE && log->is_ending)
		{
			log->is_gone = true;
			return;
		}
		if (state == JOB_LOG_GONE)
			restore_journal_refuse_taken_over();
		log->is_ending = false;
		restore_journal_check_attempt(log, conn);
	}
	else
		state = restore_journal_lock_wait_database(conn) ? JOB_LOG_LOCKED : JOB_LOG_HELD;
	if (state == JOB_LOG_HELD)
		session_lost("The lock of the session that was lost is held yet, by that or by another run.");
}

bool
restore_journal_session_keep(RestoreJournal *log, const Target *target)
{
	if (session_answers(log->lock))
		return false;
	/* what a try before has left is without the lock */
	interrupt_set_connection(NULL);
	PQfinish(log->next);
	PQfinish(log->lock);
	log->lock = log->next = NULL;
	log->next = target_connect(target);
	end_lost_session(log, log->next);
	lock_again(log, log->next);
	log->lock = log->next;
	log->next = NULL;
	restore_journal_session_note(log);
	return true;
}

/*
 * Do some work within session_try().  False if a session was lost, which is
 * told; when it is to be done again is noted.
 */
static bool
try_work(void (*work) (void *arg), void *arg, Retry *retry,
		 const Options *options)
{
	int			max_retries = (int) options->retries;
	char	   *cause = session_try(work, arg);

	if (cause == NULL)
	{
		memset(retry, 0, sizeof(Retry));
		return true;
	}
	interrupt_check();
	if (retry->n == max_retries)
		pg_fatal("the leader lost its connection to the target: %s", cause);
	(void) retry_later(retry);
	pg_log_warning("the leader lost its connection to the target: %s; retry %d of %d",
				   cause, retry->n, max_retries);
	free(cause);
	return false;
}

void
restore_journal_session_insist(void (*work) (void *arg), void *arg,
							   const Options *options)
{
	Retry		retry = {0};

	while (!try_work(work, arg, &retry, options))
		while (!retry_is_due(&retry))
		{
			interrupt_check();
			progress_tick();
			pg_usleep(WAIT_US);
		}
}
