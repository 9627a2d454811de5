/*
 * compare_tables.h
 *		The pairs of tables of two sides, and their columns, keys and
 *		sequences.
 */
#ifndef COMPARE_TABLES_H
#define COMPARE_TABLES_H

#include "compare/compare_side.h"
#include "compare/difference_sketch.h"

/* What a side has of a table. */
typedef struct RowSum
{
	uint64		rows;
	uint64		sum;			/* of hashes of the rows, */
	uint64		mixed;			/* and of hashes of these */
} RowSum;

typedef struct CompareTable
{
	const char *name;			/* first, for compare_strings(): qualified and
								 * quoted */
	int			no[2];			/* in the plan of each side, the first of its
								 * tables; -1 = has none */
	char	   *problem;		/* why rows are not compared, or NULL */
	char	  **key;			/* the columns that tell rows apart */
	int		   *key_columns;	/* which these are, from 0 */
	int			n_key;			/* 0 if it has no key */

	/* What has come of it */
	RowSum		sums[2];
	bool		differs;		/* any of it does */
	bool		is_counted;		/* the differences that follow are there */
	Difference	rows;			/* added by the first side */
	Difference	keys;			/* the same of the key alone */
} CompareTable;

typedef struct CompareTables
{
	CompareTable *tables;		/* in the order of their names */
	int			n_tables;
	int		   *of[2];			/* by side and table of its plan: which it is,
								 * -1 if it is left out */
} CompareTables;

/*
 * Match the tables of two sides by their names, and their columns, whose
 * order is made the same; find keys in the catalog of the first side, which
 * is a database.  Of tables that the second side alone has those count that
 * are chosen, by entry of its table of contents; all if that is NULL.
 *
 * If the second side was loaded from the first, the name is that of the table
 * that rows are loaded into: partitions that are loaded by way of one
 * partitioned table are compared together.  Foreign tables are left out then.
 */
extern CompareTables *compare_tables_match(CompareSide *const sides[2],
										   const bool *chosen, bool loaded);

/* ----------
 * Positions of sequences
 * ----------
 */
typedef struct SequencePosition
{
	const char *schema;			/* "" if an archive that was made to deceive
								 * has none */
	const char *name;
	bool		chosen;
	int64		position;
	bool		is_called;
} SequencePosition;

typedef struct SequencePositions
{
	SequencePosition *sequences;	/* in the order of their names */
	int			n;
} SequencePositions;

/*
 * As pg_dump has read them, since a sequence has none in a snapshot.  Borrows
 * from the table of contents; chosen is by its entries, NULL = all are.
 */
extern SequencePositions *compare_positions_of_toc(const Toc *toc,
												   const bool *chosen);

/*
 * As the database of this session has them now, of the sequences of a table
 * of contents, from which the names are borrowed.
 */
extern SequencePositions *compare_positions_of_database(PGconn *conn,
														const Toc *toc);

/*
 * Compare those of two sides of these names; tell is called for each
 * difference, with a sentence.  Of what only the second side has the chosen
 * sequences count.  Returns how many differ; *n is the number of sequences
 * that were compared.
 */
extern int	compare_positions(SequencePositions *const of[2],
							  const char *const names[2], int *n,
							  void (*report) (const void *arg, const char *what, const char *fact),
							  const void *arg);

#endif							/* COMPARE_TABLES_H */
