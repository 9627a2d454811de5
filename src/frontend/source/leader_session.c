/*
 * leader_session.c
 *		Watches the leader's waits, notices the loss of its session, and
 *		replaces it.
 *
 * leader_session.h explains why a lost session can be replaced, and why not
 * on a standby.
 */
#include "base/fe_compat.h"

#include "libpq-events.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "session/session_settings.h"
#include "session/snapshot.h"
#include "source/leader_session.h"
#include "source/standby_overflow.h"
#include "status/summary.h"

/* ----------
 * Ends waits of the leader for a source server that sends nothing.
 * ----------
 */

/* How long a query about the server's state may take. */
#define ANSWER_MS 15000

#define AGAIN_HINT "Check the server and the network, and run the same command again."

/*
 * The data that are kept with a connection, until the process ends.  They
 * belong to the connection because the leader may wait for two servers.
 */
typedef struct WatchedSession
{
	const PeerAddress *address;
	int			backend;
} WatchedSession;

/* The state of the watch in this process. */
typedef struct LeaderWatchdog
{
	int64		timeout_ms;
	int			max_unanswered;
	int			unanswered;		/* queries in a row that were not answered */
	int64		since;			/* when rows last arrived or were requested */
} LeaderWatchdog;

static LeaderWatchdog state;

/*
 * A PGEventProc that does nothing.  Its address is the key under which libpq
 * stores the WatchedSession of a connection.
 */
static int
ignore_event(PGEventId event, void *info, void *arg)
{
	return true;
}

/*
 * Would waiting longer be useless, because the backend does nothing for us?
 * The same question about workers is in
 * worker_monitor.c:backend_has_nothing_to_do().
 */
static bool
is_in_vain(const PGconn *conn)
{
	const WatchedSession *session = PQinstanceData(conn, ignore_event);
	char	   *sql = backend_query_at_work(session->backend);
	PGconn	   *other = connection_try_peer(session->address, "pg_pardump");
	PGresult   *res = NULL;
	bool		result;

	interrupt_check();
	if (PQstatus(other) == CONNECTION_OK)
		res = session_exec_within(other, sql, ANSWER_MS);
	if (PQresultStatus(res) == PGRES_TUPLES_OK)
	{
		/* Any answer shows that the server works. */
		state.unanswered = 0;
		result = PQntuples(res) == 0;
	}
	else
		result = state.unanswered++ >= state.max_unanswered;
	PQclear(res);

	/*
	 * Each query gets a new connection, because the fault that has cut off
	 * the watched connection could also have cut off one that was kept.
	 */
	PQfinish(other);
	free(sql);
	return result;
}

/*
 * Called during waits: came is whether something has arrived, and *since is
 * the time when something last arrived.
 */
static void
leader_session_check_silence(PGconn *conn, bool came, int64 *since)
{
	if (!came && PQinstanceData(conn, ignore_event) != NULL)
	{
		if (clock_monotonic_ms() < *since + state.timeout_ms)
			return;

		/*
		 * If the backend is idle, look once more: data that it sent before it
		 * answered the query has arrived by now.
		 */
		if (is_in_vain(conn) && !session_wait_input(conn))
			session_lost("received no data from the server for longer than --stall-timeout, although the session is idle or its state could not be checked");
	}
	*since = clock_monotonic_ms();
}

void
leader_watchdog_watch(PGconn *conn, const PeerAddress *address,
					  const Options *options)
{
	WatchedSession *session;
	PGresult   *res;

	if (options->stall_timeout == 0)
		return;
	res = session_exec_within(conn, session_self_query, ANSWER_MS);
	if (res == NULL)
		session_lost("the server did not respond");
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(conn, res, "query failed", session_self_query);
	session = pg_malloc(sizeof(WatchedSession));
	session->address = address;
	session->backend = atoi(PQgetvalue(res, 0, SELF_BACKEND));
	PQclear(res);

	/*
	 * Set the watch only once, because another one may have been set since,
	 * which calls this one.
	 */
	if (state.timeout_ms == 0)
		(void) session_wait_set_watch(leader_session_check_silence);
	state.timeout_ms = (int64) options->stall_timeout * 1000;
	state.max_unanswered = (int) options->retries;

	/*
	 * Sending must not block forever either.  PQexec() also works in this
	 * mode.
	 */
	if (!PQregisterEventProc(conn, ignore_event, "pg_pardump", NULL) ||
		!PQsetInstanceData(conn, ignore_event, session) ||
		PQsetnonblocking(conn, true) != 0)
		pg_fatal("out of memory");
}

static void
leader_session_watch_rows(PGconn *conn, bool came)
{
	leader_session_check_silence(conn, came, &state.since);
	progress_tick();
}

void
leader_watchdog_watch_rows(void)
{
	state.since = clock_monotonic_ms();
	session_wait_set_rows_watch(leader_session_watch_rows);
}

