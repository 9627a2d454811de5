/*
 * file_query.c
 *		Paths in queries about the server's files, and numbers in the results.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"
#include "port/pg_bswap.h"

#include "base/printable.h"
#include "basebackup/copy_rows.h"
#include "basebackup/file_query.h"
#include "stream/hex.h"

/* More than any file system has room for in a file. */
#define MOST_FILE_BYTES ((uint64) 1 << 62)

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
	/* pg_ls_dir() returns any bytes, so the path is made of its results */
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
		copy_rows_unexpected();
	memcpy(&value, PQgetvalue(res, row, column), sizeof(value));
	return (int64) pg_ntoh64(value);
}

uint64
file_query_size(const PGresult *res, int row, int column, const char *path)
{
	uint64		size = (uint64) file_query_int64(res, row, column);

	/* ranges of so many bytes are counted without an overflow */
	if (size > MOST_FILE_BYTES)
		pg_fatal("invalid size of file \"%s\" from the server: " UINT64_FORMAT,
				 printable(path), size);
	return size;
}

uint32
file_query_number(const PGresult *res, int row)
{
	uint32		n;

	if (PQgetlength(res, row, 0) != sizeof(n))
		copy_rows_unexpected();
	memcpy(&n, PQgetvalue(res, row, 0), sizeof(n));
	return pg_ntoh32(n);
}
