/*
 * copy_compare.h
 *		Makes sure, after a direct copy, that source and target have the same
 *		rows.
 */
#ifndef COPY_COMPARE_H
#define COPY_COMPARE_H

#include "copy_worker.h"

/*
 * Compare the number of rows of all tables that were copied, and a checksum of
 * them that does not depend on their order, in the snapshot of the copy.  Both
 * servers work at a time, and as many tables as there are jobs.  Each table that
 * differs is an error message; returns how many do.
 */
extern int	copy_compare(const CopyContext *context, PGconn *source,
						 PGconn *target);

#endif							/* COPY_COMPARE_H */
