/*
 * manifest_name.c
 *		A table's name, as a manifest or a table of contents tells it.
 */
#include "base/fe_compat.h"

#include <ctype.h>

#include "pqexpbuffer.h"

#include "archive/manifest_name.h"

/*
 * Quoted where SQL needs it but for key words: fmtId() would have to know the
 * encoding, and takes no bytes that are wrong in it.
 */
static void
append_identifier(PQExpBuffer buf, const char *name)
{
	size_t		plain = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (plain > 0 && name[plain] == '\0' && !isdigit((unsigned char) name[0]))
	{
		appendPQExpBufferStr(buf, name);
		return;
	}
	appendPQExpBufferChar(buf, '"');
	for (; *name; name++)
	{
		if (*name == '"')
			appendPQExpBufferChar(buf, '"');
		appendPQExpBufferChar(buf, *name);
	}
	appendPQExpBufferChar(buf, '"');
}

char *
manifest_name_table(const char *schema, const char *table)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	append_identifier(&buf, schema ? schema : "");
	appendPQExpBufferChar(&buf, '.');
	append_identifier(&buf, table ? table : "");
	if (PQExpBufferDataBroken(buf))
		pg_fatal("out of memory");
	return buf.data;
}
