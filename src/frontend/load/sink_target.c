/*
 * sink_target.c
 *		Sinks that write into the target: rows to COPY ... FROM STDIN, blocks
 *		of raw tuples to the extension, and contents to large objects.
 *
 * Before a transaction is committed, these functions also check that the
 * names in its statements led to the right tables.
 */
#include "base/fe_compat.h"

#include <sys/socket.h>

#include "catalog/pg_type_d.h"
#include "port/pg_bswap.h"

#include "load/sink_target.h"
#include "load/target.h"
#include "session/session_lost.h"

static void
sink_target_free(Sink *sink)
{
	free(sink);
}

/* ----------
 * Blocks of raw tuples for the target's extension.
 *
 * They are sent in a pipeline (libpq's manual, "Pipeline Mode"): while the
 * server inserts one block the next ones are on their way.  Its answers, one
 * row each, are requested with a flush request, and read once enough blocks
 * are on their way.  A sync comes last.
 * ----------
 */

/* The most blocks and bytes on their way, unless one block is larger. */
#define MAX_BLOCKS 4
#define MAX_BYTES ((size_t) 8 * 1024 * 1024)

/* The buffer size of a Unix-domain socket. */
#define SOCKET_BYTES (2 * 1024 * 1024)

static const char load_query[] =
"SELECT l.rows FROM " PARDUMP_LOAD_TUPLES "($1, $2) l";

/*
 * A custom plan would contain a copy of the block; the server makes five
 * custom plans for each statement.
 */
static const char plan_query[] =
"SELECT pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true)";

typedef struct TargetRawSink
{
	Sink		base;
	PGconn	   *conn;
	uint32		table;			/* its OID, as sent */
	const char *name;			/* borrowed */
	size_t		sent[MAX_BLOCKS];	/* bytes of blocks without an answer,
									 * oldest first */
	int			n_sent;
	size_t		bytes_sent;		/* their sum */
	uint64		n_rows;
} TargetRawSink;

/* The server has refused a block, or the connection broke. */
pg_noreturn static void
load_failed(const TargetRawSink *sink, const PGresult *res)
{
	session_failed(sink->conn, res, "could not write rows",
				   psprintf("SELECT " PARDUMP_LOAD_TUPLES "(%s, ...)",
							sink->name));
}

/*
 * Nothing more can be sent.  Report the server's reason, if it has sent one.
 */
pg_noreturn static void
send_failed(const TargetRawSink *sink)
{
	load_failed(sink, PQgetResult(sink->conn));
}

/* Read the answer to the oldest block. */
static void
take_answer(TargetRawSink *sink)
{
	PGresult   *res = PQgetResult(sink->conn);

	if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
		load_failed(sink, res);
	sink->n_rows += result_number(res, 0, 0);
	PQclear(res);
	/* NULL is the end of a statement's results. */
	res = PQgetResult(sink->conn);
	if (res != NULL)
		load_failed(sink, res);

	sink->bytes_sent -= sink->sent[0];
	sink->n_sent--;
	memmove(&sink->sent[0], &sink->sent[1], sink->n_sent * sizeof(size_t));
}

/*
 * Send a block.  Before that, wait for answers while too many blocks are on
 * their way: the buffers of the server and the network are limited, and a
 * refused block should be noticed soon.
 */
static void
sink_target_raw_write(Sink *sink, const void *data, size_t len)
{
	TargetRawSink *raw = (TargetRawSink *) sink;
	const char *values[] = {(const char *) &raw->table, data};
	int			lengths[] = {sizeof(raw->table), (int) len};
	int			formats[] = {1, 1};

	while (raw->n_sent == MAX_BLOCKS ||
		   (raw->n_sent > 0 && raw->bytes_sent + len > MAX_BYTES))
		take_answer(raw);
	if (!PQsendQueryPrepared(raw->conn, "", 2, values, lengths, formats, 0) ||
		!PQsendFlushRequest(raw->conn) || PQflush(raw->conn) != 0)
		send_failed(raw);
	raw->sent[raw->n_sent++] = len;
	raw->bytes_sent += len;
}

static void
sink_target_raw_finish(Sink *sink)
{
	TargetRawSink *raw = (TargetRawSink *) sink;
	PGresult   *res;

	if (!PQpipelineSync(raw->conn))
		send_failed(raw);
	while (raw->n_sent > 0)
		take_answer(raw);
	res = PQgetResult(raw->conn);
	if (PQresultStatus(res) != PGRES_PIPELINE_SYNC)
		load_failed(raw, res);
	PQclear(res);
	if (!PQexitPipelineMode(raw->conn))
		load_failed(raw, NULL);
}

static const SinkOps sink_target_raw_ops = {
	.write = sink_target_raw_write,
	.finish = sink_target_raw_finish,
	.free = sink_target_free
};

