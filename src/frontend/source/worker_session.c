/*
 * worker_session.c
 *		Reads rows in a worker's session.
 *
 * The leader's locks protect all tables.  A worker's own lock must be
 * available without a wait: if a session waits behind the leader's lock, it
 * is first in the queue until the end of the run, and from then on no other
 * session gets a lock on that table.  So a worker begins by locking all
 * tables that it is going to read in several jobs.
 *
 * All other locks last for one job, because the server's lock table may not
 * have room for every table times every worker: jobs run in a savepoint, to
 * which they are rolled back.  This also gives up the locks on indexes, which
 * a query takes.  Otherwise REINDEX would wait for a worker that has finished
 * its part, other workers for REINDEX, and all of them forever.  A
 * subtransaction that writes nothing costs the server no transaction ID.
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

/* How long the server may take for COMMIT. */
#define END_MS 5000

struct WorkerSession
{
	const Source *source;
	const Run  *run;
	PGconn	   *conn;
	bool		is_leaders;		/* is it the leader's, which has every lock
								 * and stays open? */
	bool	   *locked;			/* by table: is it locked until the end? */
	bool		may_be_named;	/* the user did not name the sessions */
	const Standby *standby;		/* the one of several that it reads from; NULL
								 * for the source's own server */
	WorkerState *state;			/* NULL for the leader's */
	const Job  *job;			/* the current one; NULL if it was refused */
};

/*
 * Lock the tables with several chunks, largest first.  Tables beyond this
 * session's share of the lock table, and tables for which another session
 * waits, are locked job by job instead.
 */
static void
lock_chunked_tables(WorkerSession *session)
{
	const DumpPlan *plan = session->run->plan;
	char	  **names = pg_malloc((plan->chunks->n_files + 1) * sizeof(char *));
	int		   *tables = pg_malloc((plan->chunks->n_files + 1) * sizeof(int));

	/* A task does not have the leader's estimate, so it uses the setting. */
	int			room = plan->tables->locks_per_session > 0 ?
		plan->tables->locks_per_session :
		atoi(session_value(session->conn, "SELECT pg_catalog.current_setting('max_locks_per_transaction')"));
	int			n = 0;

	for (int i = 0; i < plan->chunks->n_files && n < room; i++)
	{
		const DataFile *file = plan->queue->files[i];

		if (file->n_chunks == 1 || session->locked[file->table])
			continue;

		/*
		 * Set this for all tables now; the loop below corrects it for tables
		 * that cannot be locked.
		 */
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
	WorkerState *state = session->state = &source->states[no];
	const Standby *standby = NULL;
	PGconn	   *conn;

	if (state->server > 0)
		session->standby = standby = &source->standbys->list[state->server];

	/*
	 * This process may replace a worker that was lost in the middle of a
	 * file, whose partial results must be removed.
	 */
	file_results_begin_worker(session->run->results, no);
	session->run->results->server = state->server;

	/*
	 * Count waits from the first attempt to connect, so that the leader
	 * notices a server that does not respond.
	 */
	worker_state_start(state);

	/*
	 * Close the inherited sockets of the leader's sessions, so that these end
	 * when the leader does, however long this process lives.  A task has no
	 * such sessions, because its leader is another process.
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

	/*
	 * Treat this as a lost session: after a while the snapshot may be
	 * available from another session.
	 */
	if (!snapshot_try_import(conn,
							 standby ? standby->snapshot : source->snapshot,
							 standby ? standby->identity : plan->snapshot_identity))
	{
		state->no_snapshot = true;
		session_lost(standby || source->on_standby ?
					 "the session that exported the snapshot has ended, or the standby was promoted" :
					 "the session that exported the snapshot has ended");
	}

	/*
	 * Offer the snapshot to others only after it was found complete.  The
	 * check needs the extension to be held.  All of this comes before the
	 * savepoint, so it lasts until the end of the transaction.
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

	/*
	 * The locks above are taken before this savepoint, so they stay until the
	 * end.
	 */
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
		/*
		 * All rows were read, so it does not matter if the session is lost
		 * now.
		 */
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

/* Show the current job in pg_stat_activity. */
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

/*
 * Which process waits for a lock on the table?  On a standby it is always
 * replay, and not every role can see the kind of that process.
 */
static const char waiting_query[] =
"SELECT l.pid, pg_catalog.pg_is_in_recovery() FROM pg_catalog.pg_locks l"
" JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) l.database"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
" AND l.relation OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND l.mode OPERATOR(pg_catalog.=) 'AccessExclusiveLock'"
" AND NOT l.granted LIMIT 1";

/* In the leader: report why the leader reads a table itself. */
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
							  "Replay (startup process %s) is waiting for an ACCESS EXCLUSIVE lock on the table." :
							  "Process %s is waiting for an ACCESS EXCLUSIVE lock on the table.",
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
 * Check that names still lead to the tables of the plan: if a schema was
 * renamed, the rows may come from another table.
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
 * On other standbys, the leader's last COMMIT proves nothing
 * (leader_session_finish()).  So each job there counts only if it is correct
 * at its end: if the leader's first session on that standby is gone, rows may
 * have been removed, and the job is read again elsewhere.
 */
static void
check_standby(WorkerSession *session)
{
	/*
	 * Check names first: they are looked up in the current catalogs, so they
	 * must be correct at a moment at which the snapshot still existed.
	 */
	check_names(session);
	if (!standby_has_snapshot(session->standby, session->conn,
							  &session->state->no_snapshot))
		session_lost(psprintf("the leader's session on standby \"%s\" has ended, or the standby was promoted",
							  session->standby->name));
}

void
worker_session_end_job(WorkerSession *session)
{
	/* The savepoint stays, for the next job. */
	session_command(session->conn, SESSION_ROLLBACK_TO);
	if (session->standby && session->job)
		check_standby(session);
}

/* ----------
 * Reading
 * ----------
 */

/*
 * Where rows are counted while they arrive, so that the leader can show
 * progress.
 */
static volatile uint64 *
rows_so_far(const WorkerSession *session)
{
	return &file_results_progress(session->run->results)->rows;
}

/*
 * Read with SQL, which works for any table, and applies privileges and
 * policies.
 */
static uint64
read_by_sql(WorkerSession *session, const DataFile *file, const char *format,
			Sink *sink)
{
	return read_copy(session->conn,
					 &session->run->plan->tables->tables[file->table], file,
					 format, sink, rows_so_far(session));
}

/*
 * Read with the extension.  Returns the number of rows if they are plain
 * text.
 */
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
 * If the extension reads no rows, check with SQL whether there are any: a
 * function that is damaged, or is not what it seems, must not make a table
 * appear empty.
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

/*
 * Read with the extension, and get the number of rows and bytes from it,
 * because they cannot be counted here.
 */
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
