/*
 * row_mask.h
 *		--mask: expressions that replace the values of columns.
 */
#ifndef ROW_MASK_H
#define ROW_MASK_H

#include "plan/job_queue.h"

/* ----------
 * Warnings about values that masks do not hide, and constraints that masked
 * values may violate.
 * ----------
 */

/*
 * If there are masks, warn about constraints and keys that contain a masked
 * column, about definitions that may contain its values, and about large
 * objects.
 */
extern void mask_warnings_give(PGconn *conn, const DumpTables *tables,
							   const LargeObjects *objects);

/*
 * Set the masks of the columns that the options' patterns match, after the
 * server has checked every expression.  Exits with a message if a pattern
 * matches no column that is dumped (with --all-databases, matching a column
 * that is not dumped is enough), if a column matches twice, if an expression
 * is invalid or cannot be assigned to its column, or if the archive would
 * contain statistics, which contain values of masked columns.  The tables
 * must be locked.
 */
extern void row_masks_apply(PGconn *conn, const Options *options,
							const Toc *toc, DumpTables *tables);

/*
 * Does this argument of --mask match a column of the database, dumped or not?
 * Exits with a message if the argument does not have the right form.
 */
extern bool row_mask_is_there(PGconn *conn, const char *arg);

#endif							/* ROW_MASK_H */
