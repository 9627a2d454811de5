/*
 * leader.c
 *		Opens the leader's session, and prepares it for the workers.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "options/own_options.h"
#include "process/worker_slots.h"
#include "replication/subscription.h"
#include "session/session_settings.h"
#include "session/snapshot.h"
#include "session/table_lock.h"
#include "source/leader.h"
#include "source/leader_session.h"
#include "source/row_filter.h"
#include "source/row_mask.h"
#include "source/standby_overflow.h"
#include "source/worker_monitor.h"
#include "status/run_progress.h"
#include "status/summary.h"

/* ----------
 * Has the plan made in the leader's session.
 * ----------
 */

/* It sees what is committed, statement by statement. */
static void
begin_second_session(const Source *source, PGconn *conn)
{
	/*
	 * Watched before the first statement, as any of them may wait for a
	 * server that stays silent.
	 */
	leader_watchdog_watch(conn, source->address, source->options);
	session_set_up(conn, source->options, source->options->encoding);
}

/* One more for a moment, which may fail: a status of CONNECTION_BAD. */
static PGconn *
try_session(const Source *source, const char *name)
{
	PGconn	   *conn = connection_try_peer(source->address, name);

	interrupt_set_connection(conn);
	if (PQstatus(conn) == CONNECTION_OK)
		begin_second_session(source, conn);
	return conn;
}

/*
 * Another session for a moment, which takes the place of pg_dump's: so there
 * is room for it as soon as the server has noticed that pg_dump is gone.
 */
static PGconn *
open_second_session(const Source *source)
{
	Retry		retry = {0};

	for (;;)
	{
		PGconn	   *conn = try_session(source, "pg_pardump check");

		if (PQstatus(conn) == CONNECTION_OK)
			return conn;
		interrupt_check();
		if (retry.n == (int) source->options->retries)
			pg_fatal("could not open another connection to check for changed tables: %s",
					 connection_words(conn));
		interrupt_set_connection(NULL);
		PQfinish(conn);
		pg_usleep(retry_later(&retry) * 1000L);
	}
}

/*
 * While pg_dump is at work: make the session that will look for changed
 * tables, where workers are going to have as many as two: else there may be
 * no room.  If there is none now, there will be.
 */
static void
leader_plan_prepare(Source *source)
{
	PGconn	   *conn;

	if (source->options->jobs < 2)
		return;
	conn = connection_try_peer(source->address, "pg_pardump check");
	interrupt_check();
	if (PQstatus(conn) != CONNECTION_OK)
	{
		PQfinish(conn);
		return;
	}
	begin_second_session(source, conn);
	source->second = conn;
}

/*
 * Locks are held: what the archive describes by the snapshot must be what
 * they hold.  It makes no difference when it was changed, and whether pg_dump
 * had its locks all the time: it may have ended before ours were there, and
 * have let in who waited for it.
 */
static void
check_tables(Source *source, const DumpPlan *plan)
{
	PGconn	   *other = source->second;

	source->second = NULL;
	if (plan->tables->n_tables > 0)
	{
		if (other == NULL)
			other = open_second_session(source);
		interrupt_set_connection(other);
		session_set_encoding(other, plan->encoding);
		table_check_snapshot(source->conn, other, plan->tables,
							 source->options);
		interrupt_set_connection(source->conn);
	}
	session_close(other);
}

/*
 * The same on further standbys.  Between their snapshots and these locks
 * replay may have changed tables there that it has not, or not yet, where the
 * leader's session is.
 */
static void
lock_on_standbys(const Source *source, const DumpPlan *plan)
{
	const Standbys *standbys = source->standbys;

	for (int i = 1; i < standbys->n; i++)
	{
		const Standby *standby = &standbys->list[i];
		PGconn	   *other;

		/* who only looks has no snapshot there, nor needs locks */
		if (standby->snapshot == NULL)
			continue;
		interrupt_set_connection(standby->conn);
		session_set_encoding(standby->conn, plan->encoding);
		dump_tables_lock(standby->conn, plan->tables, plan->lock_wait_ms);
		other = standby_session(standbys, standby);
		session_set_encoding(other, plan->encoding);
		if (plan->tables->n_tables > 0)
			table_check_snapshot(standby->conn, other, plan->tables,
								 source->options);
		interrupt_set_connection(source->conn);
		session_close(other);
	}
	if (standbys->list[0].snapshot)
		standby_hold_extension(standbys, plan->extension, plan->lock_wait_ms);
}

