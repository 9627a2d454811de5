/*
 * leader.c
 *		Opens the leader's session, and reads the plan in it.
 */
#include "base/fe_compat.h"

#include "base/findings.h"
#include "base/interrupt.h"
#include "plan/row_filter.h"
#include "progress/progress.h"
#include "replication/publication.h"
#include "replication/slot_check.h"
#include "session/session_settings.h"
#include "session/snapshot.h"
#include "session/table_lock.h"
#include "session/traffic.h"
#include "source/leader.h"
#include "source/leader_watchdog.h"
#include "source/server_check.h"
#include "source/source_check.h"
#include "source/table_check.h"
#include "status/advice.h"
#include "status/progress_rows.h"
#include "toc/index_attach.h"

/* The encoding of pg_dump's names and statements, and so of all data. */
static char *
archive_encoding(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		const char *begin;
		const char *end;

		if (!toc_entry_is(entry, "ENCODING") || entry->defn == NULL)
			continue;
		/* SET client_encoding = 'name'; */
		begin = strchr(entry->defn, '\'');
		end = begin ? strchr(begin + 1, '\'') : NULL;
		if (end)
			return pnstrdup(begin + 1, end - begin - 1);
	}
	pg_fatal("pg_dump does not say the encoding of its output");
}

/* The slot that was asked for; who only looks, looks whether it can be. */
static const LogicalSlot *
make_slot(const DumpContext *context, PGconn *conn)
{
	const Options *options = context->options;

	if (!options->create_slot)
		return NULL;
	slot_check(conn, options);
	server_health_check_feedback(conn);
	if (options->create_subscription)
		publication_check(conn, options);
	findings_settle();
	if (options->check)
		slot_check_connection(conn, context->address);
	if (options->check || options->dry_run)
		return NULL;
	return logical_slot_create(conn, context->address, options);
}

PGconn *
leader_open(DumpContext *context)
{
	PGconn	   *conn = connection_open_leader(context->options, "pg_pardump");
	ServerExtension *extension;

	interrupt_install_leader();
	context->address = peer_address_new(conn, false);
	leader_watchdog_watch(conn, context->address, context->options);
	session_set_up(conn, context->options, context->options->encoding);
	server_health_check_connections(conn, context->options->jobs);
	server_health_check_age(conn);
	server_health_check_snapshots(conn);
	server_health_check_delays(conn);
	findings_settle();
	extension = server_extension_find(conn, context->options);
	context->extension = extension;
	context->slot = make_slot(context, conn);
	context->snapshot = snapshot_begin_leader(conn, context->options,
											  context->slot ? context->slot->snapshot :
											  context->options->snapshot);
	if (context->slot)
		logical_slot_snapshot_taken(context->slot);
	server_extension_hold(conn, extension);
	context->origin = dump_origin_read(conn, context->options);
	context->lock_wait_ms = session_lock_wait_ms(conn, context->options);
	return conn;
}

/*
 * Another session for a moment, which takes the place of pg_dump's: so there
 * is room for it as soon as the server has noticed that pg_dump is gone.
 */
static PGconn *
open_second_session(const DumpContext *context)
{
	int			max_retries = (int) context->options->retries;

	for (int retries = 0;; retries++)
	{
		PGconn	   *conn = connection_try_peer(context->address,
											   "pg_pardump check");

		interrupt_set_connection(conn);
		if (PQstatus(conn) == CONNECTION_OK)
			return conn;
		interrupt_check();
		if (retries == max_retries)
			pg_fatal("could not connect once more to look for changed tables: %s",
					 PQerrorMessage(conn));
		interrupt_set_connection(NULL);
		PQfinish(conn);
		pg_usleep(worker_pool_retry_delay_ms(retries) * 1000L);
	}
}

/*
 * Locks are held: what the archive describes by the snapshot must be what
 * they hold.  It makes no difference when it was changed, and whether pg_dump
 * had its locks all the time: it may have ended before ours were there, and
 * have let in who waited for it.
 */
static void
check_tables(DumpContext *context, PGconn *conn)
{
	PGconn	   *other;

	if (context->tables->n_tables == 0)
		return;
	other = open_second_session(context);
	leader_watchdog_watch(other, context->address, context->options);
	session_set_up(other, context->options, context->encoding);
	table_check_snapshot(conn, other, context->tables, context->options);
	interrupt_set_connection(conn);
	PQfinish(other);
}

Toc *
leader_read_plan(DumpContext *context, PGconn *conn,
				 StockPgDump *pg_dump)
{
	int			status;
	Toc		   *toc;
	DumpTables *tables;

	progress_stage_if_long("plan");
	toc = stock_pg_dump_read_toc(pg_dump, context->options, context->address,
								 context->snapshot, &status);
	if (toc == NULL)
	{
		source_check_privileges(conn);
		exit(status);
	}
	index_attach_chain(toc);
	context->encoding = archive_encoding(toc);
	session_set_encoding(conn, context->encoding);
	tables = dump_tables_read(conn, toc, context->options,
							  context->lock_wait_ms);
	context->tables = tables;
	stock_pg_dump_stop(pg_dump);
	check_tables(context, conn);
	row_filters_apply(conn, context->options, tables);
	progress_end();
	return toc;
}

/* ----------
 * While workers work
 * ----------
 */
static void
worker_begins(void *arg, int worker)
{
	leader_session_worker_begins(((DumpContext *) arg)->leader, worker);
}

static void
worker_is_gone(void *arg, int worker)
{
	leader_session_worker_is_gone(((DumpContext *) arg)->leader, worker);
}

static int
watch_fd(void *arg)
{
	return leader_session_watch_fd(((DumpContext *) arg)->leader);
}

static bool
attend(void *arg, bool all_done)
{
	DumpContext *context = arg;

	progress_tick();
	return leader_session_attend(context->leader, all_done,
								 !context->keep_snapshot);
}

PoolWatch
leader_watch(DumpContext *context)
{
	PoolWatch	watch = {
		.arg = context,
		.begins = worker_begins,
		.is_gone = worker_is_gone,
		.watch_fd = watch_fd,
		.attend = attend,
	};

	return watch;
}

bool
leader_run_refused(DumpContext *context,
				   void (*do_job) (void *arg, int job), void *arg, int job)
{
	leader_watchdog_watch_rows();
	return leader_session_do(context->leader, do_job, arg, job);
}

PGconn *
leader_run_workers(DumpContext *context, PGconn *conn,
				   const WorkerTask *task)
{
	PoolWatch	watch = leader_watch(context);
	LeaderSessionPlan session = {
		.options = context->options,
		.address = context->address,
		.encoding = context->encoding,
		.snapshot = context->snapshot,
		.tables = context->tables,
		.extension = context->extension,
		.lock_wait_ms = context->lock_wait_ms,
		.n_workers = context->options->jobs,
	};

	context->told = pg_malloc0((context->tables->n_tables + 1) * sizeof(bool));
	progress_rows_begin(context);
	advice_give(context);
	traffic_set_max_rate(context->options->max_rate);
	context->leader = leader_session_new(conn, &session);
	worker_pool_run(task, &watch, context->options->jobs,
					context->queue->n_jobs);
	progress_end();
	return leader_session_conn(context->leader);
}
