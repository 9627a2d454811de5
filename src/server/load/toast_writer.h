/*-------------------------------------------------------------------------
 *
 * toast_writer.h
 *	  Rows of which some values go to the TOAST table as they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TOAST_WRITER_H
#define PARDUMP_TOAST_WRITER_H

#include "postgres.h"

#include "access/htup.h"
#include "utils/relcache.h"

/*
 * A tuple of these values for table_multi_insert(), which puts the n_external
 * attributes (indexes) out of line: compressed ones stay compressed, others
 * are not tried, and the table's other values are left as they are if they
 * fit then.  An attribute whose storage is PLAIN, or all of a table without
 * TOAST table, is in line.  "options": those of the insertion.
 *
 * The tuple is for one insertion, and after that to read values from, for
 * indexes.  It, and the values that are out of line, must not be freed
 * before; it is allocated in CurrentMemoryContext, which must not be reset.
 */
extern HeapTuple toast_writer_form(Relation rel, Datum *values,
								   const bool *isnull, const int *external,
								   int n_external, int options);

#endif							/* PARDUMP_TOAST_WRITER_H */
