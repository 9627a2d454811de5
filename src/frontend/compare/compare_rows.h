/*
 * compare_rows.h
 *		Compares the rows of two sides, in any order of the rows.
 */
#ifndef COMPARE_ROWS_H
#define COMPARE_ROWS_H

#include "compare/compare_tables.h"

/* Rows of a kind that are shown, at most, and bytes of each. */
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
 * Read all rows once on each side.  Results are in the tables, and in
 * objects, the sums of each side.
 */
extern CompareRows *compare_rows_sum(CompareSide *const sides[2],
									 CompareTables *tables,
									 bool with_objects, ObjectSum objects[2]);

/*
 * Then: mark the tables whose rows differ.  Is there any whose rows can be
 * counted?  There is memory for some of them, 256 MB.
 */
extern bool compare_rows_differ(CompareRows *rows);

/*
 * If so: read the rows of these tables twice more, to count what differs, and
 * to see what it is.
 */
extern void compare_rows_count(CompareRows *rows);

/*
 * Some of the rows that differ, by their keys; the first ones if all were
 * found.  Owned.
 */
extern ShownRows *compare_rows_shown(const CompareRows *rows,
									 const CompareTable *table);

#endif							/* COMPARE_ROWS_H */
