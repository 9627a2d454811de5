/*
 * fingerprint_query.c
 *		Asks the extension for fingerprints of rows.
 */
#include "base/fe_compat.h"

#include "base/identifier.h"
#include "dump/fingerprint_query.h"
#include "session/session.h"

static const char reads_query[] =
"SELECT " PARDUMP_FINGERPRINT_READS "($1::pg_catalog.bytea, $2::pg_catalog.text)";

static const char last_query[] =
"SELECT f.fingerprint, f.first_fingerprint, f.definition FROM "
PARDUMP_LAST_FINGERPRINT "() f";

static const char definition_query[] =
"SELECT pg_catalog.encode(d.definition, 'hex'::pg_catalog.text) FROM "
PARDUMP_DEFINITION "($1::pg_catalog.oid::pg_catalog.regclass,"
" $2::pg_catalog.name[]) d";

static const char fingerprint_query[] =
"SELECT pg_catalog.encode(f.fingerprint, 'hex'::pg_catalog.text), f.rows FROM "
PARDUMP_FINGERPRINT "($1::pg_catalog.oid::pg_catalog.regclass,"
" $2::pg_catalog.name[], $3::pg_catalog.int8, $4::pg_catalog.int8,"
" $5::pg_catalog.bytea, $6::pg_catalog.text, $7::pg_catalog.bytea) f";

bool
fingerprint_reads(PGconn *conn, const FingerprintSpec *spec)
{
	char	   *settings = fingerprint_settings(conn);
	bool		same = strcmp(settings, spec->settings) == 0;
	char	   *key = psprintf("\\x%s", spec->key);
	const char *params[] = {key, spec->algorithm};

	if (same)
		PQclear(session_query_params(conn, reads_query, 2, params, 0));
	free(key);
	free(settings);
	return same;
}

/* A value of a result in binary format. */
static void
take_hash(const PGresult *res, int column, FileHash *hash)
{
	int			len = PQgetlength(res, 0, column);

	if (len > (int) sizeof(hash->bytes))
		pg_fatal("the server sends a fingerprint of %d bytes", len);
	memcpy(hash->bytes, PQgetvalue(res, 0, column), len);
	hash->len = len;
}

void
fingerprint_last_read(PGconn *conn, FileResult *result)
{
	PGresult   *res = session_query_params(conn, last_query, 0, NULL, 1);

	if (PQntuples(res) != 1)
		pg_fatal("the server does not tell the fingerprint of what it has read");
	take_hash(res, 0, &result->fingerprint);
	take_hash(res, 1, &result->first_fingerprint);
	take_hash(res, 2, &result->definition);
	PQclear(res);
}

char *
fingerprint_columns(PGconn *conn, const DumpTable *table)
{
	char	  **names = pg_malloc((table->n_columns + 1) * sizeof(char *));
	char	   *result;

	for (int i = 0; i < table->n_columns; i++)
		names[i] = identifier_unquote(table->columns[i]);
	result = text_array(conn, names, table->n_columns);
	for (int i = 0; i < table->n_columns; i++)
		free(names[i]);
	free(names);
	return result;
}

/* Is the only value of a result this text? */
static bool
value_is(const PGresult *res, const char *text)
{
	return PQntuples(res) == 1 && !PQgetisnull(res, 0, 0) &&
		strcmp(PQgetvalue(res, 0, 0), text) == 0;
}

bool
fingerprint_same_rows(PGconn *conn, const DumpTable *table,
					  const char *columns, const DataFile *file,
					  const FingerprintSpec *spec)
{
	const ManifestFile *previous = file->previous;
	char	   *oid = psprintf("%u", table->oid);
	char	   *start = psprintf("%u", file->start_block);
	char	   *end = file->end_block == InvalidBlockNumber ? NULL :
		psprintf("%u", file->end_block);
	char	   *key = psprintf("\\x%s", spec->key);
	char	   *first = psprintf("\\x%s", previous->first_fingerprint);
	const char *params[] = {oid, columns, start, end, key, spec->algorithm, first};
	PGresult   *res = session_query_params(conn, fingerprint_query, 7, params, 0);
	bool		result = value_is(res, previous->fingerprint) &&
		strtoull(PQgetvalue(res, 0, 1), NULL, 10) == previous->rows;

	PQclear(res);
	free(oid);
	free(start);
	free(end);
	free(key);
	free(first);
	return result;
}

bool
fingerprint_same_definition(PGconn *conn, const DumpTable *table,
							const char *columns, const DataFile *file)
{
	char	   *oid = psprintf("%u", table->oid);
	const char *params[] = {oid, columns};
	PGresult   *res = session_query_params(conn, definition_query, 2, params, 0);
	bool		result = value_is(res, file->previous->definition);

	PQclear(res);
	free(oid);
	return result;
}
