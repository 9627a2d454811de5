/*
 * leader.c
 *		Opens the leader's session, takes the snapshot, and makes the plan.
 *
 * pg_dump determines what is dumped: it runs with the leader's snapshot, and
 * writes a table of contents.  The leader locks the tables in it, and checks
 * that no table has changed between the snapshot and its lock, because a
 * snapshot does not protect the definitions of tables.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "options/own_options.h"
#include "process/run_figures.h"
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
 * The plan, which is made in the leader's session.
 * ----------
 */

/*
 * Prepare a session without a transaction: each of its statements sees what
 * is committed, which the leader's snapshot does not show.
 */
static void
begin_second_session(const Source *source, PGconn *conn)
{
	/*
	 * Watch it before the first statement, because the server may stop
	 * responding during any of them.
	 */
	leader_watchdog_watch(conn, source->address, source->options);
	session_set_up(conn, source->options, source->options->encoding);
}

/*
 * Open another session for a short time.  On failure, the connection's status
 * is CONNECTION_BAD.
 */
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
 * Open another session for a short time, and try again on failure: pg_dump
 * has ended, so its place becomes free as soon as the server has noticed
 * that.
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
 * While pg_dump still runs, open the session that will look for changed
 * tables.  With two or more workers the run needs that many connections
 * anyway.  With one worker it may not have one more than pg_dump's, so the
 * session is opened after pg_dump has ended; as it is if this attempt fails.
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
 * Now that the leader holds all locks, check that the tables still are what
 * the snapshot shows, because the archive describes them with the snapshot.
 * Any change between the snapshot and these locks is found, even if pg_dump
 * ended before the leader had its locks, so that waiting sessions got theirs.
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
 * Lock and check the tables on the other standbys too.  Between the snapshot
 * and these locks, replay may have changed tables on one standby earlier than
 * on the leader's.
 */
