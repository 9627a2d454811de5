/*-------------------------------------------------------------------------
 *
 * load_copy.h
 *	  COPY ... FROM STDIN in text format, done faster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_LOAD_COPY_H
#define PARDUMP_LOAD_COPY_H

/* ----------
 * Takes COPY FROM STDIN over from the server, where a session asks for it.
 * ----------
 */

/* The setting, off unless a session, role or database has asked for it. */
#define FAST_COPY_SETTING "pg_pardump.fast_copy"

/*
 * Define the setting and install the hook: to be called once, when the
 * library is loaded.
 */
extern void load_hook_install(void);

#endif							/* PARDUMP_LOAD_COPY_H */
