/*
 * compare_tables.h
 *		Matches tables, columns, keys and positions of sequences of two sides.
 *
 * compare.c calls it before the rows are read; compare_rows.c fills in the
 * results.
 */
#ifndef COMPARE_TABLES_H
#define COMPARE_TABLES_H

#include "compare/compare_side.h"
#include "compare/difference_sketch.h"

/* The sum of a table's rows on one side. */
typedef struct RowSum
{
	uint64		rows;
	uint64		sum;			/* sum of the hashes of the rows */
	uint64		mixed;			/* sum of hashes of these hashes */
} RowSum;

typedef struct CompareTable
{
	const char *name;			/* must be first, for compare_strings();
								 * qualified and quoted */
	int			no[2];			/* by side: number of its first table in the
								 * plan; -1 = none */
	char	   *problem;		/* why rows are not compared, or NULL */
	char	  **key;			/* columns of the key */
	int		   *key_columns;	/* their numbers, from 0 */
	int			n_key;			/* 0 without a key */

	/* results */
	RowSum		sums[2];
	bool		differs;		/* do the rows differ? */
	bool		is_counted;		/* are the following members set? */
	Difference	rows;			/* hashes of rows; the first side is added */
	Difference	keys;			/* the same for keys */
} CompareTable;

typedef struct CompareTables
{
	CompareTable *tables;		/* sorted by name */
	int			n_tables;
	int		   *of[2];			/* by side and table of its plan: index in
								 * tables, -1 if left out */
} CompareTables;

/*
 * Match the tables of two sides by name, and their columns, which get the
 * same order; find keys in the catalog of the first side, which is a
 * database.  Of the tables that only the second side has, the chosen ones
 * count, by entry of its table of contents; all if chosen is NULL.
 *
 * If loaded is true the second side was loaded from the first.  Then the name
 * is that of the table into which rows are loaded, so partitions that are
 * loaded through one partitioned table are compared together.  Foreign tables
 * are left out then.
 */
extern CompareTables *compare_tables_match(CompareSide *const sides[2],
										   const bool *chosen, bool loaded);

/* ----------
 * Positions of sequences
 * ----------
 */
typedef struct SequencePosition
{
	const char *schema;			/* "" if a forged archive has none */
	const char *name;
	bool		chosen;
	int64		position;
	bool		is_called;
} SequencePosition;

typedef struct SequencePositions
{
	SequencePosition *sequences;	/* sorted by name */
	int			n;
} SequencePositions;

/*
 * The positions that pg_dump has read, because positions are not part of a
 * snapshot.  Borrows from the table of contents; chosen is by its entries,
 * NULL = all.
 */
extern SequencePositions *compare_positions_of_toc(const Toc *toc,
												   const bool *chosen);

/*
 * The current positions in the session's database, for the sequences of a
 * table of contents, from which the names are borrowed.
 */
extern SequencePositions *compare_positions_of_database(PGconn *conn,
														const Toc *toc);

/*
 * Compare the positions of two sides with these names; report() is called for
 * each difference, with a sentence.  Of the sequences that only the second
 * side has, the chosen ones count.  Returns how many differ; *n is the number
 * of compared sequences.
 */
extern int	compare_positions(SequencePositions *const of[2],
							  const char *const names[2], int *n,
							  void (*report) (const void *arg, const char *what, const char *fact),
							  const void *arg);

#endif							/* COMPARE_TABLES_H */
