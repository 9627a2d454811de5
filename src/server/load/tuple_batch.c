/*-------------------------------------------------------------------------
 *
 * tuple_batch.c
 *	  Gathers new rows of a table and inserts them many at a time.
 *
 * This is the work of CopyMultiInsertBufferFlush()
 * (src/backend/commands/copyfrom.c).  A batch ends where one of COPY FROM
 * ends, too: functions of constraints and indexes, and errors, find the table
 * in the same state, and the rows are stored in the same places.  (Longer
 * batches were slower: a batch is to stay in the cache.)  What is saved is
 * that each row is allocated, copied and freed by itself.
 *
 * The file has three parts: one forms tuples, one keeps the pages that a
 * statement has added to a table for the next statement, and one gathers the
 * tuples and inserts them.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/tupdesc.h"
#include "access/tupmacs.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "base/server_compat.h"
#include "load/load_check.h"
#include "load/tuple_batch.h"

/* ----------
 * Forms tuples of a table, of values that have just been decoded.
 *
 * heap_form_tuple() goes through the columns three times, and through the
 * tuple twice, as it zeroes it first.  Here one look at the values of
 * variable length says how much room is enough, and then they are written,
 * with what the table's descriptor says of a column in a few bytes.
 * ----------
 */

typedef struct FormedColumn
{
	int16		len;			/* attlen */
	bool		by_value;
	bool		is_packable;	/* may have a header of one byte */
	uint8		align_mask;
} FormedColumn;

typedef struct TupleFormer
{
	TupleDesc	tupdesc;		/* borrowed */
	int			n_columns;
	Size		fixed_room;		/* enough for all but what has a length */
	FormedColumn columns[FLEXIBLE_ARRAY_MEMBER];
} TupleFormer;

/*
 * A former of tuples of this descriptor.  Allocates in CurrentMemoryContext.
 */
static TupleFormer *
tuple_former_new(TupleDesc tupdesc)
{
	int			n = tupdesc->natts;
	TupleFormer *former = palloc0(offsetof(TupleFormer, columns) +
								  n * sizeof(FormedColumn));

	former->tupdesc = tupdesc;
	former->n_columns = n;
	former->fixed_room = HEAPTUPLESIZE +
		MAXALIGN(offsetof(HeapTupleHeaderData, t_bits) + BITMAPLEN(n));
	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, i);
		FormedColumn *column = &former->columns[i];

		column->len = attribute->attlen;
		column->by_value = attribute->attbyval;
		column->is_packable = attribute->attstorage != TYPSTORAGE_PLAIN;
		column->align_mask = att_align_nominal(1, attribute->attalign) - 1;
		former->fixed_room += column->align_mask + Max(column->len, 0);
	}
	return former;
}

/*
 * How much room is enough for the tuple, or 0 if it is not one for us: with a
 * value out of line or expanded, or a cstring.  *has_null: is there a NULL?
 */
static inline Size
enough_room(const TupleFormer *former, const Datum *values,
			const bool *isnull, bool *has_null)
{
	Size		room = former->fixed_room;
	bool		any_null = false;

	for (int i = 0; i < former->n_columns; i++)
	{
		const FormedColumn *column = &former->columns[i];

		any_null |= isnull[i];
		if (column->len >= 0 || isnull[i])
			continue;
		if (column->len != -1 ||
			VARATT_IS_EXTERNAL(DatumGetPointer(values[i])))
			return 0;
		room += VARSIZE_ANY(DatumGetPointer(values[i]));
	}
	*has_null = any_null;
	return room;
}

static inline char *
put_padding(char *to, uint8 align_mask)
{
	while (((uintptr_t) to & align_mask) != 0)
		*to++ = '\0';
	return to;
}

/*
 * As fill_val() (heaptuple.c): a value gets a short header where it can,
 * which is not aligned, and one that has a short header keeps it.
 */
static inline char *
put_varlena(char *to, const FormedColumn *column, const struct varlena *value)
{
	Size		size;

	if (VARATT_IS_SHORT(value))
	{
		size = VARSIZE_SHORT(value);
		memcpy(to, value, size);
	}
	else if (column->is_packable && VARATT_CAN_MAKE_SHORT(value))
	{
		size = VARATT_CONVERTED_SHORT_SIZE(value);
		SET_VARSIZE_SHORT(to, size);
		memcpy(to + 1, VARDATA(value), size - 1);
	}
	else
	{
		to = put_padding(to, column->align_mask);
		size = VARSIZE(value);
		memcpy(to, value, size);
	}
	return to + size;
}

