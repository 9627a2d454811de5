/*-------------------------------------------------------------------------
 *
 * pg_pardump.c
 *	  SQL-callable entry points of the pg_pardump extension.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "chunk_plan.h"
#include "relation_sample.h"
#include "server_compat.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(pg_pardump_chunks);

/* Columns of pg_pardump_chunks()'s result. */
#define CHUNK_COLUMNS	5

/* What to do instead, for a relation that holds no rows of its own. */
static const char *
relkind_hint(char relkind)
{
	switch (relkind)
	{
		case RELKIND_PARTITIONED_TABLE:
			return "A partitioned table stores no rows itself; plan each of its leaf partitions, see pg_partition_tree().";
		case RELKIND_VIEW:
			return "A view stores no rows; plan the tables it reads.";
		case RELKIND_FOREIGN_TABLE:
			return "The rows of a foreign table are on another server and have no blocks here; dump it as a whole.";
		case RELKIND_INDEX:
		case RELKIND_PARTITIONED_INDEX:
			return "Name the table, not its index.";
		case RELKIND_SEQUENCE:
			return "A sequence has one row and needs no chunks.";
		case RELKIND_COMPOSITE_TYPE:
			return "A composite type stores no rows.";
		case RELKIND_TOASTVALUE:
			return "The values in a TOAST table are counted with the table that owns it; name that one.";
		default:
			return "Only tables and materialized views have chunks.";
	}
}

/*
 * Raise an error unless the relation is of a kind that has chunks and the
 * current user may read all of it.
 */
static void
check_relation_access(Oid relid)
{
	char		relkind = get_rel_relkind(relid);
	AclResult	aclresult;

	if (relkind == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view",
						get_rel_name(relid)),
				 errhint("%s", relkind_hint(relkind))));

	aclresult = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	if (aclresult != ACLCHECK_OK)
		aclcheck_error(aclresult, get_relkind_objtype(relkind),
					   get_rel_name(relid));
}

/*
 * Open and lock the relation to plan.  The lock is kept up to the end of the
 * transaction, so that the block ranges stay what they are while the caller
 * reads them: VACUUM cannot truncate, nothing can rewrite the table.
 */
static Relation
open_planned_relation(Oid relid)
{
	Relation	rel;

	/* Whoever may not read the table shall not be able to lock it either. */
	check_relation_access(relid);

	rel = try_relation_open(relid, AccessShareLock);

	/* It may have changed, or gone, while we waited for the lock. */
	check_relation_access(relid);
	if (rel == NULL)
		elog(ERROR, "could not open relation with OID %u", relid);

	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));

	/* A standby has no data of such relations. */
	if (!RelationIsPermanent(rel) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));

	return rel;
}

static void
put_chunk(ReturnSetInfo *rsinfo, int chunk_no, const Chunk *chunk)
{
	Datum		values[CHUNK_COLUMNS];
	bool		nulls[CHUNK_COLUMNS] = {false};

	values[0] = Int32GetDatum(chunk_no);
	values[1] = Int64GetDatum((int64) chunk->start_block);
	values[2] = Int64GetDatum((int64) chunk->end_block);
	values[3] = Float8GetDatum(chunk->amount.rows);
	values[4] = Int64GetDatum((int64) rint(chunk->amount.bytes));

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
put_heap_chunks(ReturnSetInfo *rsinfo, Relation rel, int64 chunk_bytes)
{
	RelationSample *sample = relation_sample(rel, GetActiveSnapshot());
	ChunkPlan  *plan = chunk_plan_new(sample, chunk_bytes);
	int			chunk_no = 0;
	Chunk		chunk;

	while (chunk_plan_next(plan, &chunk))
	{
		CHECK_FOR_INTERRUPTS();
		put_chunk(rsinfo, ++chunk_no, &chunk);
	}
	chunk_plan_free(plan);
}

/*
 * What a block number means to another table access method, and whether a row
 * can be found by it, is unknown: the relation is one chunk with an open end.
 */
static void
put_whole_relation(ReturnSetInfo *rsinfo, Relation rel)
{
	Datum		values[CHUNK_COLUMNS];
	bool		nulls[CHUNK_COLUMNS] = {false};

	values[0] = Int32GetDatum(1);
	values[1] = Int64GetDatum(0);
	values[2] = (Datum) 0;
	nulls[2] = true;
	values[3] = Float8GetDatum(rel->rd_rel->reltuples);
	nulls[3] = rel->rd_rel->reltuples < 0;	/* never analyzed */
	values[4] = Int64GetDatum((int64) table_relation_size(rel, MAIN_FORKNUM));

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * pg_pardump_chunks(relation regclass, chunk_bytes bigint)
 *
 * Not strict: no rows for a NULL argument would look like nothing to dump.
 */
Datum
pg_pardump_chunks(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext plan_context;
	MemoryContext old_context;
	int64		chunk_bytes;
	Relation	rel;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("relation and chunk size must not be null")));

	chunk_bytes = PG_GETARG_INT64(1);
	if (chunk_bytes <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("chunk size must be greater than zero"),
				 errhint("The chunk size is given in bytes.")));

	rel = open_planned_relation(PG_GETARG_OID(0));
	InitMaterializedSRF(fcinfo, 0);

	plan_context = AllocSetContextCreate(CurrentMemoryContext,
										 "pg_pardump chunks",
										 ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(plan_context);

	if (rel->rd_tableam == GetHeapamTableAmRoutine())
		put_heap_chunks(rsinfo, rel, chunk_bytes);
	else
		put_whole_relation(rsinfo, rel);

	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(plan_context);
	relation_close(rel, NoLock);

	PG_RETURN_NULL();
}
