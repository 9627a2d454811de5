/*
 * progress_line.c
 *		One line of progress, made of fields, as wide as the terminal allows.
 */
#include "base/fe_compat.h"

#include "base/message.h"
#include "progress/progress_line.h"

#define SEPARATOR ", "

/* The bytes of a name that are shown. */
#define NAME_BYTES 40

void
progress_line_add(ProgressLine *line, int rank, const char *before,
				  const char *after, const char *format,...)
{
	ProgressField *field = &line->fields[line->n_fields++];
	PQExpBufferData number;
	va_list		args;
	char		text[256];

	Assert(line->n_fields <= PROGRESS_FIELDS);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	initPQExpBuffer(&number);
	appendPQExpBufferStr(&number, text);
	field->before = before;
	field->number = number.data;
	field->after = after;
	field->rank = rank;
	field->brief = field->left_out = false;
}

void
progress_line_add_name(ProgressLine *line, int rank, const char *name)
{
	const char *shown = printable(name);
	int			len = strlen(shown);
	bool		cut = len > NAME_BYTES;

	/* not within a character of UTF-8 */
	for (len = Min(len, NAME_BYTES); cut && len > 0; len--)
		if (((unsigned char) shown[len] & 0xC0) != 0x80)
			break;
	progress_line_add(line, rank, "", "", "%.*s%s", len, shown,
					  cut ? "..." : "");
}

/* In bytes, which are columns at least. */
static int
width(const ProgressLine *line)
{
	int			result = 0;
	int			n = 0;

	for (int i = 0; i < line->n_fields; i++)
	{
		const ProgressField *field = &line->fields[i];

		if (field->left_out)
			continue;
		result += strlen(field->number);
		if (!field->brief)
			result += strlen(field->before) + strlen(field->after);
		n++;
	}
	return result + Max(n - 1, 0) * (int) strlen(SEPARATOR);
}

/* Begin with what must be there, then add as much as there is room for. */
static void
make_fit(ProgressLine *line, int columns)
{
	for (int i = 0; i < line->n_fields; i++)
		line->fields[i].left_out = line->fields[i].rank > 0;
	for (int rank = 1; rank <= PROGRESS_RANKS; rank++)
		for (int i = 0; i < line->n_fields; i++)
		{
			ProgressField *field = &line->fields[i];

			if (field->rank != rank)
				continue;
			field->left_out = false;
			field->brief = width(line) > columns;
			field->left_out = width(line) > columns;
		}
}

void
progress_line_finish(ProgressLine *line, int columns, PQExpBuffer buf)
{
	size_t		begin = buf->len;

	if (columns > 0)
		make_fit(line, columns);
	for (int i = 0; i < line->n_fields; i++)
	{
		ProgressField *field = &line->fields[i];

		if (!field->left_out)
			appendPQExpBuffer(buf, "%s%s%s%s", buf->len > begin ? SEPARATOR : "",
							  field->brief ? "" : field->before, field->number,
							  field->brief ? "" : field->after);
		free(field->number);
	}
	line->n_fields = 0;
}
