/*-------------------------------------------------------------------------
 *
 * plan_function.c
 *	  The SQL function pg_pardump_chunks(), which divides a table into block
 *	  ranges and returns a row for each.
 *
 * The leader of a dump calls it for each large table.  read/planner.c
 * computes the ranges; this file checks arguments and makes rows.
 *
 * The function does all its work in one call.  After that, only two resources
 * are left: a tuplestore that belongs to the portal, perhaps with a temporary
 * file, and the ACCESS SHARE lock, which is held as long as that of a query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "access/tableam.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "base/server_compat.h"
#include "function/relation_access.h"
#include "function/sql_call.h"
#include "read/planner.h"

PG_FUNCTION_INFO_V1(pg_pardump_chunks);

/* The number of columns in the result of pg_pardump_chunks(). */
#define CHUNK_COLUMNS	5

/*
 * Add a row to the result.  Without has_end, the end of the chunk is NULL.
 * If the number of its rows is negative, it is unknown, and also NULL.
 */
static void
put_chunk(ReturnSetInfo *rsinfo, int chunk_no, const Chunk *chunk,
		  bool has_end)
{
	Datum		values[CHUNK_COLUMNS];
	bool		nulls[CHUNK_COLUMNS] = {false};

	values[0] = Int32GetDatum(chunk_no);
	values[1] = Int64GetDatum((int64) chunk->start_block);
	values[2] = Int64GetDatum((int64) chunk->end_block);
	nulls[2] = !has_end;
	values[3] = Float8GetDatum(chunk->amount.rows);
	nulls[3] = chunk->amount.rows < 0;
	values[4] = Int64GetDatum((int64) rint(chunk->amount.bytes));

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Add a row to the result for each chunk of a heap. */
static void
put_heap_chunks(ReturnSetInfo *rsinfo, Relation rel, int64 chunk_bytes)
{
	ChunkCutter *cutter = chunk_cutter_new(rel, GetActiveSnapshot(),
										   chunk_bytes);
	int			chunk_no = 0;
	Chunk		chunk;

	/* the cutter is freed with the context of the call */
	while (chunk_cutter_next(cutter, &chunk))
	{
		CHECK_FOR_INTERRUPTS();
		put_chunk(rsinfo, ++chunk_no, &chunk, true);
	}
}

/* pg_pardump_chunks(relation regclass, chunk_bytes bigint) */
Datum
pg_pardump_chunks(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext plan_context;
	MemoryContext old_context;
	int64		chunk_bytes;
	Relation	rel;

	check_not_null(fcinfo, 0, "relation");
	check_not_null(fcinfo, 1, "chunk size");
	chunk_bytes = PG_GETARG_INT64(1);
	if (chunk_bytes <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("chunk size must be greater than zero"),
				 errhint("The chunk size is given in bytes.")));

	rel = relation_open_for_planning(PG_GETARG_OID(0));
	InitMaterializedSRF(fcinfo, 0);

	/* memory for planning only: each chunk is stored in the tuplestore */
	plan_context = AllocSetContextCreate(CurrentMemoryContext,
										 "pg_pardump chunks",
										 ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(plan_context);

	if (rel->rd_tableam == GetHeapamTableAmRoutine())
		put_heap_chunks(rsinfo, rel, chunk_bytes);
	else
	{
		/*
		 * Another table access method may number blocks in its own way, or
		 * not store rows in blocks at all, so the relation is one chunk
		 * without an end.  If it was never analyzed, the number of its rows
		 * is unknown.
		 */
		const Chunk whole = {
			.amount.rows = rel->rd_rel->reltuples,
			.amount.bytes = (double) table_relation_size(rel, MAIN_FORKNUM)
		};

		put_chunk(rsinfo, 1, &whole, false);
	}

	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(plan_context);
	/* keep the lock, so that the block ranges contain the same rows later */
	relation_close(rel, NoLock);

	PG_RETURN_NULL();
}
