/*-------------------------------------------------------------------------
 *
 * index_command.h
 *	  The settings with which a session lets the extension build indexes.
 *
 * pg_pardump and pg_parrestore use them in the sessions that build indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_COMMAND_H
#define PARDUMP_INDEX_COMMAND_H

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

#endif							/* PARDUMP_INDEX_COMMAND_H */
