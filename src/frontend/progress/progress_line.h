/*
 * progress_line.h
 *		One line of progress, made of fields, as wide as the terminal allows.
 *
 * Where it does not fit, what matters least is left out, a number's words
 * before the number; none is cut.
 */
#ifndef PROGRESS_LINE_H
#define PROGRESS_LINE_H

#include "base/fe_compat.h"

#include "pqexpbuffer.h"

/* The highest rank of a field. */
#define PROGRESS_RANKS 9

typedef struct ProgressField
{
	const char *before;			/* words; borrowed */
	char	   *number;			/* owned */
	const char *after;
	int			rank;
	bool		brief;			/* without its words */
	bool		left_out;
} ProgressField;

#define PROGRESS_FIELDS 12

/* All zero at first. */
typedef struct ProgressLine
{
	ProgressField fields[PROGRESS_FIELDS];
	int			n_fields;
} ProgressLine;

/*
 * Add a number, as its format says, and the words before and after it, which
 * are borrowed.  Rank 0 stays as it is; the others have what room there is in
 * the order of their ranks.
 */
extern void progress_line_add(ProgressLine *line, int rank, const char *before,
							  const char *after, const char *format,...)
			pg_attribute_printf(5, 6);

/* The same for a name: one that is long is cut, and ends in "...". */
extern void progress_line_add_name(ProgressLine *line, int rank,
								   const char *name);

/*
 * Make it fit in "columns" columns, 0 for any number, write it to buf, and
 * free it.
 */
extern void progress_line_finish(ProgressLine *line, int columns,
								 PQExpBuffer buf);

#endif							/* PROGRESS_LINE_H */