static inline char *
put_value(char *to, const FormedColumn *column, Datum value)
{
	if (column->len < 0)
		return put_varlena(to, column,
						   (struct varlena *) DatumGetPointer(value));
	to = put_padding(to, column->align_mask);
	if (column->by_value)
		store_att_byval(to, value, column->len);
	else
		memcpy(to, DatumGetPointer(value), column->len);
	return to + column->len;
}

/*
 * The tuple that heap_form_tuple() (src/backend/access/common/heaptuple.c)
 * would form, byte for byte, but for what it has only as a Datum: its length
 * and type.  Allocated in CurrentMemoryContext, to be freed by pfree().
 */
static HeapTuple
tuple_former_form(TupleFormer *former, const Datum *values,
				  const bool *isnull)
{
	bool		has_null = false;
	Size		room = enough_room(former, values, isnull, &has_null);
	Size		bitmap_len = has_null ? BITMAPLEN(former->n_columns) : 0;
	Size		hoff = MAXALIGN(offsetof(HeapTupleHeaderData, t_bits) +
								bitmap_len);
	HeapTuple	tuple;
	HeapTupleHeader header;
	char	   *to;

	if (unlikely(room == 0 || !AllocSizeIsValid(room)))
		return heap_form_tuple(former->tupdesc, (Datum *) values,
							   (bool *) isnull);
	/* tuple and header in one piece, as heap_form_tuple() allocates them */
	tuple = palloc(room);
	header = tuple->t_data = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	memset(header, 0, hoff);
	header->t_hoff = hoff;
	header->t_infomask = has_null ? HEAP_HASNULL : 0;
	HeapTupleHeaderSetNatts(header, former->n_columns);
	ItemPointerSetInvalid(&header->t_ctid);

	to = (char *) header + hoff;
	for (int i = 0; i < former->n_columns; i++)
	{
		const FormedColumn *column = &former->columns[i];

		if (isnull[i])
			continue;
		if (has_null)
			header->t_bits[i / BITS_PER_BYTE] |= 1 << (i % BITS_PER_BYTE);
		if (column->len < 0)
			header->t_infomask |= HEAP_HASVARWIDTH;
		to = put_value(to, column, values[i]);
	}
	tuple->t_len = to - (char *) header;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid;
	Assert((char *) tuple + room >= to);
	return tuple;
}

/* ----------
 * Keeps unused pages of bulk insertions for the next statement.
 *
 * Since 16 a bulk insertion adds many pages at a time to a table, and those
 * that its statement has not used are forgotten (hio.c: RelationAddBlocks),
 * empty until VACUUM finds them.  Where every MiB is a statement of its own a
 * table would grow by half.
 *
 * One table is remembered, since such statements follow each other.  Nothing
 * depends on the pages being still there, or empty: the server looks, and
 * where it would fail, at pages behind the table's end, we do.
 *
 * The pages that a transaction's bulk insertions have added to a table
 * and not used yet, kept from one statement to the next.
 * ----------
 */

static struct
{
	Oid			relid;			/* InvalidOid: nothing is kept */
	BulkSpace	space;
}			kept;

static void
forget_at_end(XactEvent event, void *arg)
{
	kept.relid = InvalidOid;
}

static void
forget_at_rollback(SubXactEvent event, SubTransactionId my_subid,
				   SubTransactionId parent_subid, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		kept.relid = InvalidOid;
}

/*
 * Give a new state the pages that the last one of this transaction, for this
 * table, has left.
 */
static void
bulk_space_take(Relation rel, BulkInsertState bulk)
{
	/* a table that was truncated meanwhile is shorter */
	if (kept.relid == RelationGetRelid(rel) &&
		(!BlockNumberIsValid(kept.space.last_free) ||
		 kept.space.last_free < RelationGetNumberOfBlocks(rel)))
		set_bulk_space(bulk, &kept.space);
	kept.relid = InvalidOid;
}

