/*
 * shown_rows.h
 *		Some of the rows that differ, by their keys, as they are shown.
 */
#ifndef SHOWN_ROWS_H
#define SHOWN_ROWS_H

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

/*
 * "id=1, b=x" of the row's key, or of its first columns.  The row is a line
 * of COPY's text format in this encoding, first is the table of the first
 * side.
 */
extern void shown_rows_describe(const CompareTable *table,
								const DumpTable *first, int encoding,
								const char *row, size_t row_len,
								char text[SHOWN_BYTES]);

/* Keep what was described if it is one of the first; once only. */
extern void shown_rows_keep(ShownRows *shown, RowKind kind, const char *text);

#endif							/* SHOWN_ROWS_H */
