/*-------------------------------------------------------------------------
 *
 * row_reader.c
 *	  Makes rows of the lines of COPY's text format.
 *
 * load_copy.c calls this for each row.  Rows are read in one of two ways.  As
 * long as lines have the form that dumps contain, the line splitter splits
 * them (the first part of this file), their escapes are resolved, and column
 * decoders (types/) make values.  From the first other line on, and at the
 * end of data, the server's NextCopyFrom() reads.  So the server itself
 * decides what unusual lines mean, and raises all errors about their form.
 * After that the fast way cannot be used again, as the server's parser may
 * have read ahead.
 *
 * In the fast way, errors can only come from input functions.  COPY's own
 * callback adds their context, from values that are kept in COPY's state.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "commands/copy.h"

#include "base/server_compat.h"
#include "bytes/escape.h"
#include "load/row_reader.h"
#include "types/choose.h"

/* ----------
 * Splits COPY's text format into lines and fields.
 *
 * First, the places of all bytes that may have a special meaning are stored,
 * for a few kB at a time and without a branch for each byte.  Then lines and
 * fields are found by going from one of these places to the next.  The
 * meaning of the bytes is that of CopyReadLineText() and
 * CopyReadAttributesText() (src/backend/commands/copyfromparse.c).
 * ----------
 */

/*
 * The number of bytes that are searched at a time, so that their places fit
 * into the processor's cache; and the number in one step of the search.
 */
#define WINDOW			8192
#define STRIDE			(4 * BYTE_BLOCK_SIZE)

struct LineSplitter
{
	CopyStream *stream;			/* borrowed */
	int			n_fields;
	Size		noted;			/* the stream was searched up to here */
	int			n_places;
	int			next;			/* index in places */
	uint32		places[WINDOW]; /* offsets in the stream's data */
};

LineSplitter *
line_splitter_new(CopyStream *stream, int n_fields)
{
	LineSplitter *splitter = palloc(sizeof(LineSplitter));

	Assert(n_fields > 0);
	splitter->stream = stream;
	splitter->n_fields = n_fields;
	line_splitter_restart(splitter);
	return splitter;
}

void
line_splitter_restart(LineSplitter *splitter)
{
	splitter->noted = splitter->stream->start;
	splitter->n_places = 0;
	splitter->next = 0;
}

/*
 * Return a bit for each byte: is it \t, \n, \r or a backslash?  Other bytes
 * below \r are included, as this takes one comparison.
 */
static inline uint64
special_bits(const char *bytes)
{
	ByteBlock	block = byte_block_load(bytes);

	return byte_block_bits(byte_block_le(block, '\r') |
						   byte_block_eq(block, '\\'));
}

/*
 * Store the places of special bytes in the next window.  Returns false if
 * there is none, and the stream is at its end.
 *
 * The bits of four blocks make a word of 64 bits, whose set bits are then
 * visited from the lowest on.  So the loop has a step for each special byte,
 * and other bytes are only compared.
 */
static pg_noinline bool
note_places(LineSplitter *splitter)
{
	CopyStream *stream = splitter->stream;
	Size		end = Min(stream->end, splitter->noted + WINDOW);
	uint32	   *place = splitter->places;

	for (Size at = splitter->noted; at < end; at += STRIDE)
	{
		const char *bytes = stream->data + at;
		uint64		bits = special_bits(bytes) |
			special_bits(bytes + BYTE_BLOCK_SIZE) << 16 |
			special_bits(bytes + 2 * BYTE_BLOCK_SIZE) << 32 |
			special_bits(bytes + 3 * BYTE_BLOCK_SIZE) << 48;

		/* ignore bytes after the end: padding, or those of the next window */
		if (end - at < STRIDE)
			bits &= (UINT64CONST(1) << (end - at)) - 1;
		while (bits != 0)
		{
			*place++ = at + pg_rightmost_one_pos64(bits);
			bits &= bits - 1;
		}
	}
	splitter->noted = end;
	splitter->n_places = place - splitter->places;
	splitter->next = 0;
	return splitter->n_places > 0 || end < stream->end;
}

