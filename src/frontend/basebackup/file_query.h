/*
 * file_query.h
 *		Queries about the server's files, with names in any encoding and
 *		results in binary format.
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
 * A number of type int8 in a result in binary format.  Exits with a message
 * if the value has another length, because the server need not send what was
 * requested.
 */
extern int64 file_query_int64(const PGresult *res, int row, int column);

/* Returns the number of a row's file: the first value of the row, an int4. */
extern uint32 file_query_number(const PGresult *res, int row);

/* Returns a file's size.  Exits with a message if the size is impossible. */
extern uint64 file_query_size(const PGresult *res, int row, int column,
							  const char *path);

/*
 * The bytes of a value, which are freed with the row; none if len is -1
 * (NULL).
 */
typedef struct CopyValue
{
	const char *data;
	int32		len;
} CopyValue;

/* The largest number of values in a row. */
#define MAX_COPY_VALUES 2

typedef void (*CopyRowTake) (void *arg, const CopyValue *values);

/*
 * Run a COPY ... TO STDOUT in binary format, and pass its rows, with n_values
 * values each, to take().  Returns NULL on success.  If sqlstate is not NULL,
 * an error with this SQLSTATE is returned, owned; rows before it may have
 * been passed.  Any other error ends the process.
 */
extern PGresult *file_query_try(PGconn *conn, const char *statement,
								int n_values, const char *sqlstate,
								CopyRowTake take, void *arg);

/* Report that the server has sent something unexpected, and exit. */
pg_noreturn extern void file_query_unexpected(void);

#endif							/* FILE_QUERY_H */
