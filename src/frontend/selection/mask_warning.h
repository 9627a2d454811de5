/*
 * mask_warning.h
 *		Warns of what masks do not reach, and of what does not suit them.
 */
#ifndef MASK_WARNING_H
#define MASK_WARNING_H

#include "plan/dump_table.h"
#include "plan/large_object.h"

/*
 * Warn of constraints and keys of which a masked column is a part, of
 * definitions that may show its values, and of large objects, if there are
 * masks at all.
 */
extern void mask_warnings_give(PGconn *conn, const DumpTables *tables,
							   const LargeObjects *objects);

#endif							/* MASK_WARNING_H */
