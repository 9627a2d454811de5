/*
 * plan_field.c
 *		Members of structs as members of JSON objects.
 */
#include "base/fe_compat.h"

#include "mb/pg_wchar.h"

#include "base/json_text.h"
#include "base/hex.h"
#include "tasks/plan_field.h"

#define HEX_PREFIX "\\x"

static bool
has_hex_prefix(const char *text)
{
	return strncmp(text, HEX_PREFIX, strlen(HEX_PREFIX)) == 0;
}

void
plan_field_append_text(PQExpBuffer buf, const char *text)
{
	int			len = text ? (int) strlen(text) : 0;

	if (text == NULL)
		appendPQExpBufferStr(buf, "null");
	else if (has_hex_prefix(text) ||
			 pg_encoding_verifymbstr(PG_UTF8, text, len) != len)
	{
		char	   *hex = hex_encode(text, len);

		appendPQExpBuffer(buf, "\"\\" HEX_PREFIX "%s\"", hex);
		free(hex);
	}
	else
		json_append_text(buf, text, 0);
}

char *
plan_field_read_text(JsonReader *reader)
{
	char	   *text = json_string(reader);
	char	   *bytes;
	size_t		len;

	if (text == NULL || !has_hex_prefix(text))
		return text;
	len = strlen(text) / 2;
	bytes = pg_malloc0(len + 1);
	if (hex_decode(text + strlen(HEX_PREFIX), (uint8 *) bytes, len) < 0 &&
		reader->error == NULL)
		reader->error = "invalid encoded text";
	free(text);
	return bytes;
}

void
plan_fields_append(PQExpBuffer buf, const PlanField *fields, const void *object)
{
	for (const PlanField *field = fields; field->name; field++)
	{
		const char *member = (const char *) object + field->offset;

		appendPQExpBuffer(buf, "%s\"%s\": ", field == fields ? "" : ", ",
						  field->name);
		switch (field->kind)
		{
			case PLAN_TEXT:
				plan_field_append_text(buf, *(const char *const *) member);
				break;
			case PLAN_INT:
				appendPQExpBuffer(buf, "%d", *(const int *) member);
				break;
			case PLAN_UINT32:
				appendPQExpBuffer(buf, "%u", *(const uint32 *) member);
				break;
			case PLAN_UINT64:
				appendPQExpBuffer(buf, UINT64_FORMAT, *(const uint64 *) member);
				break;
			case PLAN_BOOL:
				appendPQExpBuffer(buf, "%d", *(const bool *) member ? 1 : 0);
				break;
			case PLAN_CHAR:
				appendPQExpBuffer(buf, "%d", *(const unsigned char *) member);
				break;
		}
	}
}

/* A number of at most this. */
static uint64
read_number(JsonReader *reader, uint64 max)
{
	uint64		number = json_number(reader);

	if (number <= max)
		return number;
	if (reader->error == NULL)
		reader->error = "a number is out of range";
	return 0;
}

bool
plan_field_read(JsonReader *reader, const PlanField *fields, void *object,
				const char *name)
{
	char	   *member;

	while (fields->name && strcmp(fields->name, name) != 0)
		fields++;
	if (fields->name == NULL)
		return false;
	member = (char *) object + fields->offset;
	switch (fields->kind)
	{
		case PLAN_TEXT:
			free(*(char **) member);
			*(char **) member = plan_field_read_text(reader);
			break;
		case PLAN_INT:
			*(int *) member = (int) read_number(reader, PG_INT32_MAX);
			break;
		case PLAN_UINT32:
			*(uint32 *) member = (uint32) read_number(reader, PG_UINT32_MAX);
			break;
		case PLAN_UINT64:
			*(uint64 *) member = json_number(reader);
			break;
		case PLAN_BOOL:
			*(bool *) member = read_number(reader, 1) == 1;
			break;
		case PLAN_CHAR:
			*(unsigned char *) member = (unsigned char) read_number(reader, 255);
			break;
	}
	return true;
}

void
plan_fields_free(const PlanField *fields, void *object)
{
	for (; fields->name; fields++)
		if (fields->kind == PLAN_TEXT)
			free(*(char **) ((char *) object + fields->offset));
}
