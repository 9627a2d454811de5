/*
 * text_array.c
 *		Writes array literals.
 */
#include "base/fe_compat.h"

#include "mb/pg_wchar.h"
#include "pqexpbuffer.h"

#include "session/session.h"
#include "session/text_array.h"

/* Stands for a text that the server cannot have: an identifier, too. */
#define UNCONVERTIBLE "pg_pardump_unconvertible_name"

/* Ask the server to convert the text.  No transaction is ended by that. */
static bool
is_converted(PGconn *conn, const char *text)
{
	bool		in_block = PQtransactionStatus(conn) == PQTRANS_INTRANS;
	char	   *literal = PQescapeLiteral(conn, text, strlen(text));
	char	   *sql;
	PGresult   *res;
	bool		result;

	/* a text that is wrong in the client's encoding, too */
	if (literal == NULL)
		return false;
	if (in_block)
		PQclear(session_exec(conn, SESSION_SAVEPOINT));
	sql = psprintf("SELECT %s", literal);
	res = session_exec(conn, sql);
	result = PQresultStatus(res) == PGRES_TUPLES_OK;
	PQclear(res);
	if (in_block)
		PQclear(session_exec(conn, SESSION_ROLLBACK_TO "; " SESSION_RELEASE));
	free(sql);
	PQfreemem(literal);
	return result;
}

/*
 * Can the server have this text?  Without a conversion, which is so in a
 * session of SQL_ASCII as well, it is the bytes that must be right.
 */
bool
text_is_convertible(PGconn *conn, const char *text)
{
	const char *name = PQparameterStatus(conn, "server_encoding");
	int			server = name ? pg_char_to_encoding(name) : -1;
	int			client = PQclientEncoding(conn);
	const char *c = text;

	while (*c && !IS_HIGHBIT_SET(*c))
		c++;
	if (*c == '\0' || server < 0 || server == PG_SQL_ASCII)
		return true;
	if (client == server || client == PG_SQL_ASCII)
		return pg_encoding_verifymbstr(server, text, strlen(text)) == (int) strlen(text);
	return is_converted(conn, text);
}

/* Of all of them at once, which may take a query. */
static bool
all_are_convertible(PGconn *conn, char *const *texts, int n)
{
	PQExpBufferData all;
	bool		result;

	initPQExpBuffer(&all);
	for (int i = 0; i < n; i++)
		appendPQExpBuffer(&all, "%s\n", texts[i]);
	result = !PQExpBufferDataBroken(all) && text_is_convertible(conn, all.data);
	termPQExpBuffer(&all);
	return result;
}

/*
 * In some client encodings (SJIS, BIG5, GBK, ...) a backslash may be the
 * second byte of a character, which must not be escaped.
 */
char *
text_array(PGconn *conn, char *const *texts, int n)
{
	PQExpBufferData buf;
	bool		all = all_are_convertible(conn, texts, n);

	initPQExpBuffer(&buf);
	appendPQExpBufferChar(&buf, '{');
	for (int i = 0; i < n; i++)
	{
		const char *text = all || text_is_convertible(conn, texts[i]) ? texts[i] : UNCONVERTIBLE;

		appendPQExpBufferStr(&buf, i > 0 ? ",\"" : "\"");
		for (const char *c = text; *c;)
		{
			int			len = PQmblenBounded(c, PQclientEncoding(conn));

			if (*c == '"' || *c == '\\')
				appendPQExpBufferChar(&buf, '\\');
			appendBinaryPQExpBuffer(&buf, c, len);
			c += len;
		}
		appendPQExpBufferChar(&buf, '"');
	}
	appendPQExpBufferChar(&buf, '}');
	return buf.data;
}

char *
oid_array(const Oid *oids, int n)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	appendPQExpBufferChar(&buf, '{');
	for (int i = 0; i < n; i++)
		appendPQExpBuffer(&buf, "%s%u", i > 0 ? "," : "", oids[i]);
	appendPQExpBufferChar(&buf, '}');
	return buf.data;
}
