/*
 * json.c
 *		Implements json.h: reads JSON values one by one, and writes texts as
 *		JSON strings.
 */
#include "base/fe_compat.h"

#include <time.h>

#include "mb/pg_wchar.h"

#include "base/json.h"

/* ----------
 * A small strict reader of JSON.
 *
 * PostgreSQL's parser (common/jsonapi.h) differs in every major version, and
 * in the frontend it does not limit the nesting depth or free its memory.
 * ----------
 */

#define MAX_DEPTH 64

void
json_fail(JsonReader *reader, const char *error)
{
	if (reader->error == NULL)
		reader->error = error;
	reader->pos = reader->end;
}

/*
 * Skip white space, and return the next byte without skipping it, or 0 at the
 * end.
 */
static char
peek(JsonReader *reader)
{
	while (reader->pos < reader->end &&
		   (*reader->pos == ' ' || *reader->pos == '\t' ||
			*reader->pos == '\n' || *reader->pos == '\r'))
		reader->pos++;
	return reader->pos < reader->end ? *reader->pos : '\0';
}

static bool
take(JsonReader *reader, char c)
{
	if (peek(reader) != c || reader->pos == reader->end)
		return false;
	reader->pos++;
	return true;
}

static bool
take_word(JsonReader *reader, const char *word)
{
	size_t		len = strlen(word);

	(void) peek(reader);
	if ((size_t) (reader->end - reader->pos) < len ||
		memcmp(reader->pos, word, len) != 0)
		return false;
	reader->pos += len;
	return true;
}

void
json_begin(JsonReader *reader, const char *text, size_t len)
{
	reader->pos = text;
	reader->end = text + len;
	reader->error = NULL;
}

void
json_enter(JsonReader *reader, char open)
{
	if (!take(reader, open))
		json_fail(reader, open == '{' ? "an object is missing" : "an array is missing");
}

bool
json_more(JsonReader *reader, char close, bool *first)
{
	bool		was_first = *first;

	*first = false;
	if (reader->error || take(reader, close))
		return false;
	if (was_first || take(reader, ','))
		return true;
	json_fail(reader, "a comma or the end is missing");
	return false;
}

/* Read four hexadecimal digits as a number. */
static uint32
hex4(JsonReader *reader)
{
	uint32		value = 0;

	for (int i = 0; i < 4; i++)
	{
		char		c = reader->pos < reader->end ? *reader->pos++ : '\0';

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value = value * 16 + ((c | 0x20) - 'a' + 10);
		else
		{
			json_fail(reader, "invalid escape");
			return 0;
		}
	}
	return value;
}

/*
 * Read the rest of an escape after "\u", and the second escape if the
 * character needs two.
 */
static char *
take_unicode(JsonReader *reader, char *out)
{
	uint32		c = hex4(reader);

	/*
	 * Escapes are UTF-16: a character beyond U+FFFF is written as two
	 * escapes, a high and a low surrogate (RFC 8259, section 7).  A surrogate
	 * without its other half is not a character.  The character 0 would end
	 * our strings early.  Both are errors.
	 */
	if (c >= 0xD800 && c < 0xDC00)
	{
		uint32		low = take_word(reader, "\\u") ? hex4(reader) : 0;

		if (low < 0xDC00 || low > 0xDFFF)
			c = 0;
		else
			c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
	}
	else if (c >= 0xDC00 && c <= 0xDFFF)
		c = 0;
	if (c == 0)
	{
		json_fail(reader, "invalid character");
		return out;
	}
	unicode_to_utf8(c, (unsigned char *) out);
	return out + pg_utf_mblen((unsigned char *) out);
}

static char *
take_escape(JsonReader *reader, char *out)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meant[] = "\"\\/\b\f\n\r\t";
	char		c = reader->pos < reader->end ? *reader->pos++ : '\0';
	const char *found = c ? strchr(letters, c) : NULL;

	if (c == 'u')
		return take_unicode(reader, out);
	if (found)
		*out++ = meant[found - letters];
	else
		json_fail(reader, "invalid escape");
	return out;
}

