/*
 * leader_session.c
 *		Notices the loss of the leader's session, and replaces it.
 */
#include "base/fe_compat.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/retry.h"
#include "process/worker_pool.h"
#include "session/session_loss.h"
#include "session/session_settings.h"
#include "session/snapshot.h"
#include "session/traffic.h"
#include "source/leader_session.h"
#include "source/leader_watchdog.h"
#include "source/server_check.h"
#include "source/snapshot_holder.h"
#include "source/table_check.h"

/* How often to look whether a worker waits in vain. */
#define LOOK_MS 1000

/* How often to look how old the snapshot is. */
#define AGE_LOOK_MS 10000

/* How long a session that has nothing else to do may take for an answer. */
#define ANSWER_MS 15000

/*
 * On a standby no other takes its place: until TCP would give it up, and
 * more.
 */
#define STANDBY_ANSWER_MS 120000

struct LeaderSession
{
	Source	   *source;			/* its conn is NULL while it is lost */
	const DumpPlan *plan;
	PGconn	   *next;			/* that is to take its place, */
	PGconn	   *other;			/* and sees what has changed; or NULL */
	char	   *snapshot;		/* its export */
	SnapshotHolder *holders;	/* by worker, in shared memory */
	int			n_workers;
	bool		on_standby;		/* that the server is, or was at first */
	bool		finished;		/* all jobs are done, transaction ended */
	int64		looked_at;		/* for workers that wait in vain */
	int			deadlocks;		/* looks in a row that found one */
	bool		expects_warning;	/* which is not to be shown */
	bool		sees_age;		/* may ask for the snapshot's age */
	int64		age_looked_at;	/* for that */
	int64		warned_age;		/* of the last warning, 0 = none */
	Retry		retry;			/* since it was lost */
	int			losses;			/* in jobs of its own */
	char	   *last_words;		/* the error by which the server ended it */
	bool		may_retry;		/* and that error allows another session */
};

/* Is this the server's last word to the session?  Then keep it. */
static bool
note_last_words(LeaderSession *session, const PGresult *res)
{
	const char *severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

	if (severity == NULL || strcmp(severity, "FATAL") != 0)
		return false;
	free(session->last_words);
	session->last_words = session_error_words(session->source->conn, res);
	session->may_retry = session_is_lost(NULL, res);
	return true;
}

/*
 * A PQnoticeReceiver: an error that the server sends unasked is such a word.
 */
static void
receive_notice(void *arg, const PGresult *res)
{
	const LeaderSession *session = arg;

	if (!note_last_words(arg, res) && !session->expects_warning)
		connection_show_notice(NULL, PQresultErrorMessage(res));
}

/* Looks are by the user who connected (session_look), whatever the role. */
static const char begin_query[] =
"SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.has_function_privilege(session_user,"
" pg_catalog.to_regprocedure('pg_catalog.pg_control_checkpoint()'), 'EXECUTE')";

void
leader_session_begin(Source *source, const DumpPlan *plan)
{
	LeaderSession *session = pg_malloc0(sizeof(LeaderSession));
	PGresult   *res = session_query(source->conn, begin_query);

	session->on_standby = PQgetvalue(res, 0, 0)[0] == 't';
	session->sees_age = PQgetvalue(res, 0, 1)[0] == 't';
	PQclear(res);
	if (!session->sees_age)
		pg_log_info("will not warn of an old snapshot: the role may not execute %s",
					"pg_control_checkpoint()");
	session->source = source;
	session->plan = plan;
	session->snapshot = pg_strdup(plan->snapshot);
	session->n_workers = source->options->jobs;
	session->holders = snapshot_holders_new(session->n_workers);
	session->looked_at = clock_monotonic_ms();
	PQsetNoticeReceiver(source->conn, receive_notice, session);
	source->session = session;
}

int
leader_session_watch_fd(const LeaderSession *session)
{
	return session->source->conn && !session->finished ? PQsocket(session->source->conn) : -1;
}

