/*-------------------------------------------------------------------------
 *
 * builtin_function.h
 *	  Which built-in function a type's function is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BUILTIN_FUNCTION_H
#define PARDUMP_BUILTIN_FUNCTION_H

#include "postgres.h"

#include "fmgr.h"

/*
 * The OID of the built-in function (F_... of utils/fmgroids.h) that a
 * function is: itself, or, if it was created as another name for one in
 * LANGUAGE internal (citext's output function is textout), the one it calls.
 * InvalidOid if it is none.
 */
extern Oid	builtin_function(const FmgrInfo *function);

#endif							/* PARDUMP_BUILTIN_FUNCTION_H */