/* What pg_dump describes in the snapshot. */
static Toc *
read_toc(const Source *source, StockPgDump *pg_dump)
{
	int			status;
	Toc		   *toc = stock_pg_dump_read_toc(pg_dump, &status);

	if (toc == NULL)
	{
		source_check_privileges(source->conn);
		exit(status);
	}
	index_attach_chain(toc);
	return toc;
}

/*
 * What has changed since the previous archive, and whether the next run can
 * ask that.  Fingerprints tell it, too.
 */
static void
read_changes(Source *source, DumpPlan *plan)
{
	const WalHistory *history = source->history;
	const char *problem = history->problem;
	const ChangedBlocks *changes;
	PGconn	   *other;

	if (problem == NULL && plan->previous)
	{
		other = try_session(source, "pg_pardump history");
		changes = wal_changes_read(other, plan->previous, history, &problem);
		interrupt_set_connection(source->conn);
		session_close(other);
		if (changes)
			dump_plan_note_changes(plan, changes);
	}
	if (problem)
		pg_log_warning("cannot use WAL summaries: %s", problem);
	if (history->problem)
		return;
	if (history->xmin > history->xid)
		plan->history = history;
	else
		pg_log_warning("a later run cannot use WAL summaries: a long-running transaction was active when the snapshot was taken");
}

void
leader_plan(Source *source, StockPgDump *pg_dump, DumpPlan *plan)
{
	const Options *options = source->options;
	PGconn	   *conn = source->conn;
	DumpTables *tables;
	Toc		   *toc;

	progress_stage_if_long("plan");
	plan->pg_dump_toc = toc = read_toc(source, pg_dump);
	plan->encoding = toc_encoding(toc);
	session_set_encoding(conn, plan->encoding);

	/*
	 * Before the tables are read: they point to entries of the table of
	 * contents, which moves when entries are left out.
	 */
	plan->leaves_out_extension = own_extension_leave_out(conn, options, toc);
	plan->tables = tables = dump_tables_read(conn, plan->pg_dump_toc, options,
											 plan->lock_wait_ms);

	/*
	 * Until here pg_dump's locks have kept the tables from being dropped, and
	 * now there are our own.  If the other session is to have its place,
	 * pg_dump's end is waited for.
	 */
	if (source->second)
		stock_pg_dump_end(pg_dump);
	else
		stock_pg_dump_stop(pg_dump);
	check_tables(source, plan);
	if (source->standbys)
		lock_on_standbys(source, plan);
	/* not before: a condition is of the tables that the snapshot has */
	row_filters_apply(conn, options, tables);
	row_masks_apply(conn, options, plan->pg_dump_toc, tables);

	/*
	 * It was asked to end above, and had time since.  Now its session must be
	 * gone, so that a worker can have its place among the connections.
	 */
	stock_pg_dump_stop(pg_dump);
	if (options->create_subscription)
		subscription_check(conn, options, plan->pg_dump_toc, tables);
	dump_plan_make(plan, conn, options);
	mask_warnings_give(conn, tables, plan->objects);
	if (plan->fingerprints && source->history)
		read_changes(source, plan);
}

void
leader_plan_tables(Source *source, DumpPlan *plan)
{
	const Options *options = source->options;

	plan->tables = dump_tables_read(source->conn, plan->pg_dump_toc, options,
									plan->lock_wait_ms);
	check_tables(source, plan);
	plan->chunks = chunk_plan_make(options, plan->tables, plan->extension,
								   NULL, server_chunks_read, source->conn);
}

/* ----------
 * Opens the leader's session, and prepares it for the workers.
 * ----------
 */