/* Set *place to the next place; returns false if the stream has no more. */
static inline bool
next_place(LineSplitter *splitter, uint32 *place)
{
	while (unlikely(splitter->next == splitter->n_places))
	{
		if (!note_places(splitter))
			return false;
	}
	*place = splitter->places[splitter->next++];
	return true;
}

/*
 * Skip the character after a backslash at this place.  Returns LINE_WHOLE if
 * the escape is a usual one.
 */
static LineKind
pass_escape(LineSplitter *splitter, uint32 place)
{
	CopyStream *stream = splitter->stream;
	char		escaped;

	if (place + 1 >= stream->end)
		return LINE_INCOMPLETE;
	escaped = stream->data[place + 1];
	if (escaped == '.' || escaped == 'x' || escaped == '\n' ||
		escaped == '\r' || (escaped >= '0' && escaped <= '7'))
		return LINE_UNUSUAL;
	/* if the escaped byte is one of the stored places, skip it */
	if (escaped == '\\' || (unsigned char) escaped < '\r')
		(void) next_place(splitter, &place);
	return LINE_WHOLE;
}

/*
 * Find the end of the field, which is the next \t or \n.  Other control
 * characters, whose places are stored as well, are part of the field.
 */
static inline LineKind
find_field_end(LineSplitter *splitter, uint32 *end, bool *escaped)
{
	const char *data = splitter->stream->data;

	*escaped = false;
	for (;;)
	{
		if (unlikely(!next_place(splitter, end)))
			return LINE_INCOMPLETE;
		switch (data[*end])
		{
			case '\t':
			case '\n':
				return LINE_WHOLE;
			case '\r':
				return LINE_UNUSUAL;
			case '\\':
				{
					LineKind	kind = pass_escape(splitter, *end);

					if (unlikely(kind != LINE_WHOLE))
						return kind;
					*escaped = true;
				}
		}
	}
}

LineKind
line_splitter_next(LineSplitter *splitter, Field *fields, Size *line_len)
{
	CopyStream *stream = splitter->stream;
	char	   *data = stream->data;
	uint32		start = stream->start;
	uint32		end = start;

	/* the last field, and no other, must end with the line */
	for (int i = 0; i < splitter->n_fields; i++)
	{
		bool		is_last = i == splitter->n_fields - 1;
		LineKind	kind = find_field_end(splitter, &end, &fields[i].escaped);

		if (unlikely(kind != LINE_WHOLE))
			return kind;
		if (unlikely((data[end] == '\n') != is_last))
			return LINE_UNUSUAL;
		fields[i].text = data + start;
		fields[i].len = end - start;
		start = end + 1;
	}
	/* the server's parser raises the error for invalid bytes */
	if (unlikely(start > stream->valid))
		return LINE_UNUSUAL;
	*line_len = end - stream->start;
	stream->start = start;
	return LINE_WHOLE;
}

/* Return the character that a letter after a backslash means. */
static inline char
escaped_char(char letter)
{
	char		control = letter == 'v' ? '\v' : unescape_letter(letter);

	return control != '\0' ? control : letter;
}

Size
field_unescape(const Field *field, char *to)
{
	const char *from = field->text;
	const char *end = from + field->len;
	char	   *start = to;

	while (from < end)
	{
		ByteBlock	block = byte_block_load(from);
		ByteBlock	flags = byte_block_eq(block, '\\');
		int			plain = BYTE_BLOCK_SIZE;

		/* bytes stored beyond the end are overwritten, or in the padding */
		byte_block_store(to, block);
		if (byte_block_any(flags))
			plain = byte_block_first(flags);
		if (plain >= end - from)
		{
			to += end - from;
			break;
		}
		from += plain;
		to += plain;
		if (plain < BYTE_BLOCK_SIZE)
		{
			*to++ = escaped_char(from[1]);
			from += 2;
		}
	}
	return to - start;
}

/* ----------
 * Makes rows of the lines of COPY's text format.
 * ----------
 */

/* The bytes of a line for COPY's context, which shows at most 100. */
#define SHOWN_BYTES 128

/*
 * The memory for values, which is enough for most rows, but small enough to
 * stay in the processor's cache.
 */
