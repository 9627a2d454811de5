/*
 * sink_rows.c
 *		Takes rows apart.
 *
 * A newline or a tab within a value is written as \n or \t (copyto.c:
 * CopyAttributeOutText), and is no part of a character of any client
 * encoding.
 */
#include "base/fe_compat.h"

#include "compare/sink_rows.h"

/*
 * No server sends or takes a longer row (memutils.h: MaxAllocSize); a file
 * that was made to fill memory has one without an end.
 */
#define MOST_ROW_BYTES ((size_t) 0x3fffffff)

typedef struct RowsSink
{
	Sink		base;
	RowCallback row;
	void	   *arg;
	PQExpBufferData begun;		/* of a line, in what was written before */
} RowsSink;

static void
keep_begun(RowsSink *rows, const char *data, size_t len)
{
	if (rows->begun.len + len > MOST_ROW_BYTES)
		pg_fatal("a row is longer than 1 GB");
	appendBinaryPQExpBuffer(&rows->begun, data, len);
	if (PQExpBufferDataBroken(rows->begun))
		pg_fatal("out of memory");
}

static void
sink_rows_write(Sink *sink, const void *data, size_t len)
{
	RowsSink   *rows = (RowsSink *) sink;
	const char *pos = data;
	const char *stop = pos + len;
	const char *end;

	while (pos < stop && (end = memchr(pos, '\n', stop - pos)) != NULL)
	{
		if (rows->begun.len > 0)
		{
			keep_begun(rows, pos, end - pos);
			rows->row(rows->arg, rows->begun.data, rows->begun.len);
			resetPQExpBuffer(&rows->begun);
		}
		else
			rows->row(rows->arg, pos, end - pos);
		pos = end + 1;
	}
	if (pos < stop)
		keep_begun(rows, pos, stop - pos);
}

static void
sink_rows_finish(Sink *sink)
{
	RowsSink   *rows = (RowsSink *) sink;

	if (rows->begun.len > 0)
		pg_fatal("the rows end in the midst of one");
}

static void
sink_rows_free(Sink *sink)
{
	termPQExpBuffer(&((RowsSink *) sink)->begun);
	free(sink);
}

static const SinkOps sink_rows_ops = {
	.write = sink_rows_write,
	.finish = sink_rows_finish,
	.free = sink_rows_free,
};

Sink *
sink_rows_new(RowCallback row, void *arg)
{
	RowsSink   *rows = pg_malloc0(sizeof(RowsSink));

	rows->base.ops = &sink_rows_ops;
	rows->row = row;
	rows->arg = arg;
	initPQExpBuffer(&rows->begun);
	return &rows->base;
}

const char *
sink_rows_field(const char *row, size_t row_len, int no, size_t *len)
{
	const char *stop = row + row_len;
	const char *end;

	for (; no > 0; no--)
	{
		end = memchr(row, '\t', stop - row);
		if (end == NULL)
			pg_fatal("a row has fewer columns than its table");
		row = end + 1;
	}
	end = memchr(row, '\t', stop - row);
	*len = (end ? end : stop) - row;
	return row;
}
