/*
 * worker_session.c
 *		Reads rows in a worker's session.
 *
 * The leader's locks protect all tables.  A worker's own must be had without
 * a wait: a session that waits for the leader's lock is first in the queue,
 * and waits for the end of the run.  From then on no other session gets a
 * lock on that table; so a worker locks at its beginning what it is going to
 * read in several jobs.
 *
 * All other locks last for one job, since the server's lock table may have no
 * room for every table times every worker: jobs run in a savepoint to which
 * they are rolled back.  That also gives back the locks of indexes, which a
 * query takes: REINDEX would wait for a worker that has done its part, other
 * workers for REINDEX, and all of them for ever.  A subtransaction that
 * writes nothing costs the server no transaction ID.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "base/interrupt.h"
#include "session/session_settings.h"
#include "session/snapshot.h"
#include "session/table_lock.h"
#include "source/read_rows.h"
#include "source/worker_session.h"

#define APPLICATION_NAME "pg_pardump"

/* How long the server may take to end a transaction. */
#define END_MS 5000

struct WorkerSession
{
	const Source *source;
	const Run  *run;
	PGconn	   *conn;
	bool		is_leaders;		/* and so has every lock, and stays open */
	bool	   *locked;			/* by table: have we its lock to the end? */
	bool		may_be_named;	/* the user did not name the sessions */
	const Standby *standby;		/* of several, that it reads from; NULL if
								 * that is the source's own server */
	const Job  *job;			/* that was begun; NULL if it was refused */
};

/*
 * Lock the tables that are in chunks, largest first.  What is beyond this
 * session's share, or is waited for already, is locked job by job.
 */
static void
lock_chunked_tables(WorkerSession *session)
{
	const DumpPlan *plan = session->run->plan;
	char	  **names = pg_malloc((plan->chunks->n_files + 1) * sizeof(char *));
	int		   *tables = pg_malloc((plan->chunks->n_files + 1) * sizeof(int));

	/* a task does not know the leader's tables so well */
	int			room = plan->tables->locks_per_session > 0 ?
		plan->tables->locks_per_session :
		atoi(session_value(session->conn, "SELECT pg_catalog.current_setting('max_locks_per_transaction')"));
	int			n = 0;

	for (int i = 0; i < plan->chunks->n_files && n < room; i++)
	{
		const DataFile *file = plan->queue->files[i];

		if (file->n_chunks == 1 || session->locked[file->table])
			continue;
		/* also if it cannot be locked: set back below */
		session->locked[file->table] = true;
		names[n] = plan->tables->tables[file->table].name;
		tables[n++] = file->table;
	}
	if (!table_lock_try(session->conn, names, n))
		for (int i = 0; i < n; i++)
			session->locked[tables[i]] =
				table_lock_try(session->conn, &names[i], 1);
}

static void
begin_worker(WorkerSession *session, int no)
{
	const Source *source = session->source;
	const DumpPlan *plan = session->run->plan;
	WorkerState *state = &source->states[no];
	const Standby *standby = NULL;
	PGconn	   *conn;

	if (state->server > 0)
		session->standby = standby = &source->standbys->list[state->server];

	/*
	 * The place may be that of a worker that was lost in the middle of a
	 * file.
	 */
	file_results_begin_worker(session->run->results, no);
	session->run->results->server = state->server;

	/*
	 * Waits are counted from the first attempt to connect.  The leader's
	 * sockets are closed, so that its sessions end when the leader does,
	 * however long this process lives.
	 */
	worker_state_start(state);

	/*
	 * The leader's sessions are the leader's alone, and end with it.  A task
	 * has none: its leader is elsewhere.
	 */
	if (source->conn)
		close(PQsocket(source->conn));
	if (source->slot)
		logical_slot_close_inherited(source->slot);
	for (int i = 1; source->standbys && i < source->standbys->n; i++)
		if (source->standbys->list[i].conn)
			close(PQsocket(source->standbys->list[i].conn));
	session->conn = conn =
		connection_open_peer(standby ? standby->address : source->address,
							 APPLICATION_NAME);
	session_set_up(conn, source->options, plan->encoding);
	worker_state_connected(state, conn);
	/* the session counts as lost: there may be another one to have it from */
	if (!snapshot_try_import(conn,
							 standby ? standby->snapshot : source->snapshot,
							 standby ? standby->identity : plan->snapshot_identity))
		session_lost("the session that exported the snapshot has ended");

	/*
	 * The snapshot is offered to others only when it was found complete, for
	 * which the extension must be held.  All of this comes before the
	 * savepoint, and so lasts to the end of the transaction.
	 */
	server_extension_hold_too(conn, plan->extension, plan->lock_wait_ms);
	worker_state_offer(state, conn,
					   plan->snapshot_is_sound ? NULL : plan->extension);
	lock_chunked_tables(session);
}

