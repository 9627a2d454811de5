/*
 * copy_rows.c
 *		Rows of a COPY ... TO STDOUT in binary format, as they come.
 */
#include "base/fe_compat.h"

#include "port/pg_bswap.h"

#include "basebackup/copy_rows.h"
#include "session/session.h"
#include "session/session_loss.h"
#include "session/session_wait.h"

/* Signature, flags, extension. */
#define HEAD_BYTES 19

static const char problem[] = "could not read files";

void
copy_rows_unexpected(void)
{
	pg_fatal("unexpected data from the server while reading files");
}

/* The next bytes of a message, which must have them. */
static const char *
take_bytes(const char **pos, size_t *len, size_t n)
{
	const char *data = *pos;

	if (*len < n)
		copy_rows_unexpected();
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
		copy_rows_unexpected();
	for (int i = 0; i < n_values; i++)
	{
		uint32		length;

		memcpy(&length, take_bytes(&row, &len, sizeof(length)),
			   sizeof(length));
		values[i].len = (int32) pg_ntoh32(length);
		if (values[i].len < -1)
			copy_rows_unexpected();
		values[i].data = take_bytes(&row, &len, Max(values[i].len, 0));
	}
	if (len != 0)
		copy_rows_unexpected();
	take(arg, values);
}

static bool
has_sqlstate(const PGresult *res, const char *sqlstate)
{
	const char *has = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	return has && sqlstate && strcmp(has, sqlstate) == 0;
}

PGresult *
copy_rows_try(PGconn *conn, const char *statement, int n_values,
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

		/* the server sends it with the first row, or with the end */
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
	if (!has_sqlstate(res, sqlstate))
		session_failed(conn, res, problem, statement);
	return res;
}

void
copy_rows_read(PGconn *conn, const char *statement, int n_values,
			   CopyRowTake take, void *arg)
{
	(void) copy_rows_try(conn, statement, n_values, NULL, take, arg);
}
