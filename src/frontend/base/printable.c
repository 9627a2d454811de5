/*
 * printable.c
 *		Makes text of unknown origin safe to show.
 */
#include "base/fe_compat.h"

#include "mb/pg_wchar.h"
#include "pqexpbuffer.h"

#include "base/printable.h"

/*
 * How many bytes at text belong together: a character of UTF-8, or just one.
 */
static int
char_bytes(const char *text)
{
	int			len = pg_encoding_verifymbchar(PG_UTF8, text,
											   (int) strnlen(text, 4));

	return Max(len, 1);
}

/*
 * A control character of ASCII, or one of the second set (C1), in UTF-8 or by
 * itself, as in LATIN1?
 */
static bool
is_control(const char *text, int len)
{
	const unsigned char *c = (const unsigned char *) text;

	if (len > 1)
		return c[0] == 0xC2 && c[1] < 0xA0;
	return c[0] < 0x20 || (c[0] >= 0x7F && c[0] < 0xA0);
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
		int			len = char_bytes(text);

		if (lines && *text == '\n')
			appendPQExpBufferStr(&buf, text[1] == '\t' ? "\n" : "\n\t");
		else if (!is_control(text, len) || (lines && *text == '\t'))
			appendBinaryPQExpBuffer(&buf, text, len);
		else
			for (int i = 0; i < len; i++)
				appendPQExpBuffer(&buf, "\\x%02x", (unsigned char) text[i]);
		text += len;
	}
	if (PQExpBufferDataBroken(buf))
		pg_fatal("out of memory");
	return buf.data;
}

const char *
printable(const char *text)
{
	const char *pos = text;
	int			len;

	for (; *pos; pos += len)
	{
		len = char_bytes(pos);
		if (is_control(pos, len))
			return escaped(text, false);
	}
	return text;
}

char *
printable_message(const char *text)
{
	return escaped(text, true);
}
