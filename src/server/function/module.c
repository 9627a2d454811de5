/*-------------------------------------------------------------------------
 *
 * module.c
 *	  What makes the library a module of the server it was built for.
 *
 * There is nothing to do when it is loaded: no settings, no hooks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;