#define VALUE_SPACE	8192

struct RowReader
{
	CopyFromState cstate;		/* borrowed */
	bool		is_fast;		/* the fast way is in use */
	CopyStream	stream;
	LineSplitter *splitter;
	int			n_columns;		/* in the data */
	int		   *columns;		/* their indexes in the table */
	ColumnDecoder *decoders;	/* by column in the data */
	ValueSpace	space;			/* for their values */
	char	   *space_start;
	Field	   *fields;			/* of the line, by column in the data */
	const char *line;			/* in the stream, or NULL */
	Size		line_len;
};

/* The decoders are chosen in the order of the fields of a line. */
RowReader *
row_reader_new(CopyFromState cstate)
{
	RowReader  *reader = palloc0(sizeof(RowReader));
	TupleDesc	tupdesc = RelationGetDescr(cstate->rel);
	ListCell   *cell;
	int			n_columns = list_length(cstate->attnumlist);

	reader->cstate = cstate;
	reader->is_fast = true;
	reader->columns = palloc(sizeof(int) * n_columns);
	reader->decoders = palloc(sizeof(ColumnDecoder) * n_columns);
	reader->fields = palloc(sizeof(Field) * n_columns);
	reader->space_start = palloc(VALUE_SPACE);
	reader->space.end = reader->space_start + VALUE_SPACE;
	foreach(cell, cstate->attnumlist)
	{
		int			column = lfirst_int(cell) - 1;
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, column);

		choose_decoder(&reader->decoders[reader->n_columns], &reader->space,
					   attribute->atttypid, attribute->atttypmod);
		reader->columns[reader->n_columns++] = column;
	}
	copy_stream_init(&reader->stream, cstate);
	reader->splitter = line_splitter_new(&reader->stream, n_columns);
	return reader;
}

void
row_reader_error_context(void *arg)
{
	RowReader  *reader = arg;
	CopyFromState cstate = reader->cstate;

	/* the line is copied only now, as most rows cause no error */
	if (reader->line != NULL && cstate->line_buf_valid)
	{
		resetStringInfo(&cstate->line_buf);
		appendBinaryStringInfo(&cstate->line_buf, reader->line,
							   Min(reader->line_len, SHOWN_BYTES));
	}
	CopyFromErrorCallback(cstate);
}

/* ----------
 * The fast way
 * ----------
 */

/* Fill the stream.  Returns false if the server has to read the rest. */
static bool
fill_stream(RowReader *reader)
{
	CopyFromState cstate = reader->cstate;
	bool		filled;

	/* an error in this call has the number of the next line as its context */
	reader->line = NULL;
	cstate->line_buf_valid = false;
	cstate->cur_lineno++;
	filled = copy_stream_fill(&reader->stream);
	cstate->cur_lineno--;
	line_splitter_restart(reader->splitter);
	return filled;
}

/* Split the next line.  Returns false if the server has to read it. */
static bool
next_line(RowReader *reader)
{
	CopyFromState cstate = reader->cstate;
	LineKind	kind;

	/* an incomplete line is split again from its start, with more data */
	for (;;)
	{
		Size		start = reader->stream.start;

		kind = line_splitter_next(reader->splitter, reader->fields,
								  &reader->line_len);
		if (likely(kind == LINE_WHOLE))
		{
			/* CopyFromErrorCallback() shows this line if a value is wrong */
			reader->line = reader->stream.data + start;
			cstate->line_buf_valid = true;
			cstate->cur_lineno++;
			/* the server's parser then refuses newlines of another form */
			cstate->eol_type = EOL_NL;
			return true;
		}
		if (kind == LINE_UNUSUAL || !fill_stream(reader))
			return false;
	}
}

/* Return the text of a field with its escapes resolved; padding follows. */
static char *
plain_text(RowReader *reader, const Field *field, Size *len)
{
	StringInfo	buf = &reader->cstate->attribute_buf;

	*len = field->len;
	if (likely(!field->escaped))
		return field->text;
	/* use the buffer of COPY's own parser, which is not running now */
	resetStringInfo(buf);
	enlargeStringInfo(buf, field->len + FIELD_PADDING);
	*len = field_unescape(field, buf->data);
	return buf->data;
}

