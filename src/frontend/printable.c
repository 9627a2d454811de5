/*
 * printable.c
 *		Makes text of unknown origin safe to show.
 */
#include "fe_compat.h"

#include "pqexpbuffer.h"

#include "printable.h"

/*
 * How many bytes at text make up a control character: one of ASCII, or one of
 * the second set (C1) in UTF-8; 0 for all else.
 */
static int
control_bytes(const char *text)
{
	const unsigned char *c = (const unsigned char *) text;

	if (c[0] < 0x20 || c[0] == 0x7F)
		return 1;
	return c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0 ? 2 : 0;
}

/*
 * The text with its control characters as \xNN; owned.  Of several lines the
 * later ones begin with a tab, and tabs stay.
 */
static char *
escaped(const char *text, bool lines)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	while (*text)
	{
		int			len = control_bytes(text);

		if (lines && *text == '\n')
		{
			appendPQExpBufferStr(&buf, text[1] == '\t' ? "\n" : "\n\t");
			text++;
		}
		else if (len == 0 || (lines && *text == '\t'))
			appendPQExpBufferChar(&buf, *text++);
		else
			while (len-- > 0)
				appendPQExpBuffer(&buf, "\\x%02x", (unsigned char) *text++);
	}
	if (PQExpBufferDataBroken(buf))
		pg_fatal("out of memory");
	return buf.data;
}

const char *
printable(const char *text)
{
	const char *pos = text;

	while (*pos && control_bytes(pos) == 0)
		pos++;
	return *pos ? escaped(text, false) : text;
}

char *
printable_message(const char *text)
{
	return escaped(text, true);
}