/* ----------
 * Gathers new rows of a table and inserts them many at a time.
 * ----------
 */

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
 * The slots that table_multi_insert() takes.  heap_multi_insert() asks each
 * slot for a tuple of the slot's own (ExecFetchSlotHeapTuple() materializes
 * it), and a slot of heap tuples would copy the tuple for that.  The tuples
 * here are the batch's and live until it is inserted, so that materialize()
 * does nothing.  TTSOpsHeapTuple is not a constant of this library, so that
 * the copy of its callbacks is made at run time.
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

	/*
	 * Each slot pins its descriptor if that is counted, as a relation's is:
	 * 1,000 entries of the resource owner.  A copy is not counted.
	 */
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
	/* as ExecStoreHeapTuple(), but the slot is known to be empty */
	slot = (HeapTupleTableSlot *) *place;
	slot->tuple = tuple;
	slot->off = 0;
	slot->base.tts_nvalid = 0;
	slot->base.tts_flags &= ~TTS_FLAG_EMPTY;
	slot->base.tts_tableOid = RelationGetRelid(rel);
}

/*
 * Insert the tuples, then their index entries.  This order is that of
 * CopyMultiInsertBufferFlush(): functions of expression indexes see the rows
 * of the batch in the table.
 *
 * Triggers were off when the load began.  A function of an index or of a
 * constraint may have switched them on (session_replication_role), which is
 * an error, as nothing here could fire them.
 */
static void
insert_batch(TupleBatch *batch)
{
	/* tuples that the table makes of long ones go with those of the batch */
	MemoryContext old_context = MemoryContextSwitchTo(batch->tuple_context);

	table_multi_insert(batch->target->ri_RelationDesc, batch->slots,
					   batch->n_tuples, batch->command, batch->options,
					   batch->bulk);
	MemoryContextSwitchTo(old_context);
	if (batch->target->ri_NumIndices > 0)
	{
		/*
		 * Insert index entries; errors name the line of COPY that the row is
		 * of.
		 */
		for (int i = 0; i < batch->n_tuples; i++)
		{
			if (batch->cstate != NULL)
				batch->cstate->cur_lineno = batch->lines[i];
			list_free(insert_index_entries(batch->target, batch->slots[i],
										   batch->estate));
		}
	}
	load_check_triggers_off(batch->target->ri_RelationDesc,
							batch->target->ri_TrigDesc);

	/*
	 * slots do not own their tuples (TTS_FLAG_SHOULDFREE), so none is freed
	 */
	for (int i = 0; i < batch->n_tuples; i++)
		ExecClearTuple(batch->slots[i]);
	MemoryContextReset(batch->tuple_context);

	batch->inserted += batch->n_tuples;
	batch->n_tuples = 0;
	batch->bytes = 0;
}

/* Insert the batch, as lines of COPY if the rows are lines. */
static void
insert_rows(TupleBatch *batch)
{
	CopyFromState cstate = batch->cstate;
	bool		line_buf_valid;
	uint64		line;

	if (cstate == NULL)
	{
		insert_batch(batch);
		return;
	}

	/* in error messages, the text of another line would mislead */
	line_buf_valid = cstate->line_buf_valid;
	line = cstate->cur_lineno;
	cstate->line_buf_valid = false;
	insert_batch(batch);
	cstate->line_buf_valid = line_buf_valid;
	cstate->cur_lineno = line;
	pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED,
								 batch->inserted);
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

/*
 * A batch is full by the limits of CopyMultiInsertInfoIsFull(): a number of
 * tuples, or of bytes of their lines.
 */
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

/*
 * FreeBulkInsertState() unpins the last page; dropped slots release nothing
 * but themselves, as their tuples are gone with the last batch.
 */
uint64
tuple_batch_end(TupleBatch *batch)
{
	if (batch->n_tuples > 0)
		insert_rows(batch);
	/* those of the statement fire without any row, too */
	load_check_triggers_off(batch->target->ri_RelationDesc,
							batch->target->ri_TrigDesc);
	if (batch->cstate == NULL)
	{
		static bool is_registered = false;

		/* Keep what a state that is about to be freed has left. */
		if (!is_registered)
		{
			RegisterXactCallback(forget_at_end, NULL);
			RegisterSubXactCallback(forget_at_rollback, NULL);
			is_registered = true;
		}
		get_bulk_space(batch->bulk, &kept.space);
		kept.relid = RelationGetRelid(batch->target->ri_RelationDesc);
	}
	FreeBulkInsertState(batch->bulk);
	for (int i = 0; i < MAX_TUPLES && batch->slots[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(batch->slots[i]);
	table_finish_bulk_insert(batch->target->ri_RelationDesc, batch->options);
	return batch->inserted;
}
