/*
 * leader_plan.c
 *		Has the plan made in the leader's session.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/retry.h"
#include "plan/dump_table.h"
#include "plan/server_extension.h"
#include "progress/progress.h"
#include "replication/subscription.h"
#include "selection/row_filter.h"
#include "selection/row_mask.h"
#include "session/connection.h"
#include "session/session_settings.h"
#include "source/leader_plan.h"
#include "source/leader_watchdog.h"
#include "source/source_check.h"
#include "source/table_check.h"
#include "standby/standby.h"
#include "toc/toc.h"

/* It sees what is committed, statement by statement. */
static void
begin_second_session(const Source *source, PGconn *conn)
{
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
			pg_fatal("could not connect once more to look for changed tables: %s",
					 connection_words(conn));
		interrupt_set_connection(NULL);
		PQfinish(conn);
		pg_usleep(retry_later(&retry) * 1000L);
	}
}

void
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
 * We have locks of our own: until now pg_dump's were all there is.  If the
 * other session is to have its place, pg_dump's end is waited for.
 */
static void
end_pg_dump(const Source *source, StockPgDump *pg_dump)
{
	if (source->second)
		stock_pg_dump_end(pg_dump);
	else
		stock_pg_dump_stop(pg_dump);
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
		pg_log_warning("summaries of the write-ahead log are not used: %s",
					   problem);
	if (history->problem)
		return;
	if (history->xmin > history->xid)
		plan->history = history;
	else
		pg_log_warning("a later run cannot use summaries of the write-ahead log: a transaction had been running for long when the snapshot was taken");
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
	plan->leaves_out_extension = own_extension_leave_out(conn, options, toc);
	plan->tables = tables = dump_tables_read(conn, plan->pg_dump_toc, options,
											 plan->lock_wait_ms);
	end_pg_dump(source, pg_dump);
	check_tables(source, plan);
	if (source->standbys)
		lock_on_standbys(source, plan);
	/* not before: a condition is of the tables that the snapshot has */
	row_filters_apply(conn, options, tables);
	row_masks_apply(conn, options, plan->pg_dump_toc, tables);
	stock_pg_dump_stop(pg_dump);
	progress_end();
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
