/*-------------------------------------------------------------------------
 *
 * module.c
 *	  What makes the library a module of the server it was built for, and
 *	  what is done when it is loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "load/load_hook.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	load_hook_install();
}
