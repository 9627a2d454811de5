/*
 * json_text.c
 *		Text as JSON strings.
 */
#include "base/fe_compat.h"

#include "mb/pg_wchar.h"

#include "base/json_text.h"

/*
 * One character or stray byte as JSON has it; returns what it took of text.
 */
static int
escape(const unsigned char *text, size_t left, char out[8])
{
	static const char plain[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";
	const char *special = strchr(plain, *text);
	int			len;

	if (special)
	{
		snprintf(out, 8, "\\%c", letters[special - plain]);
		return 1;
	}
	len = pg_encoding_verifymbchar(PG_UTF8, (const char *) text,
								   (int) Min(left, MAX_MULTIBYTE_CHAR_LEN));
	if (len <= 0 || *text < 0x20 || *text == 0x7f)
	{
		snprintf(out, 8, "\\u%04x", *text);
		return 1;
	}
	memcpy(out, text, len);
	out[len] = '\0';
	return len;
}

/* The bytes at its begin that JSON has as they are, as most are. */
static size_t
plain_bytes(const unsigned char *text, size_t len)
{
	size_t		n = 0;

	while (n < len && text[n] >= 0x20 && text[n] < 0x7f &&
		   text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

void
json_append_text(PQExpBuffer buf, const char *text, size_t max_bytes)
{
	const unsigned char *pos = (const unsigned char *) text;
	size_t		left = strlen(text);
	size_t		begin;

	appendPQExpBufferChar(buf, '"');
	begin = buf->len;
	while (left > 0)
	{
		size_t		room = max_bytes > 0 ? max_bytes - (buf->len - begin) : left;
		size_t		plain = plain_bytes(pos, Min(left, room));
		char		out[8];
		int			len;

		if (plain > 0)
		{
			appendBinaryPQExpBuffer(buf, (const char *) pos, plain);
			pos += plain;
			left -= plain;
			continue;
		}
		len = escape(pos, left, out);
		if (max_bytes > 0 && buf->len - begin + strlen(out) > max_bytes)
			break;
		appendPQExpBufferStr(buf, out);
		pos += len;
		left -= len;
	}
	appendPQExpBufferChar(buf, '"');
}
