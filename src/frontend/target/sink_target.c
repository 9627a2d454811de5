/*
 * sink_target.c
 *		Hands rows to COPY ... FROM STDIN, and contents to large objects.
 */
#include "base/fe_compat.h"

#include "port/pg_bswap.h"

#include "session/session.h"
#include "session/session_loss.h"
#include "target/sink_target.h"

/*
 * Bytes in a message: large enough to cost little, small enough that the
 * server works on one while we read the next.
 */
#define MESSAGE_BYTES ((size_t) 64 * 1024)

typedef struct CopyInSink
{
	Sink		base;
	PGconn	   *conn;
	const char *statement;
	uint64		rows;			/* once it is finished */
} CopyInSink;

/* The server has ended the command, or the connection broke. */
static void
copy_in_failed(const CopyInSink *sink)
{
	PGresult   *res;

	/* if the server said why, that is its answer to the command */
	(void) PQputCopyEnd(sink->conn, NULL);
	res = PQgetResult(sink->conn);
	session_failed(sink->conn, res, "could not write rows", sink->statement);
}

static void
sink_copy_in_write(Sink *sink, const void *data, size_t len)
{
	CopyInSink *copy = (CopyInSink *) sink;
	const char *pos = data;

	while (len > 0)
	{
		size_t		part = Min(len, MESSAGE_BYTES);

		if (PQputCopyData(copy->conn, pos, (int) part) != 1)
			copy_in_failed(copy);
		pos += part;
		len -= part;
	}
}

static void
sink_copy_in_finish(Sink *sink)
{
	CopyInSink *copy = (CopyInSink *) sink;
	PGresult   *res;

	if (PQputCopyEnd(copy->conn, NULL) != 1)
		copy_in_failed(copy);
	res = PQgetResult(copy->conn);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(copy->conn, res, "could not write rows", copy->statement);
	copy->rows = strtoull(PQcmdTuples(res), NULL, 10);
	PQclear(res);
	while ((res = PQgetResult(copy->conn)) != NULL)
		PQclear(res);
}

static void
sink_copy_in_free(Sink *sink)
{
	free(sink);
}

static const SinkOps sink_copy_in_ops = {
	.write = sink_copy_in_write,
	.finish = sink_copy_in_finish,
	.free = sink_copy_in_free
};

Sink *
sink_copy_in_new(PGconn *conn, const char *statement)
{
	CopyInSink *sink = pg_malloc0(sizeof(CopyInSink));
	PGresult   *res = PQexec(conn, statement);

	sink->base.ops = &sink_copy_in_ops;
	sink->conn = conn;
	sink->statement = statement;
	if (PQresultStatus(res) != PGRES_COPY_IN)
		session_failed(conn, res, "could not write rows", statement);
	PQclear(res);
	return &sink->base;
}

uint64
sink_copy_in_rows(const Sink *sink)
{
	return ((const CopyInSink *) sink)->rows;
}

/* ----------
 * Large objects
 * ----------
 */
typedef struct LargeObjectSink
{
	Sink		base;
	PGconn	   *conn;
	Oid			oid;
	uint64		offset;			/* where the next bytes go */
} LargeObjectSink;

static const char put_query[] =
"SELECT pg_catalog.lo_put($1::pg_catalog.oid, $2::pg_catalog.int8,"
" $3::pg_catalog.bytea)";

static void
sink_large_object_write(Sink *sink, const void *data, size_t len)
{
	LargeObjectSink *object = (LargeObjectSink *) sink;
	uint32		oid = pg_hton32(object->oid);
	uint64		offset = pg_hton64(object->offset);
	const char *values[] = {(char *) &oid, (char *) &offset, data};
	int			lengths[] = {sizeof(oid), sizeof(offset), (int) len};
	int			formats[] = {1, 1, 1};
	PGresult   *res;

	if (len == 0)
		return;
	res = PQexecParams(object->conn, put_query, 3,
					   NULL, values, lengths, formats, 0);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(object->conn, res, "could not write a large object", put_query);
	PQclear(res);
	object->offset += len;
}

/* The server has it all. */
static void
sink_large_object_finish(Sink *sink)
{
}

static void
sink_large_object_free(Sink *sink)
{
	free(sink);
}

static const SinkOps sink_large_object_ops = {
	.write = sink_large_object_write,
	.finish = sink_large_object_finish,
	.free = sink_large_object_free
};

Sink *
sink_large_object_new(PGconn *conn, Oid oid)
{
	LargeObjectSink *sink = pg_malloc0(sizeof(LargeObjectSink));

	sink->base.ops = &sink_large_object_ops;
	sink->conn = conn;
	sink->oid = oid;
	return &sink->base;
}
