/*
 * fingerprint_spec.c
 *		By what fingerprints of rows are taken, and what they are worth under.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "plan/fingerprint_spec.h"
#include "session/session.h"

#define KEY_BYTES 32

/*
 * All that output functions of the types which have a definition ask for
 * (doc/extension.md, "Fingerprints"), and the encoding of what they return.
 */
#define SETTING(name) "pg_catalog.current_setting('" name "')"
static const char settings_query[] =
"SELECT " SETTING("server_encoding") " AS server_encoding,"
" " SETTING("client_encoding") " AS client_encoding,"
" " SETTING("DateStyle") " AS \"DateStyle\","
" " SETTING("IntervalStyle") " AS \"IntervalStyle\","
" " SETTING("TimeZone") " AS \"TimeZone\","
" " SETTING("extra_float_digits") " AS extra_float_digits,"
" " SETTING("bytea_output") " AS bytea_output";

char *
fingerprint_settings(PGconn *conn)
{
	PGresult   *res = session_query(conn, settings_query);
	PQExpBufferData text;

	if (PQntuples(res) != 1)
		pg_fatal("the server does not tell its settings");
	initPQExpBuffer(&text);
	for (int i = 0; i < PQnfields(res); i++)
		appendPQExpBuffer(&text, "%s%s = %s", i > 0 ? "; " : "",
						  PQfname(res, i), PQgetvalue(res, 0, i));
	PQclear(res);
	return buffer_text(&text);
}

FingerprintSpec *
fingerprint_spec_new(PGconn *conn, pg_checksum_type checksum_type)
{
	FingerprintSpec *spec = pg_malloc0(sizeof(FingerprintSpec));

	spec->algorithm = checksum_type == CHECKSUM_TYPE_NONE ||
		checksum_type == CHECKSUM_TYPE_CRC32C ? "poly1305" : "sha256";
	spec->key = hex_random(KEY_BYTES);
	spec->settings = fingerprint_settings(conn);
	return spec;
}
