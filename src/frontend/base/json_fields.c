/*
 * json_fields.c
 *		Implements json_fields.h: writes and reads structs as JSON objects,
 *		using a table of their members.
 *
 * Writer and reader use the same table, so that they cannot differ in the
 * names or the number of members.
 */
#include "base/fe_compat.h"

#include <time.h>

#include "mb/pg_wchar.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "base/json_fields.h"

#define ENCODED "Encoded-"
#define HEX_PREFIX "\\x"
#define MAX_FIELDS 64

/* When the buffer has this size, flush() is called. */
#define FLUSH_BYTES (64 * 1024)

static bool
is_utf8(const char *text, size_t len)
{
	const char *end = text + len;

	/*
	 * Check line by line, because the whole text may be longer than an int
	 * can count.
	 */
	while (text < end)
	{
		const char *newline = memchr(text, '\n', end - text);
		size_t		line_len = (newline ? newline + 1 : end) - text;

		if (line_len > PG_INT32_MAX ||
			pg_encoding_verifymbstr(PG_UTF8, text, (int) line_len) != (int) line_len)
			return false;
		text += line_len;
	}
	return true;
}

/* Does this table describe a single value, and not an object? */
static bool
is_value(const JsonField *fields)
{
	return fields->name[0] == '\0';
}

/* ----------
 * Writing structs.
 * ----------
 */
static bool
is_ascii(const char *text)
{
	while (*text && !IS_HIGHBIT_SET(*text))
		text++;
	return *text == '\0';
}

/*
 * Must this text be written as hexadecimal digits?  JSON is UTF-8 (RFC 8259,
 * section 8.1), but names and paths may contain any bytes.  A text that
 * begins like such digits is also written as digits, since a reader would
 * mistake it for them.
 */
static bool
is_encoded(const JsonWriter *writer, const JsonField *field, const char *text)
{
	if (field->kind == JSON_TEXT && text_after(text, HEX_PREFIX))
		return true;
	if (field->kind == JSON_NAME && writer->not_utf8)
		return !is_ascii(text);
	return !is_utf8(text, strlen(text));
}

static void
append_hex(PQExpBuffer buf, const char *prefix, const void *bytes, size_t len)
{
	char	   *digits = hex_encode(bytes, len);

	appendPQExpBuffer(buf, "\"%s%s\"", prefix, digits);
	free(digits);
}

static void
append_text(JsonWriter *writer, const JsonField *field, const char *text)
{
	if (text == NULL)
		appendPQExpBufferStr(&writer->buf, "null");
	else if (!is_encoded(writer, field, text))
		json_append_text(&writer->buf, text, 0);
	else
		append_hex(&writer->buf, field->kind == JSON_TEXT ? "\\" HEX_PREFIX : "",
				   text, strlen(text));
}

static void append_value(JsonWriter *writer, const JsonField *field,
						 const char *object);

static void
append_array(JsonWriter *writer, const JsonField *field, const char *object)
{
	const char *elements = *(const char *const *) (object + field->offset);
	int			n = *(const int *) (object + field->count);
	bool		by_line = !is_value(field->fields);

	appendPQExpBufferChar(&writer->buf, '[');
	for (int i = 0; i < n; i++)
	{
		const char *element = elements + i * field->size;

		if (i > 0)
			appendPQExpBufferStr(&writer->buf, by_line ? "," : ", ");
		if (by_line)
		{
			appendPQExpBufferChar(&writer->buf, '\n');
			json_append_object(writer, field->fields, element);
		}
		else
			append_value(writer, field->fields, element);
		/* An archive may have millions of files, so write in parts. */
		if (writer->flush && writer->buf.len >= FLUSH_BYTES)
			writer->flush(writer->arg, &writer->buf);
	}
	appendPQExpBufferStr(&writer->buf, by_line ? "\n]" : "]");
}

