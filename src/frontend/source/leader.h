/*
 * leader.h
 *		The leader's session on the server that is dumped or copied from.
 *
 * These fill in what DumpContext says of the source: address, snapshot,
 * encoding, tables.
 */
#ifndef LEADER_H
#define LEADER_H

#include "plan/dump_context.h"
#include "process/worker_pool.h"
#include "stock/stock_pg_dump.h"

/* Connect, and take the snapshot that all others import. */
extern PGconn *leader_open(DumpContext *context);

/*
 * Learn from stock pg_dump what to dump, and lock it all.  Exits with a
 * message if a table is not what it is in the snapshot (see
 * table_check_snapshot()).
 */
extern Toc *leader_read_plan(DumpContext *context, PGconn *conn,
							 StockPgDump *pg_dump);

/*
 * Have workers do all jobs of the queue, while the leader's session is kept,
 * or replaced, and progress is shown.  Returns that session.
 */
extern PGconn *leader_run_workers(DumpContext *context, PGconn *conn,
								  const WorkerTask *task);

/*
 * In the pool's run_refused(): do a job in the leader's session, by this
 * function.  False if a connection was lost.
 */
extern bool leader_run_refused(DumpContext *context,
							   void (*do_job) (void *arg, int job),
							   void *arg, int job);

/* What the leader does meanwhile; for more workers with its snapshot. */
extern PoolWatch leader_watch(DumpContext *context);

#endif							/* LEADER_H */
