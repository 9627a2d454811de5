/*-------------------------------------------------------------------------
 *
 * tuple_batch.h
 *	  Gathers new rows of a table and inserts many of them at a time.
 *
 * load_copy.c adds the rows of a COPY, raw_loader.c raw tuples.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TUPLE_BATCH_H
#define PARDUMP_TUPLE_BATCH_H

#include "commands/copyfrom_internal.h"
#include "nodes/execnodes.h"

typedef struct TupleBatch TupleBatch;

/*
 * Begin to insert rows into a heap table, with the current command ID.  The
 * table must not have triggers that fire on INSERT, and its indexes must be
 * open.  If the rows are lines of a COPY, cstate is its state, which is used
 * for errors, progress and FREEZE; the caller has checked that FREEZE is
 * allowed.  Otherwise cstate is NULL.  All three arguments are borrowed.
 * Allocates in CurrentMemoryContext, which must live as long as the batch.
 */
extern TupleBatch *tuple_batch_new(CopyFromState cstate, EState *estate,
								   ResultRelInfo *target);

/*
 * Add a row, whose values are copied.  All constraints except those of
 * indexes have been checked.  "bytes" is the length of the row's line.  If
 * the batch is full, it is inserted.  Errors of the insertion name the same
 * line as in COPY FROM, as COPY FROM has the same batches.
 */
extern void tuple_batch_add(TupleBatch *batch, Datum *values, bool *isnull,
							Size bytes);

/*
 * The same for a tuple, which is not copied.  It must be allocated in the
 * context of the batch, and is freed after it has been inserted.  Its index
 * entries are made of "indexed", which is the same tuple, or one of the same
 * row without values of toast_value_later().
 */
extern void tuple_batch_add_tuple(TupleBatch *batch, HeapTuple tuple,
								  HeapTuple indexed, Size bytes);
extern MemoryContext tuple_batch_context(const TupleBatch *batch);

/* Return the options, TABLE_INSERT_..., with which rows are inserted. */
extern int	tuple_batch_options(const TupleBatch *batch);

/*
 * Insert the remaining rows, and release all resources other than memory.
 * Returns the number of all rows that were inserted.  After an error this
 * need not be called.
 */
extern uint64 tuple_batch_end(TupleBatch *batch);

#endif							/* PARDUMP_TUPLE_BATCH_H */
