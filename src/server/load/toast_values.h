/*-------------------------------------------------------------------------
 *
 * toast_values.h
 *	  Compresses values of new rows, and stores them out of line.
 *
 * raw_loader.c stores values out of line that were out of line on the
 * source; tuple_batch.c compresses those of long rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TOAST_VALUES_H
#define PARDUMP_TOAST_VALUES_H

#include "access/htup.h"
#include "utils/relcache.h"

/*
 * Return a value for a tuple that is stored out of line when the server
 * inserts the tuple, which must be inserted once, with these options
 * (TABLE_INSERT_...).  It must not be read for anything else.  The table must
 * have a TOAST table.  Both arguments are borrowed until then; the value may
 * be plain or compressed.  Allocates in CurrentMemoryContext.
 */
extern Datum toast_value_later(Relation rel, struct varlena *value,
							   int options);

/*
 * Compress values of a tuple that is longer than TOAST_TUPLE_THRESHOLD, and
 * mark those that are to be stored out of line (toast_value_later()).  From
 * the tuple that is returned, the server makes the same as from this one, in
 * less time.  It may be the same tuple.  Otherwise, it is allocated in
 * CurrentMemoryContext, and its values may point into the first tuple, so
 * neither may be freed before the server has inserted it.
 */
extern HeapTuple toast_tuple(Relation rel, HeapTuple tuple, int options);

#endif							/* PARDUMP_TOAST_VALUES_H */
