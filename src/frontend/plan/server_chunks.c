/*
 * server_chunks.c
 *		Asks the extension how it would cut a table.
 */
#include "base/fe_compat.h"

#include "plan/server_chunks.h"
#include "plan/server_extension.h"
#include "session/session.h"

static const char chunks_query[] =
"SELECT c.start_block, c.end_block, c.est_bytes,"
" c.est_rows OPERATOR(pg_catalog.=) 0::pg_catalog.float8"
" FROM " PARDUMP_CHUNKS "($1::pg_catalog.oid::pg_catalog.regclass, $2::pg_catalog.int8) c"
" ORDER BY c.chunk_no";

/* A block number of a result; NULL is none. */
static BlockNumber
block_number(const PGresult *res, int row, int column)
{
	if (PQgetisnull(res, row, column))
		return InvalidBlockNumber;
	return (BlockNumber) strtoul(PQgetvalue(res, row, column), NULL, 10);
}

ServerChunk *
server_chunks_read(PGconn *conn, const DumpTable *table, uint64 chunk_bytes,
				   int *n)
{
	char		relation[16];
	char		bytes[32];
	const char *params[] = {relation, bytes};
	ServerChunk *chunks;
	PGresult   *res;

	snprintf(relation, sizeof(relation), "%u", table->oid);
	snprintf(bytes, sizeof(bytes), UINT64_FORMAT, chunk_bytes);
	res = session_query_params(conn, chunks_query, 2, params, 0);
	*n = PQntuples(res);
	chunks = pg_malloc((*n + 1) * sizeof(ServerChunk));
	for (int i = 0; i < *n; i++)
	{
		chunks[i].start_block = block_number(res, i, 0);
		chunks[i].end_block = block_number(res, i, 1);
		chunks[i].est_bytes = strtoull(PQgetvalue(res, i, 2), NULL, 10);
		chunks[i].seems_empty = PQgetvalue(res, i, 3)[0] == 't';
	}
	PQclear(res);
	return chunks;
}
