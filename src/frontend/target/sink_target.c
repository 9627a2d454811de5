/*
 * sink_target.c
 *		Hands rows to COPY ... FROM STDIN, and contents to large objects.
 */
#include "base/fe_compat.h"

#include "port/pg_bswap.h"

#include "session/session_loss.h"
#include "target/sink_target.h"

/*
 * Bytes in a message: large enough to cost little, small enough that the
 * server works on one while we read the next.
 */
#define MESSAGE_BYTES ((size_t) 64 * 1024)

typedef struct TargetRowsSink
{
	Sink		base;
	PGconn	   *conn;
	const char *statement;
	uint64		n_rows;			/* once it is finished */
} TargetRowsSink;

/* The server has ended the command, or the connection broke. */
static void
write_failed(const TargetRowsSink *sink)
{
	PGresult   *res;

	/* if the server said why, that is its answer to the command */
	(void) PQputCopyEnd(sink->conn, NULL);
	res = PQgetResult(sink->conn);
	session_failed(sink->conn, res, "could not write rows", sink->statement);
}

static void
sink_target_rows_write(Sink *sink, const void *data, size_t len)
{
	TargetRowsSink *rows = (TargetRowsSink *) sink;
	const char *pos = data;

	while (len > 0)
	{
		size_t		part = Min(len, MESSAGE_BYTES);

		if (PQputCopyData(rows->conn, pos, (int) part) != 1)
			write_failed(rows);
		pos += part;
		len -= part;
	}
}

static void
sink_target_rows_finish(Sink *sink)
{
	TargetRowsSink *rows = (TargetRowsSink *) sink;
	PGresult   *res;

	if (PQputCopyEnd(rows->conn, NULL) != 1)
		write_failed(rows);
	res = PQgetResult(rows->conn);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(rows->conn, res, "could not write rows", rows->statement);
	rows->n_rows = strtoull(PQcmdTuples(res), NULL, 10);
	PQclear(res);
	while ((res = PQgetResult(rows->conn)) != NULL)
		PQclear(res);
}

static void
sink_target_rows_free(Sink *sink)
{
	free(sink);
}

static const SinkOps sink_target_rows_ops = {
	.write = sink_target_rows_write,
	.finish = sink_target_rows_finish,
	.free = sink_target_rows_free
};

Sink *
sink_target_rows_new(PGconn *conn, const char *statement)
{
	TargetRowsSink *sink = pg_malloc0(sizeof(TargetRowsSink));
	PGresult   *res = PQexec(conn, statement);

	sink->base.ops = &sink_target_rows_ops;
	sink->conn = conn;
	sink->statement = statement;
	if (PQresultStatus(res) != PGRES_COPY_IN)
		session_failed(conn, res, "could not write rows", statement);
	PQclear(res);
	return &sink->base;
}

uint64
sink_target_rows_taken(const Sink *sink)
{
	return ((const TargetRowsSink *) sink)->n_rows;
}

/* ----------
 * Large objects
 * ----------
 */
typedef struct TargetObjectSink
{
	Sink		base;
	PGconn	   *conn;
	Oid			oid;
	uint64		offset;			/* where the next bytes go */
} TargetObjectSink;

static const char put_query[] =
"SELECT pg_catalog.lo_put($1::pg_catalog.oid, $2::pg_catalog.int8,"
" $3::pg_catalog.bytea)";

static void
sink_target_object_write(Sink *sink, const void *data, size_t len)
{
	TargetObjectSink *object = (TargetObjectSink *) sink;
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
sink_target_object_finish(Sink *sink)
{
}

static void
sink_target_object_free(Sink *sink)
{
	free(sink);
}

static const SinkOps sink_target_object_ops = {
	.write = sink_target_object_write,
	.finish = sink_target_object_finish,
	.free = sink_target_object_free
};

Sink *
sink_target_object_new(PGconn *conn, Oid oid)
{
	TargetObjectSink *sink = pg_malloc0(sizeof(TargetObjectSink));

	sink->base.ops = &sink_target_object_ops;
	sink->conn = conn;
	sink->oid = oid;
	return &sink->base;
}
