/*
 * file_query.c
 *		Queries about the server's files, with names in any encoding and
 *		results in binary format.
 *
 * The server may be hostile, so all lengths and numbers in results are
 * checked.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"
#include "port/pg_bswap.h"

#include "base/hex.h"
#include "basebackup/file_query.h"
#include "session/session.h"
#include "session/session_lost.h"

/* No file system allows larger files. */
#define MOST_FILE_BYTES ((uint64) 1 << 62)

/* The bytes of the signature, the flags and the length of the extension. */
#define HEAD_BYTES 19

static const char problem[] = "could not read files";

/* ----------
 * Paths and numbers
 * ----------
 */

/*
 * Append a path as an SQL expression.  A path with non-ASCII bytes cannot be
 * sent as text, because the session's encoding is SQL_ASCII, but the server's
 * may be another one.  pg_ls_dir() returns such names, so the path is
 * composed from its results, level by level.
 */
void
file_query_append_path(PQExpBuffer sql, PGconn *conn, const char *path)
{
	const char *name = strrchr(path, '/');
	bool		plain = true;
	char	   *parent;
	char	   *digits;

	for (const char *pos = path; *pos; pos++)
		plain &= !IS_HIGHBIT_SET(*pos);
	if (plain)
	{
		appendStringLiteralConn(sql, path, conn);
		return;
	}
	/* pg_ls_dir() returns the name with all its bytes. */
	parent = name ? pnstrdup(path, name - path) : pg_strdup(".");
	name = name ? name + 1 : path;
	digits = hex_encode(name, strlen(name));
	appendPQExpBufferStr(sql, "pg_catalog.concat(");
	file_query_append_path(sql, conn, parent);
	appendPQExpBufferStr(sql, ", '/', (SELECT x FROM pg_catalog.pg_ls_dir(");
	file_query_append_path(sql, conn, parent);
	appendPQExpBuffer(sql, ", true, false) x WHERE pg_catalog.textsend(x)"
					  " OPERATOR(pg_catalog.=) '\\x%s'::pg_catalog.bytea))", digits);
	free(digits);
	free(parent);
}

int64
file_query_int64(const PGresult *res, int row, int column)
{
	uint64		value;

	if (PQgetlength(res, row, column) != sizeof(value))
		file_query_unexpected();
	memcpy(&value, PQgetvalue(res, row, column), sizeof(value));
	return (int64) pg_ntoh64(value);
}

uint64
file_query_size(const PGresult *res, int row, int column, const char *path)
{
	uint64		size = (uint64) file_query_int64(res, row, column);

	/* Ranges up to this size can be counted without an overflow. */
	if (size > MOST_FILE_BYTES)
		session_unexpected(psprintf("The size of file \"%s\", " UINT64_FORMAT ", is out of range.",
									printable(path), size));
	return size;
}

uint32
file_query_number(const PGresult *res, int row)
{
	uint32		n;

	if (PQgetlength(res, row, 0) != sizeof(n))
		file_query_unexpected();
	memcpy(&n, PQgetvalue(res, row, 0), sizeof(n));
	return pg_ntoh32(n);
}

/* ----------
 * Rows of a COPY ... TO STDOUT in binary format
 * ----------
 */
void
file_query_unexpected(void)
{
	session_unexpected("Names, sizes or contents of files are not in the expected format.");
}

/* Take the next n bytes of a message, which must contain them. */
static const char *
take_bytes(const char **pos, size_t *len, size_t n)
{
	const char *data = *pos;

	if (*len < n)
		file_query_unexpected();
	*pos += n;
	*len -= n;
	return data;
}

static void
take_row(const char *row, size_t len, int n_values, CopyRowTake take, void *arg)
{
	CopyValue	values[MAX_COPY_VALUES];
	uint16		n;

	memcpy(&n, take_bytes(&row, &len, sizeof(n)), sizeof(n));
	if (pg_ntoh16(n) != n_values)
		file_query_unexpected();
	for (int i = 0; i < n_values; i++)
	{
		uint32		length;

		memcpy(&length, take_bytes(&row, &len, sizeof(length)),
			   sizeof(length));
		values[i].len = (int32) pg_ntoh32(length);
		if (values[i].len < -1)
			file_query_unexpected();
		values[i].data = take_bytes(&row, &len, Max(values[i].len, 0));
	}
	if (len != 0)
		file_query_unexpected();
	take(arg, values);
}

/*
 * The manual of COPY describes the format ("Binary Format").  libpq returns
 * one message per row; the header comes with the first one.
 */
PGresult *
file_query_try(PGconn *conn, const char *statement, int n_values,
			   const char *sqlstate, CopyRowTake take, void *arg)
{
	PGresult   *res = session_exec(conn, statement);
	size_t		head = HEAD_BYTES;
	char	   *message;
	int			received;

	if (PQresultStatus(res) != PGRES_COPY_OUT)
		session_failed(conn, res, problem, statement);
	PQclear(res);
	while ((received = session_wait_copy_data(conn, &message)) > 0)
	{
		const char *pos = message;
		size_t		len = received;

		/* The header comes with the first row, or with the end. */
		(void) take_bytes(&pos, &len, head);
		head = 0;
		if (len != 2 || memcmp(pos, "\377\377", 2) != 0)
			take_row(pos, len, n_values, take, arg);
		PQfreemem(message);
	}
	if (received == -2)
		session_failed(conn, NULL, problem, statement);
	res = session_wait_result(conn, -1);
	if (PQresultStatus(res) == PGRES_COMMAND_OK)
	{
		PQclear(res);
		return NULL;
	}
	if (sqlstate == NULL || !session_error_is(res, sqlstate))
		session_failed(conn, res, problem, statement);
	return res;
}