/* The slot that was asked for; who only looks, looks whether it can be. */
static const LogicalSlot *
make_slot(const Source *source)
{
	const Options *options = source->options;
	PGconn	   *conn = source->conn;

	if (!options->create_slot)
		return NULL;
	slot_check(conn, options);
	if (options->create_subscription)
		publication_check(conn, options);
	findings_report();
	if (options->check)
		slot_check_connection(conn, source->address);
	if (options->check || options->dry_run)
		return NULL;
	return logical_slot_create(conn, source->address, options);
}

/*
 * Others are to be read, too.  If one of them is lost its jobs are for the
 * rest: there may be more on each than its share, so that is what they need.
 */
static void
connect_standbys(Source *source)
{
	const Options *options = source->options;
	Standbys   *standbys;

	if (options->also_from.head == NULL)
		return;
	source->standbys = standbys = standby_open(options, source->conn,
											   source->address, "--also-from");
	standby_check(standbys);
	for (int i = 1; i < standbys->n; i++)
	{
		const Standby *standby = &standbys->list[i];

		(void) server_check(standby->conn, standby->name,
							options->tasks ? 1 : source_share(source));
	}
}

/* What --tasks may need of all servers. */
static void
check_tasks(const Source *source)
{
	const Standbys *standbys = source->standbys;
	int			n_tasks = (int) source->options->tasks;
	int			n = standbys ? standbys->n : 1;
	int			n_sessions = n_tasks + (n_tasks + n - 1) / n;

	connection_limit_check_tasks(source->conn, "the server", n_tasks,
								 n_sessions);
	for (int i = 1; i < n; i++)
		connection_limit_check_tasks(standbys->list[i].conn,
									 psprintf("standby %s", standbys->list[i].name),
									 n_tasks, n_sessions);
}

static void
begin_session(Source *source, PGconn *conn, const PeerAddress *address)
{
	const Options *options = source->options;

	source->conn = conn;
	source->address = address;

	/*
	 * From now on a signal cancels what this session does, instead of ending
	 * the program at once: there may be a slot or files to remove.
	 */
	interrupt_install_leader();
	leader_watchdog_watch(conn, address, options);
	session_set_up(conn, options, options->encoding);
}

void
leader_connect_peer(Source *source, const PeerAddress *address)
{
	begin_session(source, connection_open_peer(address, "pg_pardump"), address);
}

/* Looks at the servers as they are before the run. */
void
leader_connect(Source *source)
{
	const Options *options = source->options;
	PGconn	   *conn = connection_open_leader(options, "pg_pardump");

	begin_session(source, conn,
				  peer_address_new(conn, false, options->connection.dbname,
								   options->password_command));
	server_check_database(conn);

	/*
	 * How many tasks are at work at a time is for who runs them; and what
	 * other runs use now they leave to this one.
	 */
	source->rights = server_check(conn, NULL,
								  options->tasks || worker_slots_are_used() ? 1 :
								  source_share(source));
	(void) worker_processes_have_files((int) options->jobs, 0);
	connect_standbys(source);
	if (options->tasks)
		check_tasks(source);
	findings_report();
}

/*
 * The snapshot, of one server or of all; who only looks does not pause
 * anybody's replay.
 */
static const char *
begin_snapshot(Source *source, ServerExtension *extension, bool *is_sound)
{
	const Options *options = source->options;
	const Standbys *standbys = source->standbys;
	const char *import = source->slot ? source->slot->snapshot :
		options->snapshot;
	OverflowLook look = standby_overflow_look(source->conn,
											  standbys ? &standbys->list[0] : NULL,
											  options, extension);
	char	   *snapshot;

	if (import)
		source->exporter_query = snapshot_exporter_query(source->conn, import);
	if (standbys && !options->check && !options->dry_run)
	{
		standby_snapshot_take(source->standbys, extension, NULL);
		return standbys->list[0].snapshot;
	}
	for (int i = 1; standbys && i < standbys->n; i++)
	{
		OverflowLook other = standby_overflow_look(standbys->list[i].conn,
												   &standbys->list[i],
												   options, extension);

		/* A run that only looks shows whether snapshots can be had there. */
		(void) standby_overflow_wait(&other, 1);
	}
	interrupt_set_connection(source->conn);
	snapshot = standby_overflow_begin(&look, import);
	*is_sound = look.needs_no_check;
	return snapshot;
}

