/*
 * printable.c
 *		Makes names safe to show.
 */
#include "fe_compat.h"

#include "pqexpbuffer.h"

#include "printable.h"

static bool
is_control(char c)
{
	return (unsigned char) c < 0x20 || c == 0x7F;
}

const char *
printable(const char *text)
{
	PQExpBufferData buf;
	const char *pos = text;

	while (*pos && !is_control(*pos))
		pos++;
	if (*pos == '\0')
		return text;
	initPQExpBuffer(&buf);
	for (pos = text; *pos; pos++)
	{
		if (is_control(*pos))
			appendPQExpBuffer(&buf, "\\x%02x", (unsigned char) *pos);
		else
			appendPQExpBufferChar(&buf, *pos);
	}
	if (PQExpBufferDataBroken(buf))
		pg_fatal("out of memory");
	return buf.data;
}
