/*-------------------------------------------------------------------------
 *
 * tuple_batch.c
 *	  Gathers new rows of a table and inserts many of them at a time.
 *
 * load_copy.c and raw_loader.c add rows.  The code follows
 * CopyMultiInsertBufferFlush() (src/backend/commands/copyfrom.c), and each
 * batch ends with the same row as one of COPY FROM.  So functions of
 * constraints and indexes see the table in the same state, errors are found
 * in the same order, and rows are stored in the same places.  (Longer batches
 * took more time, as they did not fit into the processor's cache.)  Time is
 * saved because rows are not allocated, copied and freed one by one.
 *
 * The file has three parts.  The first forms tuples.  The second remembers
 * pages that a statement has added to a table but not used, for the next
 * statement.  The third gathers tuples and inserts them.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/tupdesc.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "base/server_compat.h"
#include "base/wal_writer.h"
#include "load/load_check.h"
#include "load/toast_values.h"
#include "load/tuple_batch.h"

/* ----------
 * Forms tuples of decoded values.
 *
 * heap_form_tuple() visits all columns three times, and writes the tuple
 * twice, as it first fills it with zeros.  Here, a first loop computes how
 * much room is enough, and a second one writes the values.  Both use a copy
 * of the columns' properties that takes a few bytes for each column.
 * ----------
 */

typedef struct FormedColumn
{
	int16		len;			/* attlen */
	bool		by_value;
	bool		is_packable;	/* values may have a header of one byte */
	uint8		align_mask;
} FormedColumn;

typedef struct TupleFormer
{
	TupleDesc	tupdesc;		/* borrowed */
	int			n_columns;
	Size		fixed_room;		/* enough for all but varlena values */
	FormedColumn columns[FLEXIBLE_ARRAY_MEMBER];
} TupleFormer;

/*
 * Create a former of tuples with this descriptor.  Allocates in
 * CurrentMemoryContext.
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
 * Return how many bytes are enough for the tuple, and whether it contains a
 * NULL.  Returns 0 if heap_form_tuple() has to form it, as it contains an
 * out-of-line or expanded value, or a cstring.
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

/* Align the place for a value, and fill the bytes before it with zeros. */
static inline char *
put_padding(char *to, uint8 align_mask)
{
	while (((uintptr_t) to & align_mask) != 0)
		*to++ = '\0';
	return to;
}

/*
 * Write a varlena value as fill_val() does (heaptuple.c): with a short
 * header, which is not aligned, if that is possible.
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

/* Write a value of any length, aligned as its column requires. */
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
 * Form the same tuple as heap_form_tuple()
 * (src/backend/access/common/heaptuple.c), with the same bytes, except the
 * fields for length and type that only matter if the tuple is used as a
 * Datum.  It is allocated in CurrentMemoryContext, and freed with pfree().
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
	/* like heap_form_tuple(), allocate both structs in one piece */
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
 * Remembers unused pages of bulk insertions for the next statement.
 *
 * Since 16 a bulk insertion adds many pages to a table at a time.  At the end
 * of the statement, the server forgets the pages that were not used (hio.c:
 * RelationAddBlocks), and they remain empty until VACUUM finds them.  As each
 * statement loads a block of raw tuples of about 1 MiB, a table would become
 * one and a half times as large.
 *
 * Only the last table is remembered, as such statements follow each other.
 * The pages need not be there any more, or be empty: the server checks each
 * page before it uses it.  Only a page after the end of the table would be an
 * error in the server, so that is checked here.
 * ----------
 */

/* The pages that this transaction has added to a table, but not used yet. */
static struct
{
	Oid			relid;			/* InvalidOid if there are none */
	BulkSpace	space;
}			kept;

/* A transaction callback: a later transaction must not use the pages. */
static void
forget_at_end(XactEvent event, void *arg)
{
	kept.relid = InvalidOid;
}

/* A subtransaction callback: a rollback may remove the table's file. */
static void
forget_at_rollback(SubXactEvent event, SubTransactionId my_subid,
				   SubTransactionId parent_subid, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		kept.relid = InvalidOid;
}

/*
 * Add the remembered pages to the state of a new bulk insertion, if they are
 * pages of this table.
 */
static void
bulk_space_take(Relation rel, BulkInsertState bulk)
{
	/* the table is shorter if it was truncated in the meantime */
	if (kept.relid == RelationGetRelid(rel) &&
		(!BlockNumberIsValid(kept.space.last_free) ||
		 kept.space.last_free < RelationGetNumberOfBlocks(rel)))
		set_bulk_space(bulk, &kept.space);
	kept.relid = InvalidOid;
}

/* ----------
 * Gathers new rows of a table and inserts many of them at a time.
 * ----------
 */

/*
 * The limits of a batch, which are MAX_BUFFERED_TUPLES and MAX_BUFFERED_BYTES
 * of copyfrom.c.
 */
#define MAX_TUPLES	1000
#define MAX_BYTES	65535

/* The memory that is kept for the next batch; most batches need less. */
#define KEPT_BYTES		(256 * 1024)

struct TupleBatch
{
	CopyFromState cstate;		/* borrowed, as the next two; or NULL */
	EState	   *estate;
	ResultRelInfo *target;
	TupleFormer *former;
	BulkInsertState bulk;		/* for the whole statement */
	CommandId	command;
	int			options;
	uint64		inserted;
	MemoryContext slot_context; /* for slots */
	TupleDesc	slot_desc;		/* for slots; not reference-counted */
	MemoryContext tuple_context;	/* reset after each insertion */
	int			n_tuples;
	Size		bytes;
	TupleTableSlot *slots[MAX_TUPLES];	/* NULL if not created yet */
	HeapTuple	indexed[MAX_TUPLES];	/* see tuple_batch_add_tuple() */
	uint64		lines[MAX_TUPLES];	/* line numbers of the tuples */
};