Sink *
sink_target_raw_new(PGconn *conn, Oid table, const char *name)
{
	TargetRawSink *sink = pg_malloc0(sizeof(TargetRawSink));
	const Oid	types[] = {REGCLASSOID, BYTEAOID};
	PGresult   *res;
	int			bytes;

	/*
	 * With a larger buffer, a block is sent at once instead of in parts of
	 * some 100 kB, each of which wakes up both sides.  The system may have a
	 * lower limit, and over a network it finds the best size itself.
	 */
	bytes = SOCKET_BYTES;
	if (connection_is_unix_socket(conn))
		(void) setsockopt(PQsocket(conn), SOL_SOCKET, SO_SNDBUF, &bytes,
						  sizeof(bytes));
	PQclear(session_query(conn, plan_query));
	res = PQprepare(conn, "", load_query, 2, types);
	sink->base.ops = &sink_target_raw_ops;
	sink->conn = conn;
	sink->table = pg_hton32(table);
	sink->name = name;
	if (PQresultStatus(res) != PGRES_COMMAND_OK || !PQenterPipelineMode(conn))
		load_failed(sink, res);
	PQclear(res);
	return &sink->base;
}

uint64
sink_target_raw_taken(const Sink *sink)
{
	return ((const TargetRawSink *) sink)->n_rows;
}

/* ----------
 * Rows for COPY ... FROM STDIN.
 * ----------
 */

/*
 * Bytes in a message: large enough to cost little, small enough that the
 * server works on one while we read the next.
 */
#define MESSAGE_BYTES ((size_t) 64 * 1024)

/* The mode in which COPY locks a table. */
#define COPY_LOCK "RowExclusiveLock"

typedef struct TargetRowsSink
{
	Sink		base;
	PGconn	   *conn;
	const char *statement;
	Oid			table;			/* to which the statement must lead */
	Oid		   *later;			/* gets its OID for a later check, or NULL */
	char	  **error;			/* NULL: an error ends the process */
	uint64		n_rows;			/* after sink_finish() */
} TargetRowsSink;

#define SINK_TARGET_HINT "Do not rename or replace tables of the target during the run.  Run the same command again, into an empty database or with --clean."

/* The server has refused a command, or the connection broke. */
static void
command_failed(PGconn *conn, const PGresult *res, const char *problem,
			   const char *sql, char **error)
{
	if (error == NULL || session_is_lost(conn, res))
		session_failed(conn, res, problem, sql);
	*error = session_error_words(conn, res);
}

/* A COPY has ended with an error, or the connection broke. */
static void
copy_failed(TargetRowsSink *sink, const PGresult *res)
{
	command_failed(sink->conn, res, "could not write rows", sink->statement,
				   sink->error);
}

/*
 * Which of n tables (with these names, unless they are empty) has the
 * session's transaction not locked in this mode?  Returns the index of the
 * first one, or -1.  Ask this after statements have taken the locks by name:
 * at another time, the name may lead to another table.
 */
static int
find_not_locked(PGconn *conn, const Oid *tables, char *const *names, int n,
				const char *mode)
{
	static const char query[] =
		"SELECT t.no FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.oid[]),"
		" pg_catalog.unnest($2::pg_catalog.text[]))"
		" WITH ORDINALITY t (oid, name, no)"
		" WHERE t.oid OPERATOR(pg_catalog.<>) ALL (ARRAY("
		"SELECT l.relation FROM pg_catalog.pg_locks l"
		" WHERE l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()"
		" AND l.locktype OPERATOR(pg_catalog.=) 'relation'"
		" AND l.mode OPERATOR(pg_catalog.=) $3::pg_catalog.text AND l.granted))"
		" OR (t.name OPERATOR(pg_catalog.<>) '' AND NOT EXISTS ("
		"SELECT FROM pg_catalog.pg_class c"
		" WHERE c.oid OPERATOR(pg_catalog.=) t.oid"
		" AND c.relname OPERATOR(pg_catalog.=) t.name::pg_catalog.name))"
		" ORDER BY t.no LIMIT 1";
	char	   *oid_text = oid_array(tables, n);
	char	   *name_text = text_array(conn, names, n);
	const char *params[] = {oid_text, name_text, mode};
	PGresult   *res = target_query(conn, query, 3, params);
	int			result = PQntuples(res) > 0 ? session_number(res, 0, 0, 1, n) - 1 : -1;

	PQclear(res);
	free(name_text);
	free(oid_text);
	return result;
}

static bool
is_locked(PGconn *conn, Oid table, const char *mode)
{
	static char any[] = "";
	char	   *name = any;

	return find_not_locked(conn, &table, &name, 1, mode) < 0;
}

void
sink_target_refuse(const char *statement)
{
	pg_log_error("could not write rows");
	pg_log_error_detail("%s", message_sentence(SINK_TARGET_OTHER_TABLE));
	pg_log_error_detail("Statement was: %s", statement);
	pg_fatal_hint(SINK_TARGET_HINT);
}

