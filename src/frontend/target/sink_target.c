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
	char	  **error;			/* NULL: an error ends the process */
	uint64		n_rows;			/* once it is finished */
} TargetRowsSink;

/* The server has refused a command, or the connection broke. */
static void
command_failed(PGconn *conn, const PGresult *res, const char *problem,
			   const char *sql, char **error)
{
	if (error == NULL || session_is_lost(conn, res))
		session_failed(conn, res, problem, sql);
	*error = session_error_words(conn, res);
}

/* The same of the COPY, which has ended. */
static void
copy_failed(TargetRowsSink *sink, const PGresult *res)
{
	command_failed(sink->conn, res, "could not write rows", sink->statement,
				   sink->error);
}

/* The command has its result: nothing else may follow. */
static void
take_rest(PGconn *conn)
{
	PGresult   *res;

	while ((res = PQgetResult(conn)) != NULL)
		PQclear(res);
}

static bool
has_failed(const TargetRowsSink *sink)
{
	return sink->error && *sink->error;
}

static void
sink_target_rows_write(Sink *sink, const void *data, size_t len)
{
	TargetRowsSink *rows = (TargetRowsSink *) sink;
	const char *pos = data;

	while (len > 0 && !has_failed(rows))
	{
		size_t		part = Min(len, MESSAGE_BYTES);

		if (PQputCopyData(rows->conn, pos, (int) part) != 1)
		{
			PGresult   *res;

			/* if the server said why, that is its answer to the command */
			(void) PQputCopyEnd(rows->conn, NULL);
			res = PQgetResult(rows->conn);
			copy_failed(rows, res);
			PQclear(res);
			take_rest(rows->conn);
		}
		pos += part;
		len -= part;
	}
}

/* End the command; reason: as PQputCopyEnd() has it. */
static void
end_copy(TargetRowsSink *rows, const char *reason)
{
	PGresult   *res;

	if (PQputCopyEnd(rows->conn, reason) != 1)
	{
		res = PQgetResult(rows->conn);
		copy_failed(rows, res);
	}
	else
	{
		res = PQgetResult(rows->conn);
		if (PQresultStatus(res) != PGRES_COMMAND_OK)
			copy_failed(rows, res);
		else
			rows->n_rows = strtoull(PQcmdTuples(res), NULL, 10);
	}
	PQclear(res);
	take_rest(rows->conn);
}

static void
sink_target_rows_finish(Sink *sink)
{
	TargetRowsSink *rows = (TargetRowsSink *) sink;

	if (!has_failed(rows))
		end_copy(rows, NULL);
}

void
sink_target_rows_give_up(Sink *sink, const char *reason)
{
	TargetRowsSink *rows = (TargetRowsSink *) sink;

	if (!has_failed(rows))
		end_copy(rows, reason);
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
sink_target_rows_new(PGconn *conn, const char *statement, char **error)
{
	TargetRowsSink *sink = pg_malloc0(sizeof(TargetRowsSink));
	PGresult   *res = PQexec(conn, statement);

	sink->base.ops = &sink_target_rows_ops;
	sink->conn = conn;
	sink->statement = statement;
	sink->error = error;
	if (PQresultStatus(res) != PGRES_COPY_IN)
		copy_failed(sink, res);
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
	char	  **error;			/* NULL: an error ends the process */
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

	if (len == 0 || (object->error && *object->error))
		return;
	res = PQexecParams(object->conn, put_query, 3,
					   NULL, values, lengths, formats, 0);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		command_failed(object->conn, res, "could not write a large object",
					   put_query, object->error);
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
sink_target_object_new(PGconn *conn, Oid oid, char **error)
{
	TargetObjectSink *sink = pg_malloc0(sizeof(TargetObjectSink));

	sink->base.ops = &sink_target_object_ops;
	sink->conn = conn;
	sink->oid = oid;
	sink->error = error;
	return &sink->base;
}