/* ----------
 * Workers
 * ----------
 */
void
leader_session_worker_begins(LeaderSession *session, int worker)
{
	memset(&session->holders[worker], 0, sizeof(SnapshotHolder));
	session->holders[worker].running = true;
}

void
leader_session_worker_is_gone(LeaderSession *session, int worker)
{
	session->holders[worker].running = false;
}

void
leader_session_begin_worker(LeaderSession *session, int worker)
{
	traffic_begin_worker(&session->holders[worker].waits);
	session->holders[worker].pid = getpid();
	/* the leader's session is the leader's alone, and ends with it */
	close(PQsocket(session->source->conn));
}

void
leader_session_join(LeaderSession *session, int worker, PGconn *conn)
{
	PGresult   *res = session_query(conn, session_backend_query);

	session->holders[worker].backend = atoi(PQgetvalue(res, 0, 0));
	PQclear(res);
	snapshot_begin_worker(conn, session->snapshot, session->plan->snapshot_identity);
	snapshot_holder_export(&session->holders[worker], conn);
}

/* ----------
 * Loss
 * ----------
 */

/* No connection at this time: try later, or give up. */
static void
try_later(LeaderSession *session, const char *cause)
{
	int			max_retries = (int) session->source->options->retries;
	int			delay_ms;

	if (session->retry.n == max_retries)
	{
		pg_log_error("the leader's connection to the server was lost: %s", cause);
		pg_log_error_detail("Its session held the locks on all tables.");
		if (max_retries > 0)
			pg_log_error_detail("Connecting again was tried %d times.",
								max_retries);
		exit(1);
	}
	delay_ms = retry_later(&session->retry);
	pg_log_warning("the leader has lost its connection; retry %d of %d in %.1f s",
				   session->retry.n, max_retries, delay_ms / 1000.0);
	pg_log_warning_detail("%s", cause);
}

static void
session_was_lost_by(LeaderSession *session, const char *words)
{
	char	   *cause = pg_strdup(*words ? words : "The server does not answer.");

	interrupt_check();
	if (session->last_words && !session->may_retry)
	{
		pg_log_error("the leader's session was ended by the server: %s", cause);
		exit(1);
	}
	if (session->on_standby)
	{
		pg_log_error("the leader's connection to the server was lost: %s", cause);
		pg_log_error_detail("On a standby no other session can take its place: replay may remove rows that the snapshot needs.");
		exit(1);
	}
	interrupt_set_connection(NULL);
	PQfinish(session->source->conn);
	session->source->conn = NULL;
	free(session->last_words);
	session->last_words = NULL;
	session->retry.n = 0;
	try_later(session, cause);
	free(cause);
}

static void
session_was_lost(LeaderSession *session)
{
	session_was_lost_by(session, session->last_words ? session->last_words :
						PQerrorMessage(session->source->conn));
}

/* Has the session ended, though it was not asked? */
static bool
is_lost(LeaderSession *session)
{
	bool		alive = PQconsumeInput(session->source->conn) != 0;

	/* makes libpq read why the server is ending the session */
	PQfreemem(PQnotifies(session->source->conn));
	return !alive || session->last_words ||
		PQstatus(session->source->conn) != CONNECTION_OK;
}

/* ----------
 * Replacement
 * ----------
 */

/*
 * Bring new sessions to where the lost one was; ends by session_lost().
 */
static void
take_over(void *arg)
{
	LeaderSession *session = arg;
	const Source *source = session->source;
	const DumpPlan *plan = session->plan;
	PGconn	   *conn;

	session->other = connection_open_peer(source->address, "pg_pardump");
	session->next = conn = connection_open_peer(source->address, "pg_pardump");
	leader_watchdog_watch(session->other, source->address, source->options);
	leader_watchdog_watch(conn, source->address, source->options);
	session_set_up(session->other, source->options, plan->encoding);
	session_set_up(conn, source->options, plan->encoding);
	if (!snapshot_holders_import(session->holders, session->n_workers, conn,
								 plan->snapshot_identity))
		session_lost("No worker's session has the snapshot at this time.");
	session->snapshot = snapshot_export(conn);
	dump_tables_lock(conn, plan->tables, plan->lock_wait_ms);
	table_check_unchanged(conn, session->other, plan->tables);
	server_extension_hold_too(conn, plan->extension, plan->lock_wait_ms);
	PQsetNoticeReceiver(conn, receive_notice, session);
}