/*
 * Returns the position of the closing quote of the string at pos, or the end.
 */
static const char *
closing_quote(const JsonReader *reader)
{
	const char *pos = reader->pos;

	while (pos < reader->end && *pos != '"')
		pos += *pos == '\\' && pos + 1 < reader->end ? 2 : 1;
	return pos;
}

char *
json_string(JsonReader *reader)
{
	char	   *result;
	char	   *out;

	if (take_word(reader, "null"))
		return NULL;
	if (!take(reader, '"'))
	{
		json_fail(reader, "a string is missing");
		return NULL;
	}

	/*
	 * An escape is never shorter than its character, so this space is enough.
	 */
	out = result = pg_malloc(closing_quote(reader) - reader->pos + 1);
	while (reader->pos < reader->end && *reader->pos != '"')
	{
		char		c = *reader->pos++;

		if (c == '\\')
			out = take_escape(reader, out);
		else if ((unsigned char) c < 0x20)
			json_fail(reader, "invalid character");
		else
			*out++ = c;
	}
	if (!take(reader, '"'))
	{
		json_fail(reader, "unterminated string");
		free(result);
		return NULL;
	}
	*out = '\0';
	return result;
}

char *
json_key(JsonReader *reader)
{
	char	   *key = json_string(reader);

	if (key && take(reader, ':'))
		return key;
	json_fail(reader, "a name is missing");
	free(key);
	return NULL;
}

bool
json_null(JsonReader *reader)
{
	return take_word(reader, "null");
}

uint64
json_number(JsonReader *reader)
{
	uint64		value = 0;
	const char *start;

	(void) peek(reader);
	start = reader->pos;
	while (reader->pos < reader->end &&
		   *reader->pos >= '0' && *reader->pos <= '9')
	{
		int			digit = *reader->pos++ - '0';

		if (value > (PG_UINT64_MAX - digit) / 10)
		{
			json_fail(reader, "number out of range");
			return 0;
		}
		value = value * 10 + digit;
	}
	if (reader->pos == start)
		json_fail(reader, "a whole number is missing");
	return value;
}

static void
skip(JsonReader *reader, int depth)
{
	char		c = peek(reader);
	char		close = c == '{' ? '}' : ']';
	bool		first = true;

	if (depth > MAX_DEPTH)
		json_fail(reader, "its JSON is nested too deeply");
	else if (c == '{' || c == '[')
	{
		reader->pos++;
		while (json_more(reader, close, &first))
		{
			if (c == '{')
				free(json_key(reader));
			skip(reader, depth + 1);
		}
	}
	else if (c == '"')
		free(json_string(reader));
	else if (!take_word(reader, "true") && !take_word(reader, "false") &&
			 !take_word(reader, "null"))
	{
		/*
		 * The function does not check whether this is a valid number, because
		 * skipped values are not used.  strspn() stops at the zero byte after
		 * the text.
		 */
		size_t		len = strspn(reader->pos, "+-.0123456789eE");

		if (c == '\0' || len == 0 ||
			len > (size_t) (reader->end - reader->pos))
			json_fail(reader, "a value is missing");
		else
			reader->pos += len;
	}
}

void
json_skip(JsonReader *reader)
{
	skip(reader, 0);
}

void
json_finish(JsonReader *reader)
{
	(void) peek(reader);
	if (reader->pos < reader->end)
		json_fail(reader, "its JSON contains text after the end");
}

/* ----------
 * Writing texts as JSON strings.
 * ----------
 */

/*
 * Write one character, or one invalid byte, as JSON to out.  Returns the
 * number of bytes of text that this used.
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

/*
 * Returns the number of bytes at the start of text that need no escape.  Most
 * texts need none, so they are copied at once.
 */
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

void
json_append_time(PQExpBuffer buf, int64 us, int digits)
{
	time_t		seconds = (time_t) (us / 1000000);
	char		text[64];
	struct tm	tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	appendPQExpBuffer(buf, "\"%s.%0*dZ\"", text, digits,
					  (int) (us % 1000000 / (digits == 3 ? 1000 : 1)));
}
