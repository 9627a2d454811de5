/*-------------------------------------------------------------------------
 *
 * tuple_batch.c
 *	  Gathers new rows of a table and inserts them many at a time.
 *
 * What src/backend/commands/copyfrom.c does by CopyMultiInsertBufferFlush().
 * A batch ends where one of COPY FROM ends, too: functions of constraints and
 * indexes, and errors, meet the table in the same state, and the rows come to
 * lie as they would.  (Longer batches were slower: a batch is to stay in the
 * cache.)  What is saved is that each row is allocated, copied and freed by
 * itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/server_compat.h"
#include "load/bulk_space.h"
#include "load/load_check.h"
#include "load/tuple_batch.h"
#include "load/tuple_former.h"

/* src/backend/commands/copyfrom.c: MAX_BUFFERED_TUPLES, MAX_BUFFERED_BYTES */
#define MAX_TUPLES	1000
#define MAX_BYTES	65535

/* Memory that a batch keeps: more than the rows of most. */
#define KEPT_BYTES		(256 * 1024)

struct TupleBatch
{
	CopyFromState cstate;		/* borrowed, as the next two; or NULL */
	EState	   *estate;
	ResultRelInfo *target;
	TupleFormer *former;
	BulkInsertState bulk;		/* of the whole statement */
	CommandId	command;
	int			options;
	uint64		inserted;
	MemoryContext slot_context; /* the batch's own */
	TupleDesc	slot_desc;		/* of slots, which need not count it */
	MemoryContext tuple_context;	/* reset when a batch is inserted */
	int			n_tuples;
	Size		bytes;
	TupleTableSlot *slots[MAX_TUPLES];	/* NULL from the first unused on */
	uint64		lines[MAX_TUPLES];	/* numbers */
};

/*
 * Slots whose tuples are the batch's: those of heap tuples, but that none is
 * copied when the table asks for a tuple of the slot's own.
 */
static TupleTableSlotOps batch_slot_ops;

static void
keep_tuple(TupleTableSlot *slot)
{
}

TupleBatch *
tuple_batch_new(CopyFromState cstate, EState *estate, ResultRelInfo *target)
{
	TupleBatch *batch = palloc0(sizeof(TupleBatch));

	batch_slot_ops = TTSOpsHeapTuple;
	batch_slot_ops.materialize = keep_tuple;

	batch->cstate = cstate;
	batch->estate = estate;
	batch->target = target;
	batch->former = tuple_former_new(RelationGetDescr(target->ri_RelationDesc));
	batch->bulk = GetBulkInsertState();
	/* a COPY is all of its rows, and leaves the table as the server's does */
	if (cstate == NULL)
		bulk_space_take(target->ri_RelationDesc, batch->bulk);
	batch->command = GetCurrentCommandId(true);
	/* as CopyFrom(): do not look for free space in what is new */
	if (relation_is_new(target->ri_RelationDesc))
		batch->options = TABLE_INSERT_SKIP_FSM;
	if (cstate != NULL && cstate->opts.freeze)
		batch->options |= TABLE_INSERT_FROZEN;
	batch->slot_context = CurrentMemoryContext;
	batch->slot_desc = CreateTupleDescCopy(RelationGetDescr(target->ri_RelationDesc));
	batch->tuple_context = AllocSetContextCreate(CurrentMemoryContext,
												 "pg_pardump tuples",
												 KEPT_BYTES, KEPT_BYTES,
												 ALLOCSET_DEFAULT_MAXSIZE);
	return batch;
}

/* Put a tuple of the batch into its next slot. */
static void
store_tuple(TupleBatch *batch, HeapTuple tuple)
{
	Relation	rel = batch->target->ri_RelationDesc;
	TupleTableSlot **place = &batch->slots[batch->n_tuples];
	HeapTupleTableSlot *slot;

	if (*place == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(batch->slot_context);

		*place = MakeSingleTupleTableSlot(batch->slot_desc,
										  &batch_slot_ops);
		MemoryContextSwitchTo(old_context);
	}
	slot = (HeapTupleTableSlot *) *place;
	slot->tuple = tuple;
	slot->off = 0;
	slot->base.tts_nvalid = 0;
	slot->base.tts_flags &= ~TTS_FLAG_EMPTY;
	slot->base.tts_tableOid = RelationGetRelid(rel);
}