WorkerSession *
worker_session_open(const Source *source, const Run *run, int no)
{
	WorkerSession *session = pg_malloc0(sizeof(WorkerSession));
	const char *name;

	session->source = source;
	session->run = run;
	session->locked = pg_malloc0((run->plan->tables->n_tables + 1) *
								 sizeof(bool));
	session->is_leaders = no == WORKER_IS_LEADER;
	if (session->is_leaders)
		session->conn = source->conn;
	else
		begin_worker(session, no);
	name = PQparameterStatus(session->conn, "application_name");
	session->may_be_named = name != NULL && strcmp(name, APPLICATION_NAME) == 0;
	/* what is to stay to the end is done before this */
	session_command(session->conn, SESSION_SAVEPOINT);
	return session;
}

PGconn *
worker_session_conn(const WorkerSession *session)
{
	return session->conn;
}

void
worker_session_close(WorkerSession *session)
{
	if (session->is_leaders)
		session_command(session->conn, SESSION_RELEASE);
	else
	{
		/* it has read all that it was to read, and may be lost by now */
		PQclear(session_exec_within(session->conn, "COMMIT", END_MS));
		interrupt_set_connection(NULL);
		session_close(session->conn);
	}
	free(session->locked);
	free(session);
}

/* ----------
 * Before a job
 * ----------
 */

/* What the session does, for all to see in pg_stat_activity. */
static void
name_session(WorkerSession *session, const Job *job)
{
	const DumpPlan *plan = session->run->plan;
	char		label[JOB_LABEL_BYTES + 1];

	if (!session->may_be_named)
		return;
	(void) job_label(plan->queue, job, plan->tables, label);
	session_set(session->conn, "application_name", label, false);
}

static bool
lock_tables(WorkerSession *session, const Job *job)
{
	const DumpPlan *plan = session->run->plan;
	char	  **names = pg_malloc(job->n * sizeof(char *));
	int			n_names = 0;
	bool		result;

	for (int i = 0; i < job->n; i++)
	{
		int			no = plan->queue->files[job->first + i]->table;
		const DumpTable *table = &plan->tables->tables[no];

		if (!session->locked[no] && table->relkind == RELKIND_RELATION)
			names[n_names++] = table->name;
	}
	result = table_lock_try(session->conn, names, n_names);
	free(names);
	return result;
}

/* On a standby that is always replay, whose kind not every role may see. */
static const char waiting_query[] =
"SELECT l.pid, pg_catalog.pg_is_in_recovery() FROM pg_catalog.pg_locks l"
" JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) l.database"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
" AND l.relation OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND NOT l.granted LIMIT 1";

/* In the leader: why it does what workers are for. */
static void
report_refused(WorkerSession *session, int no)
{
	const DumpTable *table = &session->run->plan->tables->tables[no];
	const char *params[] = {psprintf("%u", table->oid)};
	PGresult   *res = session_query_params(session->conn, waiting_query, 1,
										   params, 0);

	if (PQntuples(res) == 1)
	{
		pg_log_warning("could not lock table %s again; reading it in the session that already holds the lock",
					   printable(table->name));
		pg_log_warning_detail(result_is_true(res, 0, 1) ?
							  "Replay (startup process %s) is waiting for an exclusive lock on the table." :
							  "Process %s is waiting for an exclusive lock on the table.",
							  PQgetvalue(res, 0, 0));
		session->source->reported[no] = true;
	}
	PQclear(res);
}

bool
worker_session_begin_job(WorkerSession *session, const Job *job)
{
	const DumpPlan *plan;

	session->job = job;
	name_session(session, job);
	if (job->kind != JOB_DATA_FILES)
		return true;
	if (!session->is_leaders)
	{
		if (lock_tables(session, job))
			return true;
		session->job = NULL;
		return false;
	}
	plan = session->run->plan;
	for (int i = 0; i < job->n; i++)
	{
		int			no = plan->queue->files[job->first + i]->table;

		if (!session->source->reported[no])
			report_refused(session, no);
	}
	return true;				/* the leader has all locks */
}

/*
 * What was read by name was read of the tables that the plan means, if their
 * schemas have not been renamed.
 */
