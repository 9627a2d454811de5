/*-------------------------------------------------------------------------
 *
 * tuple_former.h
 *	  Forms tuples of a table, of values that have just been decoded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TUPLE_FORMER_H
#define PARDUMP_TUPLE_FORMER_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"

typedef struct TupleFormer TupleFormer;

/*
 * A former of tuples of this descriptor.  Allocates in CurrentMemoryContext.
 */
extern TupleFormer *tuple_former_new(TupleDesc tupdesc);

/*
 * The tuple that heap_form_tuple() (src/backend/access/common/heaptuple.c)
 * would form, byte for byte, but for what it has only as a Datum: its length
 * and type.  Allocated in CurrentMemoryContext, to be freed by pfree().
 */
extern HeapTuple tuple_former_form(TupleFormer *former, const Datum *values,
								   const bool *isnull);

#endif							/* PARDUMP_TUPLE_FORMER_H */