/*
 * The callbacks of the slots that are passed to table_multi_insert().
 * heap_multi_insert() needs a tuple that the slot owns, and
 * ExecFetchSlotHeapTuple() materializes the slot for that: a usual slot of
 * heap tuples would copy the tuple.  The tuples of a batch live until it has
 * been inserted, so materialize() does nothing here.  The other callbacks are
 * those of TTSOpsHeapTuple.  They are copied at run time, because the address
 * of that variable is not a constant for a library.
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
	/* not for a COPY, whose table must get the same pages as the server's */
	if (cstate == NULL)
		bulk_space_take(target->ri_RelationDesc, batch->bulk);
	batch->command = GetCurrentCommandId(true);
	/* like CopyFrom(), do not search for free space in a new table */
	if (relation_is_new(target->ri_RelationDesc))
		batch->options = TABLE_INSERT_SKIP_FSM;
	if (cstate != NULL && cstate->opts.freeze)
		batch->options |= TABLE_INSERT_FROZEN;
	batch->slot_context = CurrentMemoryContext;

	/*
	 * A slot pins its descriptor if that is reference-counted, as that of a
	 * relation is.  For 1,000 slots these would be 1,000 entries of the
	 * resource owner.  A copy of the descriptor is not reference-counted.
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
	/* the work of ExecStoreHeapTuple() for a slot that is empty */
	slot = (HeapTupleTableSlot *) *place;
	slot->tuple = tuple;
	slot->off = 0;
	slot->base.tts_nvalid = 0;
	slot->base.tts_flags &= ~TTS_FLAG_EMPTY;
	slot->base.tts_tableOid = RelationGetRelid(rel);
}

/* Make the slot of an inserted tuple contain the tuple for index entries. */
static void
show_to_indexes(TupleTableSlot *slot, HeapTuple indexed)
{
	HeapTupleTableSlot *heap_slot = (HeapTupleTableSlot *) slot;

	indexed->t_self = slot->tts_tid;
	indexed->t_tableOid = slot->tts_tableOid;
	heap_slot->tuple = indexed;
	heap_slot->off = 0;
	slot->tts_nvalid = 0;
}

/*
 * Insert the tuples, then their index entries.  The order is that of
 * CopyMultiInsertBufferFlush(), because functions of expression indexes may
 * see the rows of the batch in the table.
 *
 * When the load began, no triggers would fire.  A function of an index or a
 * constraint may have changed that (session_replication_role).  This is an
 * error, as the triggers cannot be fired here.
 */
static void
insert_batch(TupleBatch *batch)
{
	/* tuples that the server makes of long ones are freed with the batch */
	MemoryContext old_context = MemoryContextSwitchTo(batch->tuple_context);

	table_multi_insert(batch->target->ri_RelationDesc, batch->slots,
					   batch->n_tuples, batch->command, batch->options,
					   batch->bulk);
	MemoryContextSwitchTo(old_context);
	if (batch->target->ri_NumIndices > 0)
	{
		/* an error of an index names the line of its row */
		for (int i = 0; i < batch->n_tuples; i++)
		{
			show_to_indexes(batch->slots[i], batch->indexed[i]);
			if (batch->cstate != NULL)
				batch->cstate->cur_lineno = batch->lines[i];
			list_free(insert_index_entries(batch->target, batch->slots[i],
										   batch->estate));
		}
	}
	load_check_triggers_off(batch->target->ri_RelationDesc,
							batch->target->ri_TrigDesc);

	/* this frees no tuples, as slots without TTS_FLAG_SHOULDFREE own none */
	for (int i = 0; i < batch->n_tuples; i++)
		ExecClearTuple(batch->slots[i]);
	MemoryContextReset(batch->tuple_context);
	wal_writer_wake();

	batch->inserted += batch->n_tuples;
	batch->n_tuples = 0;
	batch->bytes = 0;
}

/* Insert the batch, with the context of COPY if the rows are lines. */
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

	/* do not show the text of the last line in errors of other lines */
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
 * A batch is full if it has reached one of the limits of
 * CopyMultiInsertInfoIsFull(): a number of tuples, or of bytes of lines.
 */
void
tuple_batch_add_tuple(TupleBatch *batch, HeapTuple tuple, HeapTuple indexed,
					  Size bytes)
{
	store_tuple(batch, tuple);
	batch->indexed[batch->n_tuples] = indexed;
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
	HeapTuple	indexed = tuple_former_form(batch->former, values, isnull);
	HeapTuple	tuple = indexed;

	if (unlikely(tuple->t_len > TOAST_TUPLE_THRESHOLD))
		tuple = toast_tuple(batch->target->ri_RelationDesc, indexed,
							batch->options);
	MemoryContextSwitchTo(old_context);
	tuple_batch_add_tuple(batch, tuple, indexed, bytes);
}

/*
 * FreeBulkInsertState() unpins the last page.  Dropping a slot only frees the
 * slot, as the tuples of the last batch have been freed.
 */
uint64
tuple_batch_end(TupleBatch *batch)
{
	if (batch->n_tuples > 0)
		insert_rows(batch);
	/* tested again, as statement triggers would fire even without rows */
	load_check_triggers_off(batch->target->ri_RelationDesc,
							batch->target->ri_TrigDesc);
	if (batch->cstate == NULL)
	{
		static bool is_registered = false;

		/* remember the unused pages of the state, which is freed below */
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
