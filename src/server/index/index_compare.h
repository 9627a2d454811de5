/*-------------------------------------------------------------------------
 *
 * index_compare.h
 *	  Decides who builds the indexes of a session: a setting enables builds
 *	  by the extension, which are first compared with the server's.
 *
 * pg_pardump and pg_parrestore use the settings in the sessions that build
 * indexes.  function/index_function.c lets a client run the comparison.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_COMPARE_H
#define PARDUMP_INDEX_COMPARE_H

/* The setting that enables builds; off by default. */
#define FAST_INDEX_SETTING "pg_pardump.fast_index"

/*
 * A read-only setting that shows why the server builds the indexes of the
 * session.  It is empty if a comparison has found no difference.
 */
#define FAST_INDEX_REASON_SETTING "pg_pardump.fast_index_reason"

/*
 * Define the settings and install the hooks.  This must be called once, when
 * the library is loaded, after load_hook_install(): the hook of that function
 * does nothing if another hook was installed before.
 */
extern void index_hook_install(void);

/*
 * Return why the server has to build the indexes of the session: half a
 * sentence, which is not freed.  Returns NULL if a comparison has found no
 * difference.
 */
extern const char *index_compare_reason(void);

/*
 * Run the comparison, unless the session already has a result.  It fills a
 * temporary table, builds indexes on it in both ways, and rolls all of that
 * back.  A difference is reported as a warning, and so is an error of the
 * checks in tree_writer.c.  Other failures raise no error, except that of a
 * canceled statement: index_compare_reason() returns that builds could not be
 * compared.  The caller must be in a transaction.
 */
extern void index_compare_run(void);

#endif							/* PARDUMP_INDEX_COMPARE_H */
