/*
 * leader.h
 *		The leader of a dump, or of a direct copy, on the server that rows are
 *		read from.
 *
 * The leader's session takes the snapshot, holds the locks on all tables, and
 * makes the plan.  While workers read the rows, the leader keeps this
 * session, because other sessions can only import the snapshot as long as a
 * session has it.
 */
#ifndef LEADER_H
#define LEADER_H

#include "source/source.h"
#include "status/run.h"
#include "stock/stock_pg_dump.h"

/* ----------
 * The plan, which is made in the leader's session with the snapshot.
 * ----------
 */

/*
 * Read from pg_dump what is to be dumped, lock all tables, and make the plan.
 * Exits with a message if a table differs from what the snapshot shows (see
 * table_check_snapshot()).
 */
extern void leader_plan(Source *source, StockPgDump *pg_dump, DumpPlan *plan);

/*
 * Make the plan without pg_dump: it already contains a table of contents with
 * the OIDs of the tables, and the encoding.  Plans tables and chunks; the
 * caller adds large objects and jobs.
 */
extern void leader_plan_tables(Source *source, DumpPlan *plan);

/*
 * Connect to the server; source->options must be set.  Exits with a message
 * if the server cannot be used for the run.
 */
extern void leader_connect(Source *source);

/*
 * Connect to a server that the run uses already, and has checked.  The
 * address must exist as long as the source.
 */
extern void leader_connect_peer(Source *source, const PeerAddress *address);

/*
 * Take the snapshot that all other sessions import, and fill in the source,
 * and the members of the plan that describe this moment.  Unless pg_dump is
 * NULL, it is started; it runs while the caller does other things.
 */
extern void leader_open(Source *source, StockPgDump *pg_dump, DumpPlan *plan);

/*
 * Call this before the plan is executed: from now on leader_session.h keeps
 * the leader's session, and progress of the rows is shown.
 */
extern void leader_begin_rows(Source *source, const Run *run);

/*
 * For dumps whose rows are read by tasks, and not by workers of this process.
 * leader_attend() is to be called several times a second.  leader_do() does a
 * job whose tables no task can lock.  leader_finish() ends the transaction
 * after all rows have been read: its success proves that the session has held
 * its locks all the time.
 */
extern void leader_attend(Source *source);
extern void leader_do(Source *source, const WorkerTask *task, int job);
extern void leader_finish(Source *source);

/*
 * Have workers do all jobs of the plan.  Meanwhile the leader's session is
 * kept, or replaced, and progress is shown.  Workers open their sessions with
 * worker_session_open().
 */
extern void leader_run_workers(Source *source, const Run *run,
							   const WorkerTask *task);

/*
 * After all rows were read: write a mark into the history of the server, if
 * the manifest refers to one.  If that fails there is a warning, and the
 * manifest does not refer to it.
 */
extern void leader_note_history(Source *source, DumpPlan *plan);

/* Close the session, when neither snapshot nor locks are needed any more. */
extern void leader_close(Source *source);

#endif							/* LEADER_H */
