/*
 * test_text_pieces.c
 *		Rows are cut at ends of lines, in the same pieces however they come;
 *		and what does not end as rows do is refused.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "stream/text_pieces.h"
#include "unit_test.h"

/* Text of which this many bytes are read at a time. */
typedef struct Input
{
	const char *pos;
	size_t		left;
	size_t		step;
} Input;

static ssize_t
read_input(void *arg, void *buf, size_t size)
{
	Input	   *input = arg;
	size_t		part = Min(Min(input->step, size), input->left);

	memcpy(buf, input->pos, part);
	input->pos += part;
	input->left -= part;
	return part;
}

/* All pieces, as "NUMBER(TEXT)"; or what is wrong. */
static char *
cut(const char *text, size_t len, uint64 range, size_t step)
{
	Input		input = {text, len, step};
	TextPieces *pieces = text_pieces_new(read_input, &input, range);
	PQExpBuffer result = createPQExpBuffer();
	uint64		piece;
	uint64		last = PG_UINT64_MAX;
	const char *data;
	ssize_t		got;

	while ((got = text_pieces_next(pieces, &data, &piece)) > 0)
	{
		if (piece != last)
			appendPQExpBuffer(result, "%s" UINT64_FORMAT "(",
							  result->len > 0 ? ")" : "", piece);
		last = piece;
		appendBinaryPQExpBuffer(result, data, got);
	}
	if (result->len > 0)
		appendPQExpBufferChar(result, ')');
	if (got < 0)
		appendPQExpBufferStr(result, text_pieces_error(pieces));
	text_pieces_free(pieces);
	return result->data;
}

static void
cuts(const char *text, uint64 range, const char *expected, const char *what)
{
	for (size_t step = 1; step < 20; step += 6)
	{
		char	   *found = cut(text, strlen(text), range, step);

		is_text(found, expected, psprintf("%s, %zu bytes at a time", what, step));
		free(found);
	}
}

/* Rows of all lengths, some of which end in backslashes, or have newlines. */
static PQExpBuffer
random_rows(void)
{
	PQExpBuffer text = createPQExpBuffer();
	unsigned int seed = 4711;

	for (int row = 0; row < 30000; row++)
	{
		int			len;

		seed = seed * 1103515245 + 12345;
		len = (seed >> 16) % (row % 1000 == 0 ? 300000 : 40);
		for (int i = 0; i < len; i++)
			appendPQExpBufferChar(text, 'a' + (row + i) % 26);
		for (int i = 0; i < (int) (seed >> 20) % 5 * 2; i++)
			appendPQExpBufferChar(text, '\\');
		appendPQExpBufferStr(text, row % 100 == 7 ? "\\\n\n" : "\n");
	}
	return text;
}

/*
 * Each line is in the piece of the range that it begins in: compared with
 * what a walk through all lines says.
 */
static size_t
count_wrong(const PQExpBuffer text, uint64 range)
{
	PQExpBuffer all = createPQExpBuffer();
	Input		input = {.step = 100000};
	TextPieces *pieces;
	const char *data;
	uint64		piece;
	ssize_t		len;
	size_t		offset = 0;
	size_t		begin = 0;
	size_t		n_wrong = 0;

	appendBinaryPQExpBuffer(all, text->data, text->len);
	appendPQExpBufferStr(all, "\\.\n\n\n");
	input.pos = all->data;
	input.left = all->len;
	pieces = text_pieces_new(read_input, &input, range);
	while ((len = text_pieces_next(pieces, &data, &piece)) > 0)
	{
		n_wrong += memcmp(data, text->data + offset, len) != 0;
		for (ssize_t i = 0; i < len; i++, offset++)
		{
			size_t		n = 0;

			n_wrong += begin / range != piece;
			if (text->data[offset] != '\n')
				continue;
			while (n < offset && text->data[offset - n - 1] == '\\')
				n++;
			if (n % 2 == 0)
				begin = offset + 1;
		}
	}
	n_wrong += len < 0 || offset != text->len;
	text_pieces_free(pieces);
	destroyPQExpBuffer(all);
	return n_wrong;
}

static void
check_long(void)
{
	PQExpBuffer text = random_rows();
	uint64		ranges[] = {1, 1000, 65536, 1048576, TEXT_PIECES_WHOLE};

	for (int i = 0; i < (int) lengthof(ranges); i++)
		is_number(count_wrong(text, ranges[i]), 0,
				  psprintf("all lines are where they begin, range " UINT64_FORMAT,
						   ranges[i]));
	destroyPQExpBuffer(text);
}

/* The end line is found at any place, and nothing like it is taken for it. */
static void
check_end(void)
{
	for (int len = 1; len < 30; len++)
	{
		char	   *row = psprintf("%*s", len, "x");
		char	   *rows = psprintf("%s\\.\n\\.%s\n.\\\n%s\n", row, row, row);
		char	   *text = psprintf("%s\\.\n\n", rows);
		char	   *expected = psprintf("0(%s)", rows);
		char	   *found = cut(text, strlen(text), TEXT_PIECES_WHOLE, 1000);

		is_text(found, expected, psprintf("the end behind a row of %d bytes", len));
		free(found);
		free(expected);
		free(text);
		free(rows);
		free(row);
	}
}

void
test_text_pieces(void)
{
	const char *rows = "one\ntwo\nthree\n\\.\n\n\n";

	cuts(rows, 4, "0(one\n)1(two\n)2(three\n)", "lines as long as the range");
	cuts(rows, 5, "0(one\ntwo\n)1(three\n)", "a line goes over the end of a range");
	cuts(rows, 7, "0(one\ntwo\n)1(three\n)", "and another one");
	cuts(rows, TEXT_PIECES_WHOLE, "0(one\ntwo\nthree\n)", "one piece");
	cuts("a\nbcdefghijkl\nm\nn\n\\.\n", 4, "0(a\nbcdefghijkl\n)3(m\n)4(n\n)",
		 "a line longer than ranges");
	cuts("\\.\n\n\n", 4, "", "no rows");
	cuts("\\.\n", 4, "", "no rows, and no newlines behind");
	cuts("\n\n\n\\.\n\n\n", 1, "0(\n)1(\n)2(\n)", "rows without columns");
	cuts("a\\\nb\nc\n\\.\n", 2, "0(a\\\nb\n)2(c\n)",
		 "a backslash and a newline are data");
	cuts("a\\\\\nb\nc\n\\.\n", 2, "0(a\\\\\n)2(b\n)3(c\n)",
		 "two backslashes and a newline are an end");
	cuts("a\\\\\\\nb\nc\n\\.\n", 1, "0(a\\\\\\\nb\n)7(c\n)",
		 "three are not");

	cuts("", 4, "the line that ends the rows is missing", "nothing");
	cuts("a\n", 4, "the line that ends the rows is missing", "no end");
	cuts("a\n\\.", 4, "0(a)the line that ends the rows is missing", "half an end");
	cuts("a\nb\\.\n\n", TEXT_PIECES_WHOLE,
		 "0(a\nb\\)the line that ends the rows is missing",
		 "the end within a line is none");
	cuts("\\.\n\nx", 4, "unexpected data after the rows", "more after the end");
	cuts("\\.\nb\n\\.\n\n\n", 4, "unexpected data after the rows",
		 "an end in the middle");

	check_end();
	check_long();
}
