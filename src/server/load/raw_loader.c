/*-------------------------------------------------------------------------
 *
 * raw_loader.c
 *	  Inserts blocks of raw tuples into a table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/server_compat.h"
#include "load/load_check.h"
#include "load/raw_loader.h"
#include "load/raw_rows.h"
#include "load/toast_writer.h"
#include "load/tuple_batch.h"
#include "raw/raw_block.h"
#include "raw/raw_type.h"

/* One block on its way.  All of it is the statement's. */
typedef struct RawLoader
{
	Relation	rel;			/* borrowed */
	EState	   *estate;
	ResultRelInfo *target;
	TupleTableSlot *slot;		/* the row for constraints */
	bool		has_not_null;	/* constraints */
	bool		has_others;		/* constraints, on values */
	RawRows    *rows;
	TupleBatch *batch;
} RawLoader;

static const char *
why_not_these_columns(Relation rel)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (TupleDescAttr(tupdesc, i)->attisdropped)
			return "it has dropped columns";
	}
	return raw_columns_reason(tupdesc);
}

const char *
raw_loader_reason(Relation rel)
{
	const char *reason = load_check_kind(rel);

	if (reason == NULL)
		reason = load_check_constraints(rel);
	if (reason == NULL)
		reason = why_not_these_columns(rel);
	return reason;
}

/* Can the row break a constraint? */
static inline bool
needs_check(const RawLoader *loader, const RawRow *row)
{
	return loader->has_others ||
		(loader->has_not_null && HeapTupleHasNulls(row->tuple));
}

/* Raise an error if the row does not fit the table's constraints. */
static void
check_constraints(RawLoader *loader, const RawRow *row)
{
	TupleTableSlot *slot = loader->slot;
	int			natts = RelationGetNumberOfAttributes(loader->rel);

	ResetPerTupleExprContext(loader->estate);
	ExecClearTuple(slot);
	memcpy(slot->tts_values, row->values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(loader->rel);
	if (RelationGetDescr(loader->rel)->constr != NULL)
		ExecConstraints(loader->target, slot, loader->estate);
	if (loader->rel->rd_rel->relispartition)
		ExecPartitionCheck(loader->target, slot, loader->estate, true);
}

/* The tuple to insert: the row's own, or one whose values go out of line. */
static HeapTuple
tuple_of_batch(RawLoader *loader, const RawRow *row)
{
	if (row->n_external == 0)
		return row->tuple;
	return toast_writer_form(loader->rel, row->values, row->isnull,
							 row->external, row->n_external,
							 tuple_batch_options(loader->batch));
}

/* Read, check and insert all rows: how many. */
static uint64
load_rows(RawLoader *loader)
{
	MemoryContext old_context = MemoryContextSwitchTo(tuple_batch_context(loader->batch));
	RawRow		row;
	uint64		n_rows = 0;

	while (raw_rows_next(loader->rows, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (needs_check(loader, &row))
			check_constraints(loader, &row);
		tuple_batch_add_tuple(loader->batch, tuple_of_batch(loader, &row),
							  row.tuple->t_len);
		n_rows++;
	}
	MemoryContextSwitchTo(old_context);
	return n_rows;
}

/* Tell with any error where it was met. */
static void
add_place(void *arg)
{
	RawLoader  *loader = arg;

	errcontext("raw tuples of table \"%s\", up to row %u of a block",
			   RelationGetRelationName(loader->rel),
			   raw_rows_number(loader->rows));
}

static void
begin_load(RawLoader *loader, Relation rel, const RawBlock *block)
{
	const TupleConstr *constr = RelationGetDescr(rel)->constr;

	loader->rel = rel;
	loader->estate = CreateExecutorState();
	MemoryContextSwitchTo(loader->estate->es_query_cxt);
	loader->target = new_result_rel_info();
	InitResultRelInfo(loader->target, rel, 0, NULL, 0);
	ExecOpenIndices(loader->target, false);
	loader->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel),
											&TTSOpsVirtual);
	loader->has_not_null = constr != NULL && constr->has_not_null;
	loader->has_others = rel->rd_rel->relispartition ||
		(constr != NULL && constr->num_check > 0);
	loader->rows = raw_rows_new(RelationGetDescr(rel), block);
	loader->batch = tuple_batch_new(NULL, loader->estate, loader->target);
}

void
raw_loader_insert(Relation rel, bytea *block, uint64 *n_rows, uint64 *n_bytes)
{
	MemoryContext old_context = CurrentMemoryContext;
	RawLoader	loader;
	RawBlock	raw;
	ErrorContextCallback place = {error_context_stack, add_place, &loader};

	raw_block_open(&raw, block, RelationGetDescr(rel));
	begin_load(&loader, rel, &raw);
	error_context_stack = &place;
	*n_rows = load_rows(&loader);
	tuple_batch_end(loader.batch);
	error_context_stack = place.previous;
	*n_bytes = raw.frame_bytes;

	MemoryContextSwitchTo(old_context);
	ExecDropSingleTupleTableSlot(loader.slot);
	ExecCloseIndices(loader.target);
	FreeExecutorState(loader.estate);
}
