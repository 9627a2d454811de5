/*-------------------------------------------------------------------------
 *
 * tuple_batch.h
 *	  Gathers new rows of a table and inserts them many at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TUPLE_BATCH_H
#define PARDUMP_TUPLE_BATCH_H

#include "commands/copyfrom_internal.h"
#include "nodes/execnodes.h"

typedef struct TupleBatch TupleBatch;

/*
 * Begin to insert into a heap table without triggers on INSERT, whose indexes
 * are open.  Takes the current command for it.  cstate is that of the COPY
 * whose lines the rows are, for errors, progress and FREEZE, which the caller
 * has found to be allowed; NULL if there is none.
 * All three are borrowed.  Allocates in CurrentMemoryContext, which must
 * outlive the batch.
 */
extern TupleBatch *tuple_batch_new(CopyFromState cstate, EState *estate,
								   ResultRelInfo *target);

/*
 * Add a row, which has passed all constraints but those of indexes, and which
 * was a line of "line_bytes" bytes.  Its values are copied.  When the batch
 * is full it is inserted.  An error of that names the same line as in COPY
 * FROM, as the batches are those of COPY FROM.
 */
extern void tuple_batch_add(TupleBatch *batch, Datum *values, bool *isnull,
							Size bytes);

/*
 * The same of a tuple that is not copied: allocated in the batch's context,
 * it is freed when it is inserted.
 */
extern void tuple_batch_add_tuple(TupleBatch *batch, HeapTuple tuple,
								  Size bytes);
extern MemoryContext tuple_batch_context(const TupleBatch *batch);

/* The options, TABLE_INSERT_..., that rows are inserted with. */
extern int	tuple_batch_options(const TupleBatch *batch);

/*
 * Insert what is left and release all that does not go with the memory.
 * Returns how many rows were inserted in all.  On an error this need not be
 * called.
 */
extern uint64 tuple_batch_end(TupleBatch *batch);

#endif							/* PARDUMP_TUPLE_BATCH_H */
