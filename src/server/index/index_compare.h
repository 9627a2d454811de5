/*-------------------------------------------------------------------------
 *
 * index_compare.h
 *	  Builds indexes faster, where a session asks for it, and has compared
 *	  such builds with the server's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_COMPARE_H
#define PARDUMP_INDEX_COMPARE_H

/*
 * Define the setting and install the hooks: to be called once, when the
 * library is loaded, after load_hook_install(), whose hook does nothing if
 * another one was there before.
 */
extern void index_hook_install(void);

/*
 * Why the session's indexes are to be built by the server: half a sentence,
 * not to be freed.  NULL once a comparison has found no difference.
 */
extern const char *index_compare_reason(void);

/*
 * Compare, unless that was done before in the session: a temporary table is
 * filled, indexed by both, and rolled back.  A difference is reported as a
 * warning.  A failure raises no error, unless the statement is canceled:
 * index_compare_reason() returns it.  The caller is in a transaction.
 */
extern void index_compare_run(void);

#endif							/* PARDUMP_INDEX_COMPARE_H */
