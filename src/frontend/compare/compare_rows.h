/*
 * compare_rows.h
 *		Compares the rows of two sides, in any order of the rows.
 *
 * Each pass reads the rows of both sides once.  The first pass finds the
 * tables that differ; two more count the different rows, and show some of
 * them.
 */
#ifndef COMPARE_ROWS_H
#define COMPARE_ROWS_H

#include "compare/compare_tables.h"

/*
 * The largest number of rows of a kind that are shown, and of bytes of each.
 */
#define SHOWN_ROWS 5
#define SHOWN_BYTES 120

/* The kinds of different rows. */
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
 * Read all rows once on each side.  The results are in the tables and, for
 * large objects, in objects: the sums of each side.
 */
extern CompareRows *compare_rows_sum(CompareSide *const sides[2],
									 CompareTables *tables,
									 bool with_objects, ObjectSum objects[2]);

/*
 * After that: mark the tables whose rows differ.  Returns whether there are
 * tables whose rows can be counted; 256 MB of memory are used for this.
 */
extern bool compare_rows_differ(CompareRows *rows);

/*
 * If there are: read the rows of these tables twice more, to count and to
 * show the differences.
 */
extern void compare_rows_count(CompareRows *rows);

/*
 * Some of the different rows, described by their keys; the first ones if all
 * were found.  Owned.
 */
extern ShownRows *compare_rows_shown(const CompareRows *rows,
									 const CompareTable *table);

#endif							/* COMPARE_ROWS_H */
