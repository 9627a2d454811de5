/*-------------------------------------------------------------------------
 *
 * argument.h
 *	  A check that the SQL functions make of their arguments.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ARGUMENT_H
#define PARDUMP_ARGUMENT_H

#include "postgres.h"

#include "fmgr.h"

/*
 * Raise an error if argument "no", from 0, is NULL.  The functions are not
 * strict: no rows for a NULL argument would look like nothing to dump.
 */
static inline void
check_not_null(FunctionCallInfo fcinfo, int no, const char *what)
{
	if (PG_ARGISNULL(no))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", what)));
}

#endif							/* PARDUMP_ARGUMENT_H */