/* ----------
 * The loss of the leader's session, and its replacement.
 * ----------
 */

/*
 * On a standby a lost session cannot be replaced, so wait until TCP would
 * have given up the connection, and a little longer.
 */
#define STANDBY_ANSWER_MS 120000

/*
 * How often to check whether the exporter of an imported snapshot still runs.
 */
#define EXPORTER_LOOK_MS 10000

struct LeaderSession
{
	Source	   *source;			/* its conn is NULL while it is lost */
	const DumpPlan *plan;
	PGconn	   *next;			/* the session that will replace it, and */
	PGconn	   *other;			/* the one that sees changes; or NULL */
	bool		finished;		/* all jobs are done, transaction ended */
	bool		is_silent;		/* do not show messages from the server */
	int64		exporter_seen;	/* when the exporter was last checked */
	SnapshotAge age;
	Retry		retry;			/* attempts since the loss */
	int			losses;			/* losses during the leader's own jobs */
	char	   *last_words;		/* the error by which the server ended it */
	bool		may_retry;		/* that error allows another session */
};

/* Is this the error with which the server ends the session?  Then keep it. */
static bool
note_last_words(LeaderSession *session, const PGresult *res)
{
	const char *severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

	if (severity == NULL || strcmp(severity, "FATAL") != 0)
		return false;
	session->last_words = session_error_words(session->source->conn, res);
	session->may_retry = session_is_lost(NULL, res);
	return true;
}

/*
 * A PQnoticeReceiver, which also gets an error that the server sends to an
 * idle session.
 */
static void
leader_session_receive_notice(void *arg, const PGresult *res)
{
	const LeaderSession *session = arg;

	if (!note_last_words(arg, res) && !session->is_silent)
		connection_show_notice(NULL, res);
}

/* See snapshot_identity(). */
pg_noreturn static void
refuse_promoted(void)
{
	pg_log_error("the standby was promoted during the dump");
	pg_log_error_detail("Index entries might be missing for rows that the snapshot sees.");
	pg_fatal_hint("Run the same command again.");
}

void
leader_session_begin(Source *source, const DumpPlan *plan)
{
	LeaderSession *session = pg_malloc0(sizeof(LeaderSession));

	/* pg_dump has read the catalogs, with their indexes. */
	if (source->on_standby && !session_is_true(source->conn, session_recovery_query))
		refuse_promoted();
	session->age.may_ask = source->rights.age;
	/* The snapshot of this run is new, so its age need not be checked yet. */
	if (source->options->snapshot == NULL)
		session->age.looked_at = clock_monotonic_ms();
	if (!session->age.may_ask)
		pg_log_info("cannot warn of an old snapshot: the role may not execute %s",
					"pg_control_checkpoint()");
	session->source = source;
	session->plan = plan;
	source->snapshot = plan->snapshot;
	/* Workers, which are forked later, write into this shared memory. */
	source->states = worker_states_new(source->options->jobs);
	PQsetNoticeReceiver(source->conn, leader_session_receive_notice, session);
	source->session = session;
}

/* ----------
 * Loss
 * ----------
 */

/* There is no connection now: try again later, or give up. */
static void
try_later(LeaderSession *session, const char *cause)
{
	int			max_retries = (int) session->source->options->retries;
	int			delay_ms;

	if (session->retry.n == max_retries)
	{
		pg_log_error("lost the connection that held the locks on all tables");
		pg_log_error_detail("%s", message_sentence(cause));
		if (max_retries > 0)
			pg_log_error_detail("Number of attempts to reconnect: %d.", max_retries);
		pg_fatal_hint(AGAIN_HINT);
	}
	delay_ms = retry_later(&session->retry);
	pg_log_warning("lost the connection that held the locks on all tables; retry %d of %d in %.1f s",
				   session->retry.n, max_retries, delay_ms / 1000.0);
	pg_log_warning_detail("%s", message_sentence(cause));
}

static void
was_lost_by(LeaderSession *session, const char *words)
{
	char	   *cause = message_sentence(*words ? words :
										 "the server did not respond");

	interrupt_check();
	if (session->last_words && !session->may_retry)
	{
		pg_log_error("the server terminated the session that held the locks on all tables");
		pg_fatal_detail("%s", cause);
	}
	if (session->source->on_standby || session->source->options->tasks)
	{
		pg_log_error("lost the connection that held the locks on all tables");
		pg_log_error_detail("%s", cause);
		pg_fatal_detail(session->source->on_standby ?
						"On a standby, no other session can replace it, because replay might remove rows that the snapshot needs." :
						"With --tasks, no other session can replace it, because only tasks have its snapshot.");
	}
	interrupt_set_connection(NULL);
	PQfinish(session->source->conn);
	session->source->conn = NULL;
	/* The error that ended the old session does not apply to the next one. */
	session->last_words = NULL;
	session->retry.n = 0;
	try_later(session, cause);
}

