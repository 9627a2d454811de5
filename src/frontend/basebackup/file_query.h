/*
 * file_query.h
 *		Queries about the server's files: paths in them, and what the server
 *		answers.
 */
#ifndef FILE_QUERY_H
#define FILE_QUERY_H

#include "libpq-fe.h"
#include "pqexpbuffer.h"

/*
 * Append an SQL expression for a path that came from the server and may have
 * any bytes: a literal must be valid in the server's encoding, and a file's
 * name need not be.
 */
extern void file_query_append_path(PQExpBuffer sql, PGconn *conn,
								   const char *path);

/*
 * A number of a result in binary format, of int8.  The program ends if it is
 * of another length: a server is not believed to send what it was asked for.
 */
extern int64 file_query_int64(const PGresult *res, int row, int column);

/* The same of an int4, a row's first value: what it is of. */
extern uint32 file_query_number(const PGresult *res, int row);

/* The same of a file's size, which is one that a file can have. */
extern uint64 file_query_size(const PGresult *res, int row, int column,
							  const char *path);

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
 * Run a COPY ... TO STDOUT in binary format, and hand over its rows, each of
 * n_values values.  NULL on success.  An error with this SQLSTATE, unless
 * that is NULL, is returned, owned; some rows may have been handed over
 * before it.  Any other error ends the process.
 */
extern PGresult *file_query_try(PGconn *conn, const char *statement,
								int n_values, const char *sqlstate,
								CopyRowTake take, void *arg);

/* Says that the server has sent something odd, and exits. */
pg_noreturn extern void file_query_unexpected(void);

#endif							/* FILE_QUERY_H */