static void
append_value(JsonWriter *writer, const JsonField *field, const char *object)
{
	PQExpBuffer buf = &writer->buf;
	const char *member = object + field->offset;

	switch (field->kind)
	{
		case JSON_TEXT:
		case JSON_NAME:
		case JSON_DIGITS:
			append_text(writer, field, *(const char *const *) member);
			break;
		case JSON_BYTES:
			append_hex(buf, "", member, *(const int *) (object + field->count));
			break;
		case JSON_INT:
			appendPQExpBuffer(buf, "%d", *(const int *) member);
			break;
		case JSON_UINT32:
			appendPQExpBuffer(buf, "%u", *(const uint32 *) member);
			break;
		case JSON_UINT64:
			appendPQExpBuffer(buf, UINT64_FORMAT, *(const uint64 *) member);
			break;
		case JSON_BLOCK:
			if (*(const int64 *) member < 0)
				appendPQExpBufferStr(buf, "null");
			else
				appendPQExpBuffer(buf, INT64_FORMAT, *(const int64 *) member);
			break;
		case JSON_BOOL:
			appendPQExpBuffer(buf, "%d", *(const bool *) member ? 1 : 0);
			break;
		case JSON_CHAR:
			appendPQExpBuffer(buf, "%d", *(const unsigned char *) member);
			break;
		case JSON_TIME:
			json_append_time(buf, *(const int64 *) member, 6);
			break;
		case JSON_WORD:
			appendPQExpBuffer(buf, "\"%s\"", field->words[*(const int *) member]);
			break;
		case JSON_VERSION:
			appendPQExpBuffer(buf, UINT64_FORMAT, field->max);
			break;
		case JSON_OBJECT:
			json_append_object(writer, field->fields, *(const void *const *) member);
			break;
		case JSON_ARRAY:
			append_array(writer, field, object);
			break;
	}
}

static bool
is_null(const JsonField *field, const char *object)
{
	switch (field->kind)
	{
		case JSON_TEXT:
		case JSON_NAME:
		case JSON_DIGITS:
		case JSON_OBJECT:
		case JSON_ARRAY:
			return *(const void *const *) (object + field->offset) == NULL;
		case JSON_BYTES:
			return *(const int *) (object + field->count) == 0;
		default:
			return false;
	}
}

static void
append_members(JsonWriter *writer, const JsonField *fields, const char *object,
			   const char *separator)
{
	bool		first = true;

	appendPQExpBufferStr(&writer->buf, "{ ");
	for (const JsonField *field = fields; field->name; field++)
	{
		const char *text;

		if ((field->is_written && !field->is_written(object)) ||
			((field->flags & JSON_SKIP_NULL) && is_null(field, object)))
			continue;
		if (!first)
			appendPQExpBufferStr(&writer->buf, separator);
		first = false;
		text = field->kind == JSON_NAME ?
			*(const char *const *) (object + field->offset) : NULL;
		appendPQExpBuffer(&writer->buf, "\"%s%s\": ",
						  text && is_encoded(writer, field, text) ? ENCODED : "",
						  field->name);
		append_value(writer, field, object);
	}
	(void) buffer_text(&writer->buf);
}

void
json_append_object(JsonWriter *writer, const JsonField *fields,
				   const void *object)
{
	append_members(writer, fields, object, ", ");
	appendPQExpBufferStr(&writer->buf, " }");
}

void
json_append_document(JsonWriter *writer, const JsonField *fields,
					 const void *object)
{
	append_members(writer, fields, object, ",\n");
}

/* ----------
 * Reading structs.
 * ----------
 */

/*
 * A message shows an unknown word of printable ASCII characters up to this
 * length, as words of newer releases will be.  Others may be an attempt to
 * print lines that look like messages of ours.
 */
#define MAX_SHOWN_WORD 60

/*
 * The message about the last error.  One buffer is enough, because only one
 * object is read at a time.
 */
static char damage[256];

/* The last error: a format for the member's name, and an unknown word. */
static const char *refused;
static char refused_word[MAX_SHOWN_WORD + 1];

/*
 * Name the innermost member in the error, if there is one.  Callers for outer
 * members find "damage" there already, and do not change it.
 */
static void
name_error(JsonReader *reader, const JsonField *field)
{
	if (reader->error == NULL || reader->error == damage || is_value(field) ||
		strcmp(reader->error, JSON_READ_UNSUPPORTED) == 0)
		return;
	snprintf(damage, sizeof(damage), reader->error == refused ? refused :
			 "member \"%s\" is invalid", field->name, refused_word);
	reader->error = damage;
}

/*
 * Report an invalid value with a format for the member's name.  An array's
 * element has no name, so the caller adds the array's name later.
 */
static void
json_fields_refuse(JsonReader *reader, const JsonField *field, const char *format)
{
	if (reader->error)
		return;
	refused = format;
	json_fail(reader, format);
	name_error(reader, field);
}

static uint64
read_number(JsonReader *reader, const JsonField *field, uint64 type_max)
{
	uint64		number = json_number(reader);

	if (number < field->min || number > (field->max > 0 ? field->max : type_max))
		json_fields_refuse(reader, field, "member \"%s\" is out of range");
	return number;
}

