/*
 * text_array.c
 *		Writes array literals.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "session/text_array.h"

/*
 * In some client encodings (SJIS, BIG5, GBK, ...) a backslash may be the
 * second byte of a character, which must not be escaped.
 */
char *
text_array(PGconn *conn, char *const *texts, int n)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	appendPQExpBufferChar(&buf, '{');
	for (int i = 0; i < n; i++)
	{
		appendPQExpBufferStr(&buf, i > 0 ? ",\"" : "\"");
		for (const char *c = texts[i]; *c;)
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
