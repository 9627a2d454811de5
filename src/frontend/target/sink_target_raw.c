/*
 * sink_target_raw.c
 *		Hands blocks of raw tuples to the target's extension.
 *
 * By a pipeline (libpq's manual, "Pipeline Mode"): while the server inserts
 * one block the next ones are on their way.  Its answers, a row each, are
 * asked for by a flush request, and read once so much is on its way; a sync
 * comes in the end.
 */
#include "base/fe_compat.h"

#include <sys/socket.h>

#include "catalog/pg_type_d.h"
#include "port/pg_bswap.h"

#include "plan/server_extension.h"
#include "session/connection.h"
#include "session/session_loss.h"
#include "target/sink_target_raw.h"

/* On their way at most, unless it is one block. */
#define MAX_BLOCKS 4
#define MAX_BYTES ((size_t) 8 * 1024 * 1024)

/* What a socket of this machine is to hold of them. */
#define SOCKET_BYTES (2 * 1024 * 1024)

static const char load_query[] =
"SELECT l.rows FROM " PARDUMP_LOAD_TUPLES "($1, $2) l";

/*
 * A plan made for a block would hold copies of it: of five for each
 * statement, the server's "custom plans".
 */
static const char plan_query[] =
"SELECT pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true)";

typedef struct TargetRawSink
{
	Sink		base;
	PGconn	   *conn;
	uint32		table;			/* its OID, as it is sent */
	const char *name;			/* borrowed */
	size_t		sent[MAX_BLOCKS];	/* bytes of blocks without an answer, the
									 * oldest first */
	int			n_sent;
	size_t		bytes_sent;		/* the sum of these */
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

/* Nothing more can be sent; maybe the server has said why. */
pg_noreturn static void
send_failed(const TargetRawSink *sink)
{
	load_failed(sink, PQgetResult(sink->conn));
}

/* Take the answer to the oldest block. */
static void
take_answer(TargetRawSink *sink)
{
	PGresult   *res = PQgetResult(sink->conn);

	if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
		load_failed(sink, res);
	sink->n_rows += strtoull(PQgetvalue(res, 0, 0), NULL, 10);
	PQclear(res);
	/* NULL ends the results of a statement */
	res = PQgetResult(sink->conn);
	if (res != NULL)
		load_failed(sink, res);

	sink->bytes_sent -= sink->sent[0];
	sink->n_sent--;
	memmove(&sink->sent[0], &sink->sent[1], sink->n_sent * sizeof(size_t));
}

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

static void
sink_target_raw_free(Sink *sink)
{
	free(sink);
}

static const SinkOps sink_target_raw_ops = {
	.write = sink_target_raw_write,
	.finish = sink_target_raw_finish,
	.free = sink_target_raw_free
};

/*
 * Send a block at once instead of in parts of some 100 kB, for each of which
 * both sides are woken up.  The system may have a lower limit.  Over a
 * network it finds the best size by itself.
 */
static void
enlarge_socket(PGconn *conn)
{
	int			bytes = SOCKET_BYTES;

	if (connection_is_unix_socket(conn))
		(void) setsockopt(PQsocket(conn), SOL_SOCKET, SO_SNDBUF, &bytes,
						  sizeof(bytes));
}

Sink *
sink_target_raw_new(PGconn *conn, Oid table, const char *name)
{
	TargetRawSink *sink = pg_malloc0(sizeof(TargetRawSink));
	const Oid	types[] = {REGCLASSOID, BYTEAOID};
	PGresult   *res;

	enlarge_socket(conn);
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
