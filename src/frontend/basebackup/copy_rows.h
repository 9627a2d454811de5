/*
 * copy_rows.h
 *		Rows of a COPY ... TO STDOUT in binary format, as they come.
 */
#ifndef COPY_ROWS_H
#define COPY_ROWS_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/* A value: its bytes, which go with the row; none if len is -1, NULL. */
typedef struct CopyValue
{
	const char *data;
	int32		len;
} CopyValue;

/* Of a row, as many as it was said to have. */
#define MAX_COPY_VALUES 2

typedef void (*CopyRowTake) (void *arg, const CopyValue *values);

/*
 * Run the statement, and hand over its rows of n_values each.  If the server
 * fails, session_failed(); if it sends something else than rows of that form
 * ("Binary Format" in the manual of COPY), copy_rows_unexpected().
 */
extern void copy_rows_read(PGconn *conn, const char *statement, int n_values,
						   CopyRowTake take, void *arg);

/*
 * The same, but an error with this SQLSTATE is returned; owned.  NULL on
 * success.  Some rows may have been handed over before the error.
 */
extern PGresult *copy_rows_try(PGconn *conn, const char *statement,
							   int n_values, const char *sqlstate,
							   CopyRowTake take, void *arg);

/* Says that the server has sent something odd, and exits. */
pg_noreturn extern void copy_rows_unexpected(void);

#endif							/* COPY_ROWS_H */
