/*
 * file_query.h
 *		Paths in queries about the server's files, and numbers in the results.
 */
#ifndef FILE_QUERY_H
#define FILE_QUERY_H

#include "base/fe_compat.h"

#include "libpq-fe.h"
#include "pqexpbuffer.h"

/*
 * Append an SQL expression for a path that came from the server, whatever its
 * bytes: a literal must be valid in the server's encoding, and a file's name
 * need not be.
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

#endif							/* FILE_QUERY_H */
