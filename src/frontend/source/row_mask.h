/*
 * row_mask.h
 *		--mask: what is written in place of the values of columns.
 */
#ifndef ROW_MASK_H
#define ROW_MASK_H

#include "plan/job_queue.h"

/* ----------
 * Warns of what masks do not reach, and of what does not suit them.
 * ----------
 */

/*
 * Warn of constraints and keys of which a masked column is a part, of
 * definitions that may show its values, and of large objects, if there are
 * masks at all.
 */
extern void mask_warnings_give(PGconn *conn, const DumpTables *tables,
							   const LargeObjects *objects);

/*
 * Set the masks of the columns that the options' patterns match, and have the
 * server check every expression.  Exits with a message if a pattern matches
 * no column to be dumped, if a column is matched twice, if an expression is
 * none or cannot be assigned to its column, or if the archive that the table
 * of contents describes would have values of masked columns elsewhere.  In a
 * run of one of all databases columns will do of tables that are not dumped.
 * The tables are locked.
 */
extern void row_masks_apply(PGconn *conn, const Options *options,
							const Toc *toc, DumpTables *tables);

/*
 * Does this argument of --mask name a column of the database, dumped or not?
 * Exits with a message if it is not of the form.
 */
extern bool row_mask_is_there(PGconn *conn, const char *arg);

#endif							/* ROW_MASK_H */