static void
check_names(WorkerSession *session)
{
	const DumpPlan *plan = session->run->plan;
	const Job  *job = session->job;
	DumpTables	tables = *plan->tables;
	char	   *sql;
	PGresult   *res;

	if (job->kind != JOB_DATA_FILES)
		return;
	tables.tables = pg_malloc(job->n * sizeof(DumpTable));
	tables.n_tables = job->n;
	for (int i = 0; i < job->n; i++)
		tables.tables[i] =
			plan->tables->tables[plan->queue->files[job->first + i]->table];
	sql = dump_tables_query(session->conn, &tables);
	res = session_query(session->conn, sql);
	table_check_names(res, &tables);
	PQclear(res);
	free(sql);
	free(tables.tables);
}

/*
 * Where no session of the leader's proves it at the end
 * (leader_session_finish): a job that was read at another standby counts if
 * it was right up to now.  If the leader's first session there is gone, it
 * may not have been, and is read elsewhere.
 */
static void
check_standby(WorkerSession *session)
{
	/*
	 * Names first: they are looked up in the catalogs of now, so they must be
	 * right at a moment at which the snapshot was still there.
	 */
	check_names(session);
	if (!standby_has_snapshot(session->standby, session->conn))
		session_lost(psprintf("the leader's session on standby %s has ended",
							  session->standby->name));
}

void
worker_session_end_job(WorkerSession *session)
{
	/* the savepoint stays, for the next job */
	session_command(session->conn, SESSION_ROLLBACK_TO);
	if (session->standby && session->job)
		check_standby(session);
}

/* ----------
 * Reading
 * ----------
 */

/* For others to see, while they come. */
static volatile uint64 *
rows_so_far(const WorkerSession *session)
{
	return &file_results_progress(session->run->results)->rows;
}

/* By SQL: any table, with the privileges and policies that SQL has. */
static uint64
read_by_sql(WorkerSession *session, const DataFile *file, const char *format,
			Sink *sink)
{
	return read_copy(session->conn,
					 &session->run->plan->tables->tables[file->table], file,
					 format, sink, rows_so_far(session));
}

/* By the extension.  Returns the number of rows if they are plain text. */
static uint64
read_by_extension(WorkerSession *session, const DataFile *file,
				  const char *compression, const char *format, Sink *sink)
{
	bool		plain = strcmp(compression, "none") == 0 &&
		strcmp(format, "text") == 0;

	return read_blocks(session->conn,
					   &session->run->plan->tables->tables[file->table], file,
					   compression, format, sink,
					   plain ? rows_so_far(session) : NULL);
}

/*
 * A reader that gives no rows where there are some has gone wrong, or is not
 * what we take it for: that must not pass for an empty table.
 */
static void
check_empty(WorkerSession *session, const DataFile *file, uint64 rows)
{
	const DumpTables *tables = session->run->plan->tables;

	if (rows > 0 || file->seems_empty ||
		!read_copy_has_rows(session->conn, &tables->tables[file->table], file))
		return;
	pg_log_error("the extension read no rows of %s, although it contains rows",
				 data_file_describe(file, tables));
	pg_log_error_detail("A query finds a row in the same snapshot.");
	pg_fatal_hint("Use --no-extension, and check the functions in schema "
				  PARDUMP_SCHEMA ".");
}

uint64
worker_session_read_text(WorkerSession *session, const DataFile *file,
						 Sink *sink)
{
	uint64		rows;

	if (session->run->plan->chunks->tables[file->table].sql_reason != NULL)
		return read_by_sql(session, file, "text", sink);
	rows = read_by_extension(session, file, "none", "text", sink);
	check_empty(session, file, rows);
	return rows;
}

/* All rows by the extension, which counts what cannot be counted here. */
static uint64
read_counted(WorkerSession *session, const DataFile *file,
			 const char *compression, const char *format, Sink *sink,
			 uint64 *raw_bytes)
{
	uint64		rows;

	(void) read_by_extension(session, file, compression, format, sink);
	read_blocks_count(session->conn, &rows, raw_bytes);
	check_empty(session, file, rows);
	return rows;
}

uint64
worker_session_read_binary(WorkerSession *session, const DataFile *file,
						   Sink *sink)
{
	uint64		bytes;

	if (session->run->plan->chunks->tables[file->table].sql_reason != NULL)
		return read_by_sql(session, file, "binary", sink);
	return read_counted(session, file, "none", "binary", sink, &bytes);
}

uint64
worker_session_read_compressed(WorkerSession *session, const DataFile *file,
							   Sink *sink, uint64 *raw_bytes)
{
	return read_counted(session, file, session->run->plan->server_compress,
						"text", sink, raw_bytes);
}

uint64
worker_session_read_raw(WorkerSession *session, const DataFile *file,
						Sink *sink, const char *compression,
						uint64 *raw_bytes)
{
	return read_counted(session, file, compression, "raw", sink, raw_bytes);
}
