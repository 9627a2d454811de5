/*
 * leader.h
 *		The leader of a dump, or of a direct copy, on the server that rows are
 *		read from: its session, the plan that it has made, and what it does
 *		while workers work.
 */
#ifndef LEADER_H
#define LEADER_H

#include "source/source.h"
#include "status/run.h"
#include "stock/stock_pg_dump.h"

/* ----------
 * Has the plan made in the leader's session, which has the snapshot.
 * ----------
 */

/*
 * Learn from pg_dump what to dump, lock it all, and make the plan.  Exits
 * with a message if a table is not what it is in the snapshot (see
 * table_check_snapshot()).
 */
extern void leader_plan(Source *source, StockPgDump *pg_dump, DumpPlan *plan);

/*
 * The same without pg_dump: the plan has a table of contents with the OIDs of
 * the tables, and the encoding.  Tables and chunks are planned; large objects
 * and jobs are left to the caller.
 */
extern void leader_plan_tables(Source *source, DumpPlan *plan);

/*
 * Connect.  The source has its options.  Exits with a message if the server
 * is not fit for the run.
 */
extern void leader_connect(Source *source);

/*
 * Connect to a server that the run uses already, and has checked.  The
 * address must outlive the source.
 */
extern void leader_connect_peer(Source *source, const PeerAddress *address);

/*
 * Take the snapshot that all others import.  What else the source has, and
 * what the plan says of this moment, is filled in.  Stock pg_dump, unless it
 * is NULL, begins to tell what to dump; the caller may do other things until
 * it has.
 */
extern void leader_open(Source *source, StockPgDump *pg_dump, DumpPlan *plan);

/*
 * The plan is carried out from now on: the leader's session is kept by
 * leader_session.h, and the progress of rows is shown.
 */
extern void leader_begin_rows(Source *source, const Run *run);

/*
 * Where tasks do the work, and not workers of this process: several times a
 * second; do a job here that none of them can lock the tables of; and when
 * all is read, end the transaction: its success proves that the session has
 * had its locks all the time.
 */
extern void leader_attend(Source *source);
extern void leader_do(Source *source, const WorkerTask *task, int job);
extern void leader_finish(Source *source);

/*
 * Have workers do all jobs of the plan, while the leader's session is kept,
 * or replaced, and progress is shown.  A worker's session is
 * worker_session_open()'s.
 */
extern void leader_run_workers(Source *source, const Run *run,
							   const WorkerTask *task);

/*
 * All rows are read: leave a mark in the history of the server, if the
 * manifest is to tell one.  Else, after a warning, it is not.
 */
extern void leader_note_history(Source *source, DumpPlan *plan);

/* Snapshot and locks are of no more use. */
extern void leader_close(Source *source);

#endif							/* LEADER_H */