/*
 * Returns the text, in any encoding, that these digits stand for; the caller
 * owns it.
 */
static char *
decode_text(JsonReader *reader, const JsonField *field, const char *digits)
{
	size_t		len = strlen(digits) / 2;
	char	   *text = pg_malloc0(len + 1);

	if (hex_decode(digits, (uint8 *) text, len) < 0 || strlen(text) != len)
		json_fields_refuse(reader, field, "member \"%s\" has an invalid encoded text");
	return text;
}

static char *
read_text(JsonReader *reader, const JsonField *field, bool encoded)
{
	char	   *text = json_string(reader);
	bool		has_digits = text &&
		(encoded || (field->kind == JSON_TEXT && text_after(text, HEX_PREFIX)));

	if (has_digits)
	{
		char	   *digits = text;

		text = decode_text(reader, field, digits + (encoded ? 0 : strlen(HEX_PREFIX)));
		free(digits);
	}
	if (text && field->max > 0 && strlen(text) > field->max)
		json_fields_refuse(reader, field, "member \"%s\" is too long");
	return text;
}

/*
 * Convert hexadecimal digits to bytes, which has space for the field's max.
 * Returns their number.
 */
static int
read_bytes(JsonReader *reader, const JsonField *field, const char *text, uint8 *bytes)
{
	int			len = text ? hex_decode(text, bytes, field->max) : 0;

	if (text && strlen(text) > 2 * field->max)
		json_fields_refuse(reader, field, "member \"%s\" is too long");
	else if (len < 0)
		json_fields_refuse(reader, field, "member \"%s\" has invalid hexadecimal digits");
	return Max(len, 0);
}

static char *
read_digits(JsonReader *reader, const JsonField *field)
{
	char	   *text = json_string(reader);
	uint8	   *bytes = pg_malloc(field->max);

	(void) read_bytes(reader, field, text, bytes);
	free(bytes);
	return text;
}

static int64
read_time(JsonReader *reader, const JsonField *field)
{
	char	   *text = json_string(reader);
	struct tm	tm = {0};
	int			us = 0;
	int			end = 0;
	int64		time = 0;

	/*
	 * %n is not counted as a conversion.  It shows whether the whole text was
	 * read.
	 */
	if (text && sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ%n",
					   &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
					   &tm.tm_min, &tm.tm_sec, &us, &end) == 7 &&
		end == (int) strlen(text) && tm.tm_year >= 1970)
	{
		tm.tm_year -= 1900;
		tm.tm_mon -= 1;

		/*
		 * The time is UTC, so the TZ environment variable must have no
		 * effect.
		 */
		time = (int64) timegm(&tm) * 1000000 + us;
	}
	else
		json_fields_refuse(reader, field, "member \"%s\" has an invalid time");
	free(text);
	return time;
}

