/*-------------------------------------------------------------------------
 *
 * index_compare.h
 *	  Compares the extension's index builds with the server's, once in a
 *	  session.
 *
 * index_command.c runs the comparison before the first build, and
 * function/index_function.c when a client asks for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_COMPARE_H
#define PARDUMP_INDEX_COMPARE_H

/*
 * Return why the server has to build the indexes of the session: half a
 * sentence, which is not freed.  Returns NULL if a comparison has found no
 * difference.
 */
extern const char *index_compare_reason(void);

/* Has no comparison been tried yet, and is none running? */
extern bool index_compare_wanted(void);

/*
 * Run the comparison, unless the session already has a result.  It fills a
 * temporary table, builds indexes on it in both ways, and rolls all of that
 * back.  A difference is reported as a warning, and so is an error of the
 * checks in tree_writer.c.  Other failures raise no error, except that of a
 * canceled statement: index_compare_reason() returns that builds could not be
 * compared.  The caller must be in a transaction.
 */
extern void index_compare_run(void);

/* The builder of the next index while the comparison is running. */
typedef enum IndexCompareBuilder
{
	INDEX_COMPARE_NOT_RUNNING,
	INDEX_COMPARE_SERVER,
	INDEX_COMPARE_FAST
} IndexCompareBuilder;

extern IndexCompareBuilder index_compare_builder(void);

#endif							/* PARDUMP_INDEX_COMPARE_H */