static void
was_lost(LeaderSession *session)
{
	was_lost_by(session, session->last_words ? session->last_words :
				PQerrorMessage(session->source->conn));
}

/* ----------
 * Replacement
 * ----------
 */

/*
 * Open sessions that replace the lost one: with the same snapshot and the
 * same locks.  Ends with session_lost() if this fails.
 */
static void
leader_session_take_over(void *arg)
{
	LeaderSession *session = arg;
	Source	   *source = session->source;
	const DumpPlan *plan = session->plan;
	PGconn	   *conn;
	char	   *snapshot;

	/*
	 * Open both connections first.  Without the second one, changed tables
	 * cannot be found, and the first one would wait while it already holds
	 * locks.
	 */
	session->other = connection_open_peer(source->address, "pg_pardump");
	session->next = conn = connection_open_peer(source->address, "pg_pardump");
	leader_watchdog_watch(session->other, source->address, source->options);
	leader_watchdog_watch(conn, source->address, source->options);
	session_set_up(session->other, source->options, plan->encoding);
	session_set_up(conn, source->options, plan->encoding);
	if (!worker_states_import(source->states, source->options->jobs, conn,
							  plan->snapshot_identity))
		session_lost("no session of a worker has the snapshot at this time");

	/*
	 * Lock the tables before they are checked, so that they stay unchanged
	 * afterwards.  While there was no lock a table may have been rewritten,
	 * and the snapshot does not see the rows in its new files.
	 */
	dump_tables_lock(conn, plan->tables, plan->lock_wait_ms);
	table_check_unchanged(conn, session->other, plan->tables);
	server_extension_hold_too(conn, plan->extension, plan->lock_wait_ms);

	/*
	 * Workers that are started later import this session's export, because
	 * the worker whose export was imported here may end at any time.
	 */
	snapshot = snapshot_export(conn);
	standby_overflow_check(conn, plan->extension, snapshot);
	source->snapshot = snapshot;
	PQsetNoticeReceiver(conn, leader_session_receive_notice, session);
}

static void
replace(LeaderSession *session)
{
	char	   *cause = session_try(leader_session_take_over, session);

	if (cause == NULL)
	{
		session->source->conn = session->next;
		pg_log_info("the leader has opened another session with the same snapshot");
	}
	else
	{
		interrupt_set_connection(NULL);
		PQfinish(session->next);
		try_later(session, cause);
	}
	session_close(session->other);
	session->next = session->other = NULL;
}

static int
answer_ms(const LeaderSession *session)
{
	return session->source->on_standby ? STANDBY_ANSWER_MS : ANSWER_MS;
}

/*
 * Run a statement.  Returns NULL after the session was lost, which was
 * handled.
 */
static PGresult *
ask(LeaderSession *session, const char *sql, ExecStatusType expected)
{
	PGresult   *res = session_exec_within(session->source->conn, sql,
										  answer_ms(session));

	if (PQresultStatus(res) == expected)
		return res;
	if (res && !session_is_lost(session->source->conn, res))
		session_failed(session->source->conn, res, "query failed", sql);
	(void) note_last_words(session, res);
	was_lost(session);
	PQclear(res);
	return NULL;
}

/*
 * Does the server plan the queries that read the rows of a table, so that it
 * may use an index?  If it reads all rows, or blocks, it uses none, except
 * for policies of row security.
 */
static bool
may_use_index(const DumpTables *tables)
{
	for (int i = 0; i < tables->n_tables; i++)
		if (tables->tables[i].filter || tables->tables[i].condition ||
			tables->tables[i].masks || tables->tables[i].row_security)
			return true;
	return false;
}

/*
 * Exit with a message if the transaction that exported the imported snapshot
 * has ended, but was still needed (snapshot_exporter_query()).  Returns false
 * if the session was lost.
 */
static bool
check_exporter(LeaderSession *session)
{
	const Source *source = session->source;
	const char *name = source->slot ? source->slot->snapshot :
		source->options->snapshot;
	PGresult   *res;

	if (source->exporter_query == NULL ||
		(!source->on_standby && !may_use_index(session->plan->tables)))
		return true;
	res = ask(session, source->exporter_query, PGRES_TUPLES_OK);
	if (res == NULL)
		return false;
	if (PQntuples(res) == 0)
	{
		pg_log_error("the transaction that exported snapshot \"%s\" has ended before all rows were read",
					 printable(name));
		pg_log_error_detail(source->on_standby ?
							"On a standby, replay might have removed rows that the snapshot sees." :
							"An index that was created meanwhile might lack rows that the snapshot sees.");
		if (source->slot == NULL)
			pg_log_error_hint("Export a new snapshot, and keep the transaction that exports it open until pg_pardump has finished.");
		exit(1);
	}
	PQclear(res);
	return true;
}

