/*-------------------------------------------------------------------------
 *
 * tuple_deform.h
 *	  Takes heap tuples apart without believing their lengths.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TUPLE_DEFORM_H
#define PARDUMP_TUPLE_DEFORM_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"

typedef struct TupleDeformer TupleDeformer;

/*
 * A deformer of the first "natts" attributes, made in CurrentMemoryContext
 * and to be freed by pfree().  The descriptor is borrowed.
 */
extern TupleDeformer *tuple_deformer_new(TupleDesc tupdesc, int natts);

/*
 * As heap_deform_tuple(): fill in a value for each of the attributes, those
 * out of line and compressed ones as they are stored, and for columns that
 * were added later the default they were added with.  Returns where the last
 * of these values ends in the tuple, in bytes; 0 if the tuple is damaged: its
 * header or a value does not lie within its t_len bytes, which must be no
 * less than a header; or a value points to memory.  What is read of it lies
 * within these bytes in any case.
 */
extern Size tuple_deform(const TupleDeformer *deformer, HeapTuple tuple,
						 Datum *values, bool *isnull);

#endif							/* PARDUMP_TUPLE_DEFORM_H */
