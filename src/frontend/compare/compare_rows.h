/*
 * compare_rows.h
 *		Compares the rows of two sides, whatever their order.
 */
#ifndef COMPARE_ROWS_H
#define COMPARE_ROWS_H

#include "compare/compare_tables.h"

/* So many rows of a kind are shown, each in so many bytes. */
#define SHOWN_ROWS 5
#define SHOWN_BYTES 120

/* What is shown of a row that differs. */
typedef enum RowKind
{
	ROW_CHANGED,				/* both sides have its key */
	ROW_ONLY_FIRST,
	ROW_ONLY_SECOND,
	N_ROW_KINDS
} RowKind;

typedef struct ShownRows
{
	int			n[N_ROW_KINDS];
	char		text[N_ROW_KINDS][SHOWN_ROWS][SHOWN_BYTES];
} ShownRows;

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