/*
 * Exit with a message if the server was promoted, and rows or large objects
 * were read with an index.  A page that is split or cleaned after the
 * promotion loses its dead entries also for older transactions.  Returns
 * false if the session was lost.
 */
static bool
check_promotion(LeaderSession *session)
{
	PGresult   *res;

	if (!session->source->on_standby ||
		(!may_use_index(session->plan->tables) &&
		 session->plan->objects->n_objects == 0))
		return true;
	res = ask(session, session_recovery_query, PGRES_TUPLES_OK);
	if (res == NULL)
		return false;
	if (!result_is_true(res, 0, 0))
		refuse_promoted();
	PQclear(res);
	return true;
}

typedef struct LeaderJob
{
	const WorkerTask *task;
	int			job;
} LeaderJob;

static void
leader_session_run_job(void *arg)
{
	const LeaderJob *job = arg;
	const WorkerTask *task = job->task;
	int			step;

	/*
	 * Use the task's functions as a worker would, but in the leader's
	 * session.
	 */
	task->start(task->arg, WORKER_IS_LEADER);
	(void) task->run(task->arg, job->job, &step);
	task->stop(task->arg);
}

bool
leader_session_do(LeaderSession *session, const WorkerTask *task, int job)
{
	const Options *options = session->source->options;
	LeaderJob	leader_job = {task, job};
	char	   *cause = session_try(leader_session_run_job, &leader_job);

	/*
	 * The job may have opened another connection, which signals would cancel.
	 */
	interrupt_set_connection(session->source->conn);
	if (cause == NULL)
		return true;
	interrupt_check();
	if (options->pipe_command || options->tasks ||
		session->losses++ == options->retries)
	{
		pg_log_error("lost the connection that held the locks on all tables");
		pg_log_error_detail("%s", message_sentence(cause));
		if (options->pipe_command)
			pg_log_error_detail("With --pipe, the job cannot be retried.");
		else if (options->tasks)
			pg_log_error_detail("With --tasks, the job cannot be retried.");
		else
			pg_log_error_detail("Number of retries: " UINT64_FORMAT ".", options->retries);
		pg_fatal_hint(AGAIN_HINT);
	}
	was_lost_by(session, cause);
	return false;
}

/* ----------
 * While workers work
 * ----------
 */
void
leader_session_keep(LeaderSession *session)
{
	Source	   *source = session->source;

	if (source->conn &&
		(session_has_ended(source->conn) || session->last_words))
		was_lost(session);

	/*
	 * Check early, because without the exporter, or after a promotion, the
	 * run fails anyway, and otherwise only after hours of reading.
	 */
	if (source->conn &&
		clock_monotonic_ms() >= session->exporter_seen + EXPORTER_LOOK_MS)
	{
		if (check_exporter(session))
			(void) check_promotion(session);
		session->exporter_seen = clock_monotonic_ms();
	}
	if (source->conn == NULL)
	{
		worker_states_check(source->states, source->options->jobs);
		if (retry_is_due(&session->retry))
			replace(session);
	}
}

PGresult *
leader_session_look(LeaderSession *session, const char *query)
{
	bool		lost;
	PGresult   *res = session_look(session->source->conn, query,
								   answer_ms(session), &lost);

	if (!lost)
		return res;
	(void) note_last_words(session, res);
	PQclear(res);
	was_lost(session);
	return NULL;
}

PGresult *
leader_session_look_silently(LeaderSession *session, const char *query)
{
	PGresult   *res;

	session->is_silent = true;
	res = leader_session_look(session, query);
	session->is_silent = false;
	return res;
}

void
leader_session_check_age(LeaderSession *session)
{
	const char *query = snapshot_age_query(&session->age);
	PGresult   *res;

	if (query == NULL)
		return;
	res = leader_session_look(session, query);
	snapshot_age_warn(&session->age, res);
	PQclear(res);
}

/*
 * Jobs that were read while the leader had no lock are correct, too: the
 * session that replaced the lost one has checked that no table was changed.
 */
void
leader_session_finish(LeaderSession *session)
{
	PGresult   *res;

	if (!check_exporter(session) || !check_promotion(session))
		return;
	res = ask(session, dump_tables_query(session->source->conn, session->plan->tables),
			  PGRES_TUPLES_OK);
	if (res == NULL)
		return;

	/*
	 * Only a successful COMMIT shows that the session was alive and held all
	 * locks until the last row had been read.
	 */
	table_check_names(res, session->plan->tables);
	PQclear(res);
	res = ask(session, "COMMIT", PGRES_COMMAND_OK);
	session->finished = res != NULL;
	PQclear(res);
}

bool
leader_session_is_finished(const LeaderSession *session)
{
	return session->finished;
}
