/*-------------------------------------------------------------------------
 *
 * read_function.h
 *	  The SQL function pg_pardump_read(): a chunk as a set of bytea values,
 *	  and pg_pardump_last_read(), which tells how much that was.
 *
 * Between its calls pg_pardump_read() holds:
 *
 * resource								| owner
 * -------------------------------------+-----------------------------------
 * relation, its ACCESS SHARE lock		| resource owner of the portal
 * registered snapshot					| the same
 * pins: a page of the table, one of	| the same
 *	 its TOAST table, those that a read |
 *	 stream has read ahead (since 17)	|
 * TOAST table, its indexes, the scan,	| the same
 *	 ACCESS SHARE locks on them			|
 * rows, blocks, rings of buffers		| the FuncCallContext's memory
 * codec: malloc()ed memory, threads	| a callback of that memory context
 *	 of zstd							| (bytes/context_compressor.c)
 * end_read_call()						| ExprContext; called when the query
 *										| ends or is rescanned, not on abort
 *
 * What happens to them:
 *
 * event								| effect
 * -------------------------------------+-----------------------------------
 * a subtransaction that is younger		| none, since the portal is older;
 *	 than the portal is rolled back		| heap_check_lasts() refuses a file
 *										| that would be removed
 * an older one is rolled back			| the portal is dropped: see below
 * the portal is dropped in an aborted	| the callback frees the codec, the
 *	 transaction						| resource owner releases the rest
 * commit, the cursor is WITH HOLD		| the server reads all rows first
 * 1,000 cursors are open				| 1,000 times the above; too many pins
 *										| are an error of the session ("no
 *										| unpinned buffers available")
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_READ_FUNCTION_H
#define PARDUMP_READ_FUNCTION_H

#include "postgres.h"

#include "fmgr.h"

/* ----------
 * A check that the SQL functions make of their arguments.
 * ----------
 */

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

#endif							/* PARDUMP_READ_FUNCTION_H */
