/*-------------------------------------------------------------------------
 *
 * raw_rows.h
 *	  The rows of a block of raw tuples, none of whose lengths is believed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RAW_ROWS_H
#define PARDUMP_RAW_ROWS_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"

#include "raw/raw_block.h"

typedef struct RawRows RawRows;

/* A row, as far as it can be told from its bytes. */
typedef struct RawRow
{
	HeapTuple	tuple;			/* out of line: blank pointers */
	Datum	   *values;			/* by attribute, also those out of line */
	bool	   *isnull;
	int			n_external;
	const int  *external;		/* attributes out of line, ascending */
} RawRow;

/*
 * Rows of a table of this descriptor, all of whose types are of those in
 * raw/raw_type.h, and none of whose columns are dropped.  Both are borrowed.
 * Allocates in CurrentMemoryContext.
 */
extern RawRows *raw_rows_new(TupleDesc tupdesc, const RawBlock *block);

/*
 * The next row; false at the end of the block.  Its tuple is allocated in
 * CurrentMemoryContext, and its header complete but for transaction and
 * place; its values stay where they are as long as tuple and block; the rest
 * is valid up to the next call.  Damage is an error (22P03): no value, nor
 * what is stored of one that is compressed, lies outside of tuple and block,
 * and none points anywhere else.  What is in values is not looked at.
 */
extern bool raw_rows_next(RawRows *rows, RawRow *row);

/* The number of the current row in the block, from 1. */
extern uint32 raw_rows_number(const RawRows *rows);

#endif							/* PARDUMP_RAW_ROWS_H */