static void
lock_on_standbys(const Source *source, const DumpPlan *plan)
{
	const Standbys *standbys = source->standbys;

	for (int i = 1; i < standbys->n; i++)
	{
		const Standby *standby = &standbys->list[i];
		PGconn	   *other;

		/*
		 * --check and --dry-run take no snapshot on the other standbys, and
		 * need no locks.
		 */
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

/* Read the table of contents that pg_dump writes in the leader's snapshot. */
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
 * Read which blocks have changed since the previous archive, and prepare the
 * same for the next run.  If this is impossible it is only a warning, because
 * the comparison of fingerprints also finds changed rows, but has to read all
 * blocks.
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
	{
		pg_log_warning("cannot use WAL summaries");
		pg_log_warning_detail("%s", problem);
	}
	if (history->problem)
		return;
	if (history->xmin > history->xid)
		plan->history = history;
	else
	{
		pg_log_warning("a later run cannot use WAL summaries");
		pg_log_warning_detail("A long-running transaction was active when the snapshot was taken.");
	}
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
	 * This comes before the tables are read, because they point to entries of
	 * the table of contents, and removing entries moves the others.
	 */
	plan->leaves_out_extension = own_extension_leave_out(conn, options, toc);
	plan->tables = tables = dump_tables_read(conn, plan->pg_dump_toc, options,
											 plan->lock_wait_ms);

	/*
	 * Until here pg_dump's locks have kept the tables from being dropped; now
	 * the leader holds its own locks, so pg_dump can end.  If the other
	 * session is still to be opened, wait until pg_dump has ended, because it
	 * needs the place.
	 */
	if (source->second)
		stock_pg_dump_end(pg_dump);
	else
		stock_pg_dump_stop(pg_dump);
	check_tables(source, plan);
	if (source->standbys)
		lock_on_standbys(source, plan);

	/*
	 * The checks come first, because a condition refers to tables as the
	 * snapshot shows them.
	 */
	row_filters_apply(conn, options, tables);
	row_masks_apply(conn, options, plan->pg_dump_toc, tables);

	/*
	 * pg_dump was asked to end above, and has had time for it.  Now wait for
	 * its end, so that a worker can have the place of its session.
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
 * The leader's session and the snapshot.
 * ----------
 */

/*
 * Create the replication slot that the user has asked for.  --check and
 * --dry-run only check whether it could be created.
 */
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
 * Connect to the standbys of --also-from.  If one of them is lost its jobs go
 * to the others, which then have more workers than their share.  The check is
 * for the share only.
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

/* Warn if a server has too few connections for the tasks of --tasks. */
static void
check_tasks(const Source *source)
{
	const Standbys *standbys = source->standbys;
	int			n_tasks = (int) source->options->tasks;
	int			n = standbys ? standbys->n : 1;
	int			n_sessions = n_tasks + (n_tasks + n - 1) / n;

	connection_limit_check_tasks(source->conn, n_tasks, n_sessions);
	for (int i = 1; i < n; i++)
		connection_limit_check_tasks(standbys->list[i].conn, n_tasks, n_sessions);
}

static void
begin_session(Source *source, PGconn *conn, const PeerAddress *address)
{
	const Options *options = source->options;

	source->conn = conn;
	source->address = address;

	/*
	 * From now on a signal cancels the statement of this session, instead of
	 * ending the program at once, because a slot or files may have to be
	 * removed.
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

/* Connect, and check the servers as they are before the run. */
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
	 * Check for one worker only if the number is unknown: the user decides
	 * how many tasks run at a time, and concurrent runs for other databases
	 * give up the places that they use now.
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
 * Take the snapshot on one server, or on all standbys.  --check and --dry-run
 * do not pause replay on any standby.
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

	/*
	 * Before the snapshot is taken: a promotion after this is found at the
	 * end.
	 */
	source->on_standby = session_is_true(source->conn, session_recovery_query);
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

		/* Show whether a snapshot can be taken there. */
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

	/*
	 * Look for the extension before the snapshot is taken, because names are
	 * looked up in the current catalogs.
	 */
	plan->extension = extension = server_extension_find(source->conn, options,
														EXTENSION_READS);
	if (own_options_by_wal(options) && extension->missing == NULL)
		source->history = wal_history_begin(source->conn);
	/* The slot also comes first, because it exports the snapshot. */
	source->slot = make_slot(source);
	if (source->standbys)
		standby_check_extension(source->standbys, extension);
	plan->snapshot = begin_snapshot(source, extension, &plan->snapshot_is_sound);
	plan->snapshot_identity = snapshot_identity(source->conn);
	if (source->history)
		wal_history_snapshot_taken(source->conn, source->history);

	/*
	 * On a standby the exporter must live until the end, because the leader's
	 * imported snapshot does not replace it.
	 */
	if (source->slot && source->exporter_query == NULL)
		logical_slot_snapshot_taken(source->slot);
	if (pg_dump)
		stock_pg_dump_start(pg_dump, options, source->address, plan->snapshot);
	server_extension_hold(source->conn, extension);

	/*
	 * Read the WAL position soon after the snapshot, so that they are close.
	 */
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
 * The mark is written in the session that had the snapshot, after its
 * transaction has ended.  As long as that session lives, the server has not
 * crashed, so no commit that the snapshot sees is lost.  Another session
 * could write the mark after a crash that has undone such commits.
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
	pg_log_warning("a later run cannot use WAL summaries");
	pg_log_warning_detail("%s", problem);
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
	 * The workers, which are forked later, take from one budget in shared
	 * memory.
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
	 * The session may be lost during its last statement.  Then it is
	 * replaced, and the transaction of the new session is ended instead.
	 */
	while (!leader_session_is_finished(source->session))
	{
		leader_session_keep(source->session);
		if (source->conn)
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

	/*
	 * The transaction has ended when the last worker has ended.  Without any
	 * rows there was no worker, but the definitions need the same check.
	 */
	if (!source->keep_snapshot)
		leader_finish(source);
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
	if (run_figures_own())
		run_figures_own()->source_is_closed = true;
}
