/*-------------------------------------------------------------------------
 *
 * index_compare.h
 *	  Compares index builds of ours with the server's, once in a session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_COMPARE_H
#define PARDUMP_INDEX_COMPARE_H

/*
 * Why the session's indexes are to be built by the server: half a sentence,
 * not to be freed.  NULL once a comparison has found no difference.
 */
extern const char *index_compare_reason(void);

/* Is it still unknown whether there is a difference, and worth a try? */
extern bool index_compare_wanted(void);

/*
 * Compare, unless that was done before in the session: a temporary table is
 * filled, indexed by both, and rolled back.  A difference, which may also be
 * an error of our own checks, is reported as a warning.  Another failure
 * raises no error, unless the statement is canceled: index_compare_reason()
 * returns it.  The caller is in a transaction.
 */
extern void index_compare_run(void);

/*
 * Who builds the next index, while builds are compared.
 */
typedef enum IndexCompareBuilder
{
	INDEX_COMPARE_NOT_RUNNING,
	INDEX_COMPARE_SERVER,
	INDEX_COMPARE_FAST
} IndexCompareBuilder;

extern IndexCompareBuilder index_compare_builder(void);

#endif							/* PARDUMP_INDEX_COMPARE_H */