/* Make a value with the input function, with the context for its errors. */
static Datum
read_by_input_function(RowReader *reader, int column, char *text, Size len)
{
	CopyFromState cstate = reader->cstate;
	TupleDesc	tupdesc = RelationGetDescr(cstate->rel);
	Datum		value;

	/* the context of an error contains the column and the value */
	cstate->cur_attname =
		NameStr(TupleDescAttr(tupdesc, reader->columns[column])->attname);
	cstate->cur_attval = text;
	value = decode_by_input_function(&reader->decoders[column], text, len);
	cstate->cur_attname = NULL;
	cstate->cur_attval = NULL;
	return value;
}

/*
 * Make a value of a field: with the column's decoder, or with the input
 * function if there is no decoder or if it declines the field.
 */
static inline Datum
read_value(RowReader *reader, int column, const Field *field)
{
	ColumnDecoder *decoder = &reader->decoders[column];
	Size		len;
	char	   *text = plain_text(reader, field, &len);
	Datum		value;

	if (decoder->decode != NULL && decoder->decode(decoder, text, len, &value))
		return value;
	return read_by_input_function(reader, column, text, len);
}

/* Compute the defaults of columns that are not in the data. */
static inline void
compute_defaults(CopyFromState cstate, ExprContext *econtext, Datum *values,
				 bool *isnull)
{
	for (int i = 0; i < cstate->num_defaults; i++)
	{
		int			column = cstate->defmap[i];

		values[column] = ExecEvalExpr(copy_default(cstate, i), econtext,
									  &isnull[column]);
	}
}

/* Fill in the values of a row from the fields of a line, and defaults. */
static void
decode_line(RowReader *reader, ExprContext *econtext, Datum *values,
			bool *isnull)
{
	int			n_values = RelationGetNumberOfAttributes(reader->cstate->rel);

	/*
	 * The space is reused for each row.  Columns that are not in the data and
	 * have no default are NULL.  If all columns are in the data, each element
	 * is set below.
	 */
	reader->space.next = reader->space_start;
	if (reader->n_columns < n_values)
	{
		memset(values, 0, sizeof(Datum) * n_values);
		memset(isnull, true, sizeof(bool) * n_values);
	}
	for (int i = 0; i < reader->n_columns; i++)
	{
		const Field *field = &reader->fields[i];
		int			column = reader->columns[i];

		isnull[column] = field_is_null(field);
		if (isnull[column])
		{
			values[column] = (Datum) 0;
			/* the constraints of a domain also apply to NULL */
			if (!reader->decoders[i].input_function.fn_strict)
				read_by_input_function(reader, i, NULL, 0);
		}
		else
			values[column] = read_value(reader, i, field);
	}
	compute_defaults(reader->cstate, econtext, values, isnull);
}

/* ----------
 * Both ways
 * ----------
 */

/* Let the server read all rows from here on. */
static void
leave_fast_lane(RowReader *reader)
{
	ereport(DEBUG2,
			(errmsg_internal("COPY to table \"%s\" is read by the server from line %llu on",
							 reader->cstate->cur_relname,
							 (unsigned long long) reader->cstate->cur_lineno + 1)));
	reader->is_fast = false;
	reader->line = NULL;
	copy_stream_hand_over(&reader->stream);
}

/*
 * In the fast way, a line is removed from the stream before its fields are
 * decoded.  Otherwise NextCopyFrom() reads and decodes the line.
 */
bool
row_reader_next(RowReader *reader, ExprContext *econtext, Datum *values,
				bool *isnull, Size *line_len)
{
	CopyFromState cstate = reader->cstate;

	if (likely(reader->is_fast))
	{
		if (likely(next_line(reader)))
		{
			decode_line(reader, econtext, values, isnull);
			*line_len = reader->line_len;
			return true;
		}
		leave_fast_lane(reader);
	}
	if (!NextCopyFrom(cstate, econtext, values, isnull))
		return false;
	*line_len = cstate->line_buf.len;
	return true;
}