static void
replace(LeaderSession *session)
{
	char	   *cause = session_try(take_over, session);

	if (cause == NULL)
	{
		session->source->conn = session->next;
		pg_log_info("the leader has another session with the same snapshot");
	}
	else
	{
		interrupt_set_connection(NULL);
		PQfinish(session->next);
		try_later(session, cause);
		free(cause);
	}
	PQfinish(session->other);
	session->next = session->other = NULL;
}

static int
answer_ms(const LeaderSession *session)
{
	return session->on_standby ? STANDBY_ANSWER_MS : ANSWER_MS;
}

/* Run a statement; NULL if the session was lost, which is noted. */
static PGresult *
ask(LeaderSession *session, const char *sql, ExecStatusType expected)
{
	PGresult   *res = session_exec_within(session->source->conn, sql, answer_ms(session));

	if (PQresultStatus(res) == expected)
		return res;
	if (res && !session_is_lost(session->source->conn, res))
		session_failed(session->source->conn, res, "query failed", sql);
	(void) note_last_words(session, res);
	session_was_lost(session);
	PQclear(res);
	return NULL;
}

/* What was dumped without a lock was checked by then, so it is all right. */
static void
finish(LeaderSession *session)
{
	char	   *sql = table_check_names_query(session->source->conn, session->plan->tables);
	PGresult   *res = ask(session, sql, PGRES_TUPLES_OK);

	free(sql);
	if (res == NULL)
		return;
	table_check_names(res);
	PQclear(res);
	res = ask(session, "COMMIT", PGRES_COMMAND_OK);
	session->finished = res != NULL;
	PQclear(res);
}

typedef struct LeaderJob
{
	const WorkerTask *task;
	int			job;
} LeaderJob;

static void
run_job(void *arg)
{
	const LeaderJob *job = arg;
	const WorkerTask *task = job->task;
	int			step;

	task->start(task->arg, WORKER_IS_LEADER);
	(void) task->run(task->arg, job->job, &step);
	task->stop(task->arg);
}

bool
leader_session_do(LeaderSession *session, const WorkerTask *task, int job)
{
	const Options *options = session->source->options;
	LeaderJob	leader_job = {task, job};
	char	   *cause = session_try(run_job, &leader_job);

	/* not the job's other one */
	interrupt_set_connection(session->source->conn);
	if (cause == NULL)
		return true;
	interrupt_check();
	if (options->pipe_command || session->losses++ == options->retries)
		pg_fatal("the leader has lost a connection: %s", cause);
	session_was_lost_by(session, cause);
	free(cause);
	return false;
}

/* ----------
 * Looking after the others
 * ----------
 */

/* A look at the server: NULL if the session is lost by now. */
static PGresult *
look(LeaderSession *session, const char *query)
{
	bool		lost;
	PGresult   *res = session_look(session->source->conn, query, answer_ms(session),
								   &lost);

	if (!lost)
		return res;
	(void) note_last_words(session, res);
	PQclear(res);
	session_was_lost(session);
	return NULL;
}

/*
 * Does a worker's backend wait for its client, or for nothing, or is it gone?
 * Then what should have reached the worker is lost between the two.  A
 * backend that works is left in peace, however long that takes.
 */
static bool
backend_has_nothing_to_do(LeaderSession *session, int backend)
{
	char	   *sql = server_health_at_work_query(backend);
	PGresult   *res = look(session, sql);
	bool		result;

	free(sql);
	result = PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) == 0;
	PQclear(res);
	return result;
}