static bool
is_printable_ascii(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

static int
read_word(JsonReader *reader, const JsonField *field)
{
	char	   *text = json_string(reader);
	int			i = (int) field->min;

	while (text && field->words[i] && strcmp(field->words[i], text) != 0)
		i++;
	if (text == NULL || strlen(text) > MAX_SHOWN_WORD || !is_printable_ascii(text))
		json_fields_refuse(reader, field, "member \"%s\" has an unknown value");
	else if (field->words[i] == NULL)
	{
		strlcpy(refused_word, text, sizeof(refused_word));
		json_fields_refuse(reader, field, "member \"%s\" has the unknown value \"%s\"");
	}
	free(text);
	return i;
}

static void read_object(JsonReader *reader, const JsonField *fields,
						void *object);
static void read_value(JsonReader *reader, const JsonField *field,
					   char *object, bool encoded);
static void check_required(JsonReader *reader, const JsonField *field,
						   const char *object, bool seen);

static void
read_array(JsonReader *reader, const JsonField *field, char *object)
{
	char	  **elements = (char **) (object + field->offset);
	int		   *n = (int *) (object + field->count);
	bool		first = true;

	json_enter(reader, '[');
	while (json_more(reader, ']', &first))
	{
		char	   *element;

		*elements = array_room(*elements, *n, field->size);
		element = memset(*elements + (*n)++ * field->size, 0, field->size);
		if (is_value(field->fields))
		{
			read_value(reader, field->fields, element, false);
			check_required(reader, field->fields, element, true);
		}
		else
			read_object(reader, field->fields, element);
	}
}

static void
read_value(JsonReader *reader, const JsonField *field, char *object,
		   bool encoded)
{
	char	   *member = object + field->offset;

	switch (field->kind)
	{
		case JSON_TEXT:
		case JSON_NAME:
			*(char **) member = read_text(reader, field, encoded);
			break;
		case JSON_DIGITS:
			*(char **) member = read_digits(reader, field);
			break;
		case JSON_BYTES:
			{
				char	   *text = json_string(reader);

				*(int *) (object + field->count) = read_bytes(reader, field, text, (uint8 *) member);
				free(text);
				break;
			}
		case JSON_INT:
			*(int *) member = (int) read_number(reader, field, PG_INT32_MAX);
			break;
		case JSON_UINT32:
			*(uint32 *) member = (uint32) read_number(reader, field, PG_UINT32_MAX);
			break;
		case JSON_UINT64:
			*(uint64 *) member = read_number(reader, field, PG_UINT64_MAX);
			break;
		case JSON_BLOCK:
			*(int64 *) member = json_null(reader) ? -1 :
				(int64) read_number(reader, field, PG_INT64_MAX);
			break;
		case JSON_BOOL:
			*(bool *) member = read_number(reader, field, 1) == 1;
			break;
		case JSON_CHAR:
			*(unsigned char *) member = (unsigned char) read_number(reader, field, 255);
			break;
		case JSON_TIME:
			*(int64 *) member = read_time(reader, field);
			break;
		case JSON_WORD:
			*(int *) member = read_word(reader, field);
			break;
		case JSON_VERSION:
			if (json_number(reader) != field->max)
				json_fail(reader, JSON_READ_UNSUPPORTED);
			break;
		case JSON_OBJECT:
			*(void **) member = pg_malloc0(field->size);
			read_object(reader, field->fields, *(void **) member);
			break;
		case JSON_ARRAY:
			read_array(reader, field, object);
			break;
	}
}

static void
check_required(JsonReader *reader, const JsonField *field, const char *object,
			   bool seen)
{
	if ((field->flags & JSON_REQUIRED) == 0 || (seen && field->kind == JSON_ARRAY))
		return;
	if (!seen || is_null(field, object))
		json_fields_refuse(reader, field, "member \"%s\" is missing");
}

/* Returns the field with this key, or NULL. */
static const JsonField *
find_field(const JsonField *fields, const char *key, bool *encoded)
{
	for (; fields->name; fields++)
	{
		*encoded = fields->kind == JSON_NAME && text_after(key, ENCODED);
		if (strcmp(fields->name, key + (*encoded ? strlen(ENCODED) : 0)) == 0)
			return fields;
	}
	return NULL;
}

static void
read_object(JsonReader *reader, const JsonField *fields, void *object)
{
	bool		seen[MAX_FIELDS] = {false};
	bool		first = true;

	json_enter(reader, '{');
	while (json_more(reader, '}', &first))
	{
		char	   *key = json_key(reader);
		bool		encoded = false;
		const JsonField *field = key ? find_field(fields, key, &encoded) : NULL;

		if (field == NULL)
			json_skip(reader);

		/*
		 * JSON readers disagree about which of two members with the same name
		 * is valid, so refuse such an object.
		 */
		else if (seen[field - fields])
			json_fields_refuse(reader, field, "member \"%s\" is repeated");
		else
		{
			seen[field - fields] = true;
			read_value(reader, field, object, encoded);
			name_error(reader, field);
		}
		free(key);
	}
	/* After an error, this has no effect, because the first error is kept. */
	for (const JsonField *field = fields; field->name; field++)
		check_required(reader, field, object, seen[field - fields]);
}

void
json_read_document(JsonReader *reader, const char *text, size_t len,
				   const JsonField *fields, void *object)
{
	json_begin(reader, text, len);
	if (!is_utf8(text, len))
		json_fail(reader, "it is not UTF-8");
	read_object(reader, fields, object);
	json_finish(reader);
}

void
json_free_members(const JsonField *fields, void *object)
{
	for (; fields->name; fields++)
	{
		char	   *member = (char *) object + fields->offset;
		char	   *array;

		switch (fields->kind)
		{
			case JSON_OBJECT:
				if (*(void **) member)
					json_free_members(fields->fields, *(void **) member);
				free(*(void **) member);
				break;
			case JSON_ARRAY:
				array = *(char **) member;
				for (int i = 0; i < *(int *) ((char *) object + fields->count); i++)
					json_free_members(fields->fields, array + i * fields->size);
				free(array);
				break;
			case JSON_TEXT:
			case JSON_NAME:
			case JSON_DIGITS:
				free(*(char **) member);
				break;
			default:
				break;
		}
	}
}
