/*-------------------------------------------------------------------------
 *
 * index_command.h
 *	  Builds indexes faster, where a session asks for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_COMMAND_H
#define PARDUMP_INDEX_COMMAND_H

/* The setting, off unless a session, role or database has asked for it. */
#define FAST_INDEX_SETTING "pg_pardump.fast_index"

/*
 * A setting that only shows why builds are left to the server, or nothing if
 * a comparison has found no difference.
 */
#define FAST_INDEX_REASON_SETTING "pg_pardump.fast_index_reason"

/*
 * Define the setting and install the hooks: to be called once, when the
 * library is loaded, after load_hook_install(), whose hook does nothing if
 * another one was there before.
 */
extern void index_hook_install(void);

#endif							/* PARDUMP_INDEX_COMMAND_H */
