/*
 * leader_plan.h
 *		Has the plan made in the leader's session, which has the snapshot.
 */
#ifndef LEADER_PLAN_H
#define LEADER_PLAN_H

#include "source/source.h"
#include "stock/stock_pg_dump.h"

/*
 * While pg_dump is at work: make the session that will look for changed
 * tables, where workers are going to have as many as two: else there may be
 * no room.  If there is none now, there will be.
 */
extern void leader_plan_prepare(Source *source);

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

#endif							/* LEADER_PLAN_H */
