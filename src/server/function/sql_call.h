/*-------------------------------------------------------------------------
 *
 * sql_call.h
 *	  Common parts of the SQL functions: arguments, results, and memory that
 *	  is kept between calls.
 *
 * All files of function/ use these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_SQL_CALL_H
#define PARDUMP_SQL_CALL_H

#include "fmgr.h"

#include "shared/compress.h"

/*
 * Raise an error if the argument "no", counted from 0, is NULL.  The SQL
 * functions are not strict, because a strict one would return no rows for a
 * NULL argument, as if there was nothing to dump.
 */
extern void check_not_null(FunctionCallInfo fcinfo, int no, const char *what);

/*
 * From now on, the process keeps a few MiB of freed memory.  Functions that
 * make or receive one block of rows after another call this.  It may be
 * called any number of times.
 */
extern void kept_memory_begin(void);

/* Parse the argument for compression; any other text is an error (22023). */
extern CompressSpec read_compress_spec(const char *name);

/* Make the row that a function with OUT parameters returns. */
extern Datum result_row(FunctionCallInfo fcinfo, const Datum *values,
						const bool *nulls);

/*
 * The result of the session's last call of a function, which another function
 * returns.  Only the role of that call can get the values, as other roles may
 * have no permission to read the data from which they were computed.
 */
#define MAX_KEPT_VALUES 3

typedef struct KeptResult
{
	int			n_values;
	int16		typlen;			/* of each value, as in pg_type */
	bool		typbyval;		/* if not, they are in TopMemoryContext */
	bool		is_set;			/* if not, the values are invalid */
	Oid			role;
	Datum		values[MAX_KEPT_VALUES];
} KeptResult;

/* Replace the kept values by copies of these. */
extern void kept_result_set(KeptResult *kept, Oid role, const Datum *values);

/*
 * Free the kept values.  This is called at the start of a function, so that
 * after a failure no values of an earlier call are returned.
 */
extern void kept_result_forget(KeptResult *kept);

/* Make a row of the values; all are NULL if the current user is another. */
extern Datum kept_result_row(FunctionCallInfo fcinfo, const KeptResult *kept);

#endif							/* PARDUMP_SQL_CALL_H */