void
leader_open(Source *source, StockPgDump *pg_dump, DumpPlan *plan)
{
	const Options *options = source->options;
	ServerExtension *extension;
	DumpOrigin *origin;
	bool		has_lsn = source->rights.lsn && options->snapshot == NULL;

	/* before the snapshot: names are looked up in catalogs of the present */
	plan->extension = extension = server_extension_find(source->conn, options,
														EXTENSION_READS);
	if (own_options_by_wal(options) && extension->missing == NULL)
		source->history = wal_history_begin(source->conn);
	/* before it, too: a slot brings its own */
	source->slot = make_slot(source);
	if (source->standbys)
		standby_check_extension(source->standbys, extension);
	plan->snapshot = begin_snapshot(source, extension, &plan->snapshot_is_sound);
	plan->snapshot_identity = snapshot_identity(source->conn);
	if (source->history)
		wal_history_snapshot_taken(source->conn, source->history);
	/* on a standby the leader's session does not replace the exporter */
	if (source->slot && source->exporter_query == NULL)
		logical_slot_snapshot_taken(source->slot);
	if (pg_dump)
		stock_pg_dump_start(pg_dump, options, source->address, plan->snapshot);
	server_extension_hold(source->conn, extension);
	/* soon after the snapshot, so that the position in the log is near its */
	plan->origin = origin = dump_origin_read(source->conn, has_lsn,
											 source->rights.system_identifier);
	if (source->slot)
	{
		origin->slot = source->slot->name;
		origin->slot_lsn = source->slot->lsn;
	}
	plan->lock_wait_ms = table_lock_wait_ms(source->conn, options);
	if (pg_dump)
		leader_plan_prepare(source);
}

/*
 * In the session that had the snapshot, whose transaction has ended: as long
 * as that lives the server has not crashed, and what the snapshot saw is not
 * lost.  Another one could leave the mark after a crash that has undone
 * commits the rows were read by.
 */
void
leader_note_history(Source *source, DumpPlan *plan)
{
	const char *problem;

	if (plan->history == NULL)
		return;
	problem = wal_history_note(source->conn, plan->history);
	if (problem == NULL)
		return;
	pg_log_warning("a later run cannot use WAL summaries: %s", problem);
	plan->history = NULL;
}

void
leader_begin_rows(Source *source, const Run *run)
{
	const DumpPlan *plan = run->plan;

	source->reported = pg_malloc0((plan->tables->n_tables + 1) * sizeof(bool));
	run_progress_begin(run);
	advice_give(source->options, plan);

	/*
	 * Before workers are forked, who take from one budget in shared memory.
	 */
	session_set_max_rate(source->options->max_rate);
	leader_session_begin(source, plan);
}

void
leader_attend(Source *source)
{
	progress_tick();
	leader_session_keep(source->session);
	if (source->standbys)
		standby_keep(source->standbys);
	if (source->conn)
		leader_session_check_age(source->session);
}

void
leader_do(Source *source, const WorkerTask *task, int job)
{
	leader_watchdog_watch_rows();
	if (!leader_session_do(source->session, task, job))
		leader_session_keep(source->session);
}

void
leader_finish(Source *source)
{
	/*
	 * The session may be lost at its last statement.  Then it is replaced,
	 * and the end of the transaction is tried again there.
	 */
	while (!leader_session_is_finished(source->session))
	{
		leader_session_keep(source->session);
		leader_session_finish(source->session);
	}
}

void
leader_run_workers(Source *source, const Run *run, const WorkerTask *task)
{
	const DumpPlan *plan = run->plan;
	PoolWatch	watch;

	leader_begin_rows(source, run);
	watch = worker_monitor(source, plan);
	worker_pool_run(task, &watch, source->options->jobs, plan->queue->n_jobs);
	progress_end();
}

void
leader_close(Source *source)
{
	interrupt_set_connection(NULL);
	if (source->standbys)
		standby_close(source->standbys);
	if (source->slot)
		logical_slot_snapshot_taken(source->slot);
	session_close(source->conn);
	source->conn = NULL;
}
