/*
 * read_large_object.c
 *		Fetches the contents of large objects.
 *
 * Objects are fetched by lo_get(), a batch of first pieces in one query, as
 * most objects are small and a round trip each would be most of the work.
 * lo_get() checks privileges as lo_open() does.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "session/session.h"
#include "session/traffic.h"
#include "source/read_large_object.h"

/* The bytes of an object that are read at a time. */
#define PIECE_BYTES (1024 * 1024)

PGresult *
read_large_objects(PGconn *conn, const Oid *oids, int n_oids)
{
	PQExpBufferData sql;
	PGresult   *res;

	initPQExpBuffer(&sql);
	appendPQExpBuffer(&sql, "SELECT pg_catalog.lo_get(t.oid, 0, %d)"
					  " FROM pg_catalog.unnest('{", PIECE_BYTES);
	for (int i = 0; i < n_oids; i++)
		appendPQExpBuffer(&sql, "%s%u", i > 0 ? "," : "", oids[i]);
	appendPQExpBufferStr(&sql, "}'::pg_catalog.oid[])"
						 " WITH ORDINALITY t (oid, no) ORDER BY t.no");
	res = session_query_params(conn, sql.data, 0, NULL, 1);
	if (PQntuples(res) != n_oids)
		pg_fatal("the server sent %d large objects where %d were expected",
				 PQntuples(res), n_oids);
	termPQExpBuffer(&sql);
	return res;
}

/* What follows the first piece, up to one that is not full. */
static void
read_rest(PGconn *conn, Oid oid, Sink *sink)
{
	int			len = PIECE_BYTES;

	for (uint64 offset = len; len == PIECE_BYTES; offset += len)
	{
		char	   *sql = psprintf("SELECT pg_catalog.lo_get(%u, " UINT64_FORMAT ", %d)",
								   oid, offset, PIECE_BYTES);
		PGresult   *res = session_query_params(conn, sql, 0, NULL, 1);

		len = PQgetlength(res, 0, 0);
		traffic_take(len);
		sink_write(sink, PQgetvalue(res, 0, 0), len);
		PQclear(res);
		free(sql);
	}
}

void
read_large_object(PGconn *conn, const PGresult *batch, int row, Oid oid,
				  Sink *sink)
{
	int			len = PQgetlength(batch, row, 0);

	traffic_take(len);
	sink_write(sink, PQgetvalue(batch, row, 0), len);
	if (len == PIECE_BYTES)
		read_rest(conn, oid, sink);
}
