/*
 * sink_target.c
 *		Hands rows to COPY ... FROM STDIN, and contents to large objects.
 */
#include "base/fe_compat.h"

#include "port/pg_bswap.h"

#include "session/session_loss.h"
#include "target/sink_target.h"
#include "target/target.h"

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
	Oid			table;			/* that it is to be about */
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

/*
 * Has the session's transaction locked the table in this mode?  Asked after a
 * statement that does so, by name, and keeps the lock: what a name meant
 * before or afterwards need not be what it meant then.
 */
static bool
is_locked(PGconn *conn, Oid table, const char *mode)
{
	static const char query[] =
		"SELECT FROM pg_catalog.pg_locks l"
		" WHERE l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()"
		" AND l.locktype OPERATOR(pg_catalog.=) 'relation'"
		" AND l.relation OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
		" AND l.mode OPERATOR(pg_catalog.=) $2::pg_catalog.text AND l.granted";
	char	   *oid = psprintf("%u", table);
	const char *params[] = {oid, mode};
	PGresult   *res = target_query(conn, query, 2, params);
	bool		result = PQntuples(res) > 0;

	PQclear(res);
	free(oid);
	return result;
}

/* The words for it if it has not. */
#define OTHER_TABLE "the table's name has been given to another table"

/* The COPY is done. */
static void
check_table(const TargetRowsSink *sink)
{
	if (is_locked(sink->conn, sink->table, "RowExclusiveLock"))
		return;
	if (sink->error)
	{
		*sink->error = pg_strdup(OTHER_TABLE);
		return;
	}
	pg_log_error("could not write rows: %s", OTHER_TABLE);
	pg_log_error_detail("Statement was: %s", sink->statement);
	exit(1);
}

void
sink_target_truncate(PGconn *conn, const char *name, Oid table)
{
	char	   *sql = psprintf("TRUNCATE TABLE ONLY %s", name);

	PQclear(target_query(conn, sql, 0, NULL));
	if (!is_locked(conn, table, "AccessExclusiveLock"))
	{
		pg_log_error("could not empty a table: %s", OTHER_TABLE);
		pg_log_error_detail("Statement was: %s", sql);
		exit(1);
	}
	free(sql);
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
	if (!has_failed(rows))
		check_table(rows);
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
sink_target_rows_new(PGconn *conn, const char *statement, Oid table,
					 char **error)
{
	TargetRowsSink *sink = pg_malloc0(sizeof(TargetRowsSink));
	PGresult   *res = PQexec(conn, statement);

	sink->base.ops = &sink_target_rows_ops;
	sink->conn = conn;
	sink->statement = statement;
	sink->table = table;
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
