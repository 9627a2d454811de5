/*
 * fuzz_lines.c
 *		What a client sends for COPY, cut into lines and fields: within its
 *		bytes, and as a reference does that goes byte by byte.
 *
 * The first byte is the number of columns and says how many bytes of the rest
 * come at a time.
 */
#include "postgres.h"

#include "load/row_reader.h"

#define MAX_COLUMNS	8

/* The server's, for what is outside of it. */
void *
palloc(Size size)
{
	return malloc(size);
}

static void
check(bool right)
{
	if (!right)
		abort();
}

/* CopyReadLineText() and CopyReadAttributesText(), for one line. */
static LineKind
reference(const char *text, Size len, int n_columns, Field *fields, Size *used)
{
	int			n = 0;
	Size		start = 0;

	memset(fields, 0, sizeof(Field) * MAX_COLUMNS);
	for (Size i = 0; i < len; i++)
	{
		if (text[i] == '\\')
		{
			if (i + 1 == len)
				return LINE_INCOMPLETE;
			i++;
			if (strchr(".x\n\r01234567", text[i]) != NULL)
				return LINE_UNUSUAL;
			fields[n].escaped = true;
		}
		else if (text[i] == '\r')
			return LINE_UNUSUAL;
		else if (text[i] == '\t' || text[i] == '\n')
		{
			fields[n].text = (char *) text + start;
			fields[n].len = i - start;
			start = i + 1;
			n++;
			if ((text[i] == '\n') != (n == n_columns))
				return LINE_UNUSUAL;
			if (text[i] == '\n')
			{
				*used = start;
				return LINE_WHOLE;
			}
		}
	}
	return LINE_INCOMPLETE;
}

static void
check_fields(const Field *found, const Field *expected, int n)
{
	for (int i = 0; i < n; i++)
	{
		char	   *plain;
		Size		len;

		check(found[i].text == expected[i].text && found[i].len == expected[i].len &&
			  found[i].escaped == expected[i].escaped);
		plain = malloc(found[i].len + STREAM_PADDING);
		len = field_unescape(&found[i], plain);
		check(len <= found[i].len);
		free(plain);
	}
}

/* All lines of what the stream holds; false if one is unusual. */
static bool
split_all(LineSplitter *splitter, CopyStream *stream, int n_columns)
{
	Field		found[MAX_COLUMNS];
	Field		expected[MAX_COLUMNS];
	Size		line_len;
	Size		used = 0;

	line_splitter_restart(splitter);
	for (;;)
	{
		Size		start = stream->start;
		LineKind	wanted = reference(stream->data + start, stream->end - start,
									   n_columns, expected, &used);
		LineKind	kind = line_splitter_next(splitter, found, &line_len);

		check(kind == wanted);
		if (kind != LINE_WHOLE)
		{
			check(stream->start == start);
			return kind == LINE_INCOMPLETE;
		}
		check(stream->start == start + used && line_len == used - 1);
		check_fields(found, expected, n_columns);
	}
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	CopyStream	stream;
	LineSplitter *splitter;
	int			n_columns;
	Size		step;

	/* a zero is invalid: it ends what is looked at */
	if (size < 2 || memchr(data + 1, 0, size - 1) != NULL)
		return 0;
	n_columns = 1 + data[0] % MAX_COLUMNS;
	step = 1 + (data[0] / MAX_COLUMNS) * 37;
	data++;
	size--;

	memset(&stream, 0, sizeof(stream));
	stream.data = calloc(STREAM_PADDING, 1);
	splitter = line_splitter_new(&stream, n_columns);
	for (Size at = 0; at < size;)
	{
		Size		more = Min(step, size - at);
		Size		rest = stream.end - stream.start;
		char	   *moved = calloc(rest + more + STREAM_PADDING, 1);

		memcpy(moved, stream.data + stream.start, rest);
		memcpy(moved + rest, data + at, more);
		free(stream.data);
		stream.data = moved;
		stream.start = 0;
		stream.end = stream.valid = rest + more;
		at += more;
		if (!split_all(splitter, &stream, n_columns))
			break;
	}
	free(stream.data);
	free(splitter);
	return 0;
}
