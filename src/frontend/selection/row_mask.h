/*
 * row_mask.h
 *		--mask: what is written in place of the values of columns.
 */
#ifndef ROW_MASK_H
#define ROW_MASK_H

#include "options/options.h"
#include "plan/dump_table.h"

/*
 * Set the masks of the columns that the options' patterns match, and have the
 * server check every expression.  Exits with a message if a pattern matches
 * no column to be dumped, if a column is matched twice, if an expression is
 * none or cannot be assigned to its column, or if the archive that the table
 * of contents describes would have values of masked columns elsewhere.  The
 * tables are locked.
 */
extern void row_masks_apply(PGconn *conn, const Options *options,
							const Toc *toc, DumpTables *tables);

#endif							/* ROW_MASK_H */