/*
 * Its backend may not learn for long that nobody is there any more: it would
 * keep a connection, the snapshot and locks meanwhile, beyond the run's end.
 */
static void
end_backend(LeaderSession *session, int backend)
{
	int			min_age_s = (int) session->source->options->stall_timeout;
	char	   *sql = server_health_terminate_query(backend, min_age_s);

	session->expects_warning = true;	/* should it have ended just now */
	PQclear(look(session, sql));
	session->expects_warning = false;
	free(sql);
}

/*
 * A worker that was silent for too long goes on, should it be stopped.  If it
 * waits in vain, the signal ends it, as one that has lost its connection.
 */
static void
wake(LeaderSession *session, SnapshotHolder *holder)
{
	int			backend = holder->backend;
	bool		in_vain = snapshot_holder_waits(holder) &&
		(backend == 0 || backend_has_nothing_to_do(session, backend)) &&
		snapshot_holder_waits(holder);

	if (in_vain)
		kill(holder->pid, SIGUSR1);
	kill(holder->pid, SIGCONT);
	if (in_vain && backend != 0)
		end_backend(session, backend);
}

/* Does a worker wait behind one that has done its part, say? */
static void
check_deadlock(LeaderSession *session)
{
	char	   *pids = snapshot_holders_backends(session->holders,
												 session->n_workers);
	char	   *sql = server_health_deadlock_query(pids);
	PGresult   *res = look(session, sql);

	free(sql);
	free(pids);
	server_health_check_deadlock(res, &session->deadlocks);
	PQclear(res);
}

static void
look_after_workers(LeaderSession *session)
{
	int64		timeout_ms = (int64) session->source->options->stall_timeout * 1000;
	int64		now = clock_monotonic_ms();
	int64		elapsed_ms = now - session->looked_at;
	bool		any_waits = false;

	if (elapsed_ms < LOOK_MS)
		return;
	session->looked_at = now;

	/*
	 * if all of the run was stopped by Ctrl-Z, no worker was silent meanwhile
	 */
	elapsed_ms = Min(elapsed_ms, 2 * LOOK_MS);
	for (int i = 0; i < session->n_workers && session->source->conn; i++)
	{
		SnapshotHolder *holder = &session->holders[i];
		int64		ms = snapshot_holder_unchanged_ms(holder, elapsed_ms);

		if (snapshot_holder_waits(holder) && ms >= session->plan->lock_wait_ms)
			any_waits = true;
		if (timeout_ms == 0 || ms < timeout_ms)
			continue;
		holder->unchanged_ms = 0;	/* ask again after the same time */
		wake(session, holder);
	}
	if (any_waits && session->source->conn)
		check_deadlock(session);
}

static void
check_age(LeaderSession *session)
{
	int64		now = clock_monotonic_ms();
	PGresult   *res;

	if (!session->sees_age || (session->age_looked_at != 0 &&
							   now < session->age_looked_at + AGE_LOOK_MS))
		return;
	session->age_looked_at = now;
	res = look(session, server_health_age_query);
	server_health_warn_of_age(res, &session->warned_age);
	PQclear(res);
}

bool
leader_session_attend(LeaderSession *session, bool all_done, bool may_end)
{
	/* they are to leave now, and what is stopped would keep its session */
	if (all_done)
		snapshot_holders_wake(session->holders, session->n_workers);
	if (session->finished)
		return true;
	if (session->source->conn && is_lost(session))
		session_was_lost(session);
	if (session->source->conn == NULL)
	{
		snapshot_holders_check(session->holders, session->n_workers);
		if (retry_is_due(&session->retry))
			replace(session);
	}
	if (session->source->conn)
		look_after_workers(session);
	if (session->source->conn)
		check_age(session);
	if (session->source->conn && all_done && may_end)
		finish(session);
	return session->source->conn != NULL;
}