/* Index entries of the inserted rows, each told to be of its line of COPY. */
static void
insert_into_indexes(TupleBatch *batch)
{
	for (int i = 0; i < batch->n_tuples; i++)
	{
		if (batch->cstate != NULL)
			batch->cstate->cur_lineno = batch->lines[i];
		list_free(insert_index_entries(batch->target, batch->slots[i],
									   batch->estate));
	}
}

static void
insert_batch(TupleBatch *batch)
{
	MemoryContext old_context = MemoryContextSwitchTo(batch->tuple_context);

	table_multi_insert(batch->target->ri_RelationDesc, batch->slots,
					   batch->n_tuples, batch->command, batch->options,
					   batch->bulk);
	MemoryContextSwitchTo(old_context);
	if (batch->target->ri_NumIndices > 0)
		insert_into_indexes(batch);
	load_check_triggers_off(batch->target->ri_RelationDesc,
							batch->target->ri_TrigDesc);
	for (int i = 0; i < batch->n_tuples; i++)
		ExecClearTuple(batch->slots[i]);
	MemoryContextReset(batch->tuple_context);

	batch->inserted += batch->n_tuples;
	batch->n_tuples = 0;
	batch->bytes = 0;
}

/* The same, of the lines of a COPY. */
static void
insert_lines(TupleBatch *batch)
{
	CopyFromState cstate = batch->cstate;
	bool		line_buf_valid = cstate->line_buf_valid;
	uint64		line = cstate->cur_lineno;

	/* in error messages, the text of another line would mislead */
	cstate->line_buf_valid = false;
	insert_batch(batch);
	cstate->line_buf_valid = line_buf_valid;
	cstate->cur_lineno = line;
	pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED,
								 batch->inserted);
}

static void
insert_rows(TupleBatch *batch)
{
	if (batch->cstate != NULL)
		insert_lines(batch);
	else
		insert_batch(batch);
}

MemoryContext
tuple_batch_context(const TupleBatch *batch)
{
	return batch->tuple_context;
}

int
tuple_batch_options(const TupleBatch *batch)
{
	return batch->options;
}

void
tuple_batch_add_tuple(TupleBatch *batch, HeapTuple tuple, Size bytes)
{
	store_tuple(batch, tuple);
	if (batch->cstate != NULL)
		batch->lines[batch->n_tuples] = batch->cstate->cur_lineno;
	batch->n_tuples++;
	batch->bytes += bytes;
	if (batch->n_tuples == MAX_TUPLES || batch->bytes >= MAX_BYTES)
		insert_rows(batch);
}

void
tuple_batch_add(TupleBatch *batch, Datum *values, bool *isnull, Size bytes)
{
	MemoryContext old_context = MemoryContextSwitchTo(batch->tuple_context);
	HeapTuple	tuple = tuple_former_form(batch->former, values, isnull);

	MemoryContextSwitchTo(old_context);
	tuple_batch_add_tuple(batch, tuple, bytes);
}

uint64
tuple_batch_end(TupleBatch *batch)
{
	if (batch->n_tuples > 0)
		insert_rows(batch);
	/* those of the statement fire without any row, too */
	load_check_triggers_off(batch->target->ri_RelationDesc,
							batch->target->ri_TrigDesc);
	if (batch->cstate == NULL)
		bulk_space_keep(batch->target->ri_RelationDesc, batch->bulk);
	FreeBulkInsertState(batch->bulk);
	for (int i = 0; i < MAX_TUPLES && batch->slots[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(batch->slots[i]);
	table_finish_bulk_insert(batch->target->ri_RelationDesc, batch->options);
	return batch->inserted;
}
