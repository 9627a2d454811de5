/*-------------------------------------------------------------------------
 *
 * builtin_function.c
 *	  Which built-in function a type's function is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "utils/fmgrtab.h"

#include "base/builtin_function.h"

Oid
builtin_function(const FmgrInfo *function)
{
	if (function->fn_oid < FirstGenbkiObjectId)
		return function->fn_oid;

	for (int i = 0; i < fmgr_nbuiltins; i++)
	{
		if (fmgr_builtins[i].func == function->fn_addr)
			return fmgr_builtins[i].foid;
	}
	return InvalidOid;
}
