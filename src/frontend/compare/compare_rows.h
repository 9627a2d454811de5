/*
 * compare_rows.h
 *		Compares the rows of two sides, whatever their order.
 */
#ifndef COMPARE_ROWS_H
#define COMPARE_ROWS_H

#include "compare/compare_tables.h"
#include "compare/shown_rows.h"

typedef struct CompareRows CompareRows;

/*
 * All rows are read once on each side.  Those of tables that differ are read
 * twice more: to count what differs, and to see what it is; but no more
 * tables than there is memory for, 256 MB.  Results are in the tables, and in
 * objects, the sums of each side.
 */
extern CompareRows *compare_rows_run(CompareSide *const sides[2],
									 CompareTables *tables,
									 bool with_objects, ObjectSum objects[2]);

/*
 * Some of the rows that differ, by their keys; the first ones if all were
 * found.  Owned.
 */
extern ShownRows *compare_rows_shown(const CompareRows *rows,
									 const CompareTable *table);

#endif							/* COMPARE_ROWS_H */
