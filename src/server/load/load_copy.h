/*-------------------------------------------------------------------------
 *
 * load_copy.h
 *	  Executes COPY ... FROM STDIN in text format instead of the server, in
 *	  less time.
 *
 * function/load_function.c installs the hook when the library is loaded.
 * pg_pardump and pg_parrestore enable the setting in the sessions in which
 * they load rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_LOAD_COPY_H
#define PARDUMP_LOAD_COPY_H

/* The setting that enables this; off by default. */
#define FAST_COPY_SETTING "pg_pardump.fast_copy"

/*
 * Define the setting and install the hook.  This must be called once, when
 * the library is loaded.
 */
extern void load_hook_install(void);

#endif							/* PARDUMP_LOAD_COPY_H */