/* Check the table after the COPY. */
static void
check_table(const TargetRowsSink *sink)
{
	/* A table that did not exist has no OID for a later check. */
	if (sink->later && OidIsValid(sink->table))
		*sink->later = sink->table;
	else if (is_locked(sink->conn, sink->table, COPY_LOCK))
		return;
	else if (sink->error)
		*sink->error = pg_strdup(SINK_TARGET_OTHER_TABLE);
	else
		sink_target_refuse(sink->statement);
}

/*
 * One check at the end of a job is enough for all of its files if the names
 * of their tables differ; see sink_target.h.  Returns NULL if they do not.
 */
Oid *
sink_target_later(const DumpPlan *plan, const Job *job)
{
	const DataFile **files = &plan->queue->files[job->first];

	if (job->n < 2)
		return NULL;
	for (int i = 0; i < job->n; i++)
	{
		const DumpTable *table = &plan->tables->tables[files[i]->table];

		/*
		 * The file may be loaded through the root table, whose name is not
		 * known here.
		 */
		if (strcmp(table->name, table->copy_name) != 0)
			return NULL;
		for (int j = 0; j < i; j++)
			if (strcmp(table->entry->tag,
					   plan->tables->tables[files[j]->table].entry->tag) == 0)
				return NULL;
	}
	return pg_malloc0(job->n * sizeof(Oid));
}

int
sink_target_look(PGconn *conn, const DumpPlan *plan, const Job *job,
				 const Oid *tables)
{
	const DataFile **files = &plan->queue->files[job->first];
	int		   *numbers = pg_malloc((job->n + 1) * sizeof(int));
	Oid		   *oids = pg_malloc((job->n + 1) * sizeof(Oid));
	char	  **names = pg_malloc((job->n + 1) * sizeof(char *));
	int			n = 0;
	int			result = -1;

	for (int i = 0; i < job->n; i++)
	{
		if (!OidIsValid(tables[i]))
			continue;
		numbers[n] = i;
		oids[n] = tables[i];
		names[n++] = plan->tables->tables[files[i]->table].entry->tag;
	}
	if (n > 0)
		result = find_not_locked(conn, oids, names, n, COPY_LOCK);
	if (result >= 0)
		result = numbers[result];
	free(numbers);
	free(oids);
	free(names);
	return result;
}

void
sink_target_truncate(PGconn *conn, const char *name, Oid table)
{
	char	   *sql = psprintf("TRUNCATE TABLE ONLY %s", name);

	target_command(conn, sql);
	if (!is_locked(conn, table, "AccessExclusiveLock"))
	{
		pg_log_error("could not truncate table %s", printable(name));
		pg_log_error_detail("%s", message_sentence(SINK_TARGET_OTHER_TABLE));
		pg_fatal_hint(SINK_TARGET_HINT);
	}
}

static bool
has_failed(const TargetRowsSink *sink)
{
	return sink->error && *sink->error;
}

/*
 * PQputCopyData() fails if the connection is lost or the server has ended the
 * COPY.  In the second case the server's reason is the result of the command,
 * so the COPY is ended and the result read.
 */
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

			/*
			 * If the server has sent a reason, it is the result of the
			 * command.
			 */
			(void) PQputCopyEnd(rows->conn, NULL);
			res = PQgetResult(rows->conn);
			copy_failed(rows, res);
			PQclear(res);
			session_end_results(rows->conn);
		}
		pos += part;
		len -= part;
	}
}

/* End the command; reason is the argument of PQputCopyEnd(). */
static void
end_copy(TargetRowsSink *rows, const char *reason)
{
	bool		sent = PQputCopyEnd(rows->conn, reason) == 1;
	PGresult   *res = PQgetResult(rows->conn);

	if (!sent || PQresultStatus(res) != PGRES_COMMAND_OK)
		copy_failed(rows, res);
	else
		rows->n_rows = strtoull(PQcmdTuples(res), NULL, 10);
	PQclear(res);
	session_end_results(rows->conn);
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

static const SinkOps sink_target_rows_ops = {
	.write = sink_target_rows_write,
	.finish = sink_target_rows_finish,
	.free = sink_target_free
};

Sink *
sink_target_rows_new(PGconn *conn, const char *statement, Oid table,
					 Oid *later, char **error)
{
	TargetRowsSink *sink = pg_malloc0(sizeof(TargetRowsSink));
	PGresult   *res = PQexec(conn, statement);

	sink->base.ops = &sink_target_rows_ops;
	sink->conn = conn;
	sink->statement = statement;
	sink->table = table;
	sink->later = later;
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
	uint64		offset;			/* of the next bytes */
} TargetObjectSink;

static const char put_query[] =
"SELECT pg_catalog.lo_put($1::pg_catalog.oid, $2::pg_catalog.int8,"
" $3::pg_catalog.bytea)";

/*
 * lo_put() gets an explicit offset, so unlike a descriptor of lo_open() it
 * needs no state in the session.
 */
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

/* Each write is a statement, so nothing is left to finish. */
static const SinkOps sink_target_object_ops = {
	.write = sink_target_object_write,
	.free = sink_target_free
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
