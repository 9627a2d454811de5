/*-------------------------------------------------------------------------
 *
 * sql_call.h
 *	  Arguments and results of the SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_SQL_CALL_H
#define PARDUMP_SQL_CALL_H

#include "fmgr.h"

#include "shared/compress.h"

/*
 * Raise an error if argument "no", from 0, is NULL.  The functions are not
 * strict: no rows for a NULL argument would look like nothing to dump.
 */
extern void check_not_null(FunctionCallInfo fcinfo, int no, const char *what);

/*
 * From now on this process keeps some MiB that it has freed.  To be called by
 * functions that make or take blocks of rows one after another; it may be
 * called any number of times.
 */
extern void kept_memory_begin(void);

/*
 * The compression that an argument names; another text is an error (22023).
 */
extern CompressSpec read_compress_spec(const char *name);

/* The row that a function with OUT parameters returns. */
extern Datum result_row(FunctionCallInfo fcinfo, const Datum *values,
						const bool *nulls);

/*
 * The result of the session's last call of a function, for another function
 * to return.  Only the role of that call may see these values: another role
 * may not be allowed to read what they were computed from.
 */
#define MAX_KEPT_VALUES 3

typedef struct KeptResult
{
	int			n_values;
	int16		typlen;			/* of each of them, as in pg_type */
	bool		typbyval;		/* else they are in TopMemoryContext */
	bool		is_set;			/* else the values are not there */
	Oid			role;
	Datum		values[MAX_KEPT_VALUES];
} KeptResult;

/* Keep copies of the values, instead of those that are kept. */
extern void kept_result_set(KeptResult *kept, Oid role, const Datum *values);

/*
 * Free the values, so that a call that fails leaves none of an earlier one.
 */
extern void kept_result_forget(KeptResult *kept);

/* The row of them, all NULL if the current user may not see them. */
extern Datum kept_result_row(FunctionCallInfo fcinfo, const KeptResult *kept);

#endif							/* PARDUMP_SQL_CALL_H */
