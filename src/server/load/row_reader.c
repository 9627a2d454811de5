/*-------------------------------------------------------------------------
 *
 * row_reader.c
 *	  Makes rows of the lines of COPY's text format.
 *
 * There are two lanes.  On the fast one are lines as a dump has them: cut by
 * the line splitter, which is the first part of this file, unescaped, and
 * decoded by column decoders.  From the first other line on, the end of data
 * included, NextCopyFrom() reads: so all that is unusual has its meaning, and
 * its error, from the server itself.  There is no way back to the fast lane,
 * as the server's parser may have read ahead.
 *
 * Errors on the fast lane are those of input functions.  Their context is
 * COPY's own, made by its own callback from what is kept in its state.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "commands/copy.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "base/server_compat.h"
#include "bytes/escape.h"
#include "load/row_reader.h"
#include "types/choose.h"

/* ----------
 * Cuts COPY's text format into lines and fields.
 *
 * The places of all bytes that may mean something are noted first, for some
 * KB at a time and without a branch on any byte; lines and fields are then
 * found by going from one place to the next.  What these bytes mean is in
 * src/backend/commands/copyfromparse.c: CopyReadLineText() and
 * CopyReadAttributesText().
 * ----------
 */

/* Bytes whose places are noted at a time: their places stay in the cache. */
#define WINDOW			8192
#define STRIDE			(4 * BYTE_BLOCK_SIZE)

struct LineSplitter
{
	CopyStream *stream;			/* borrowed */
	int			n_fields;
	Size		noted;			/* the stream's bytes up to here are noted */
	int			n_places;
	int			next;			/* in places */
	uint32		places[WINDOW]; /* in the stream's data */
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

/* Flag backslash, \t, \n and \r, and for simplicity what is below \r. */
static inline uint64
special_bits(const char *bytes)
{
	ByteBlock	block = byte_block_load(bytes);

	return byte_block_bits(byte_block_le(block, '\r') |
						   byte_block_eq(block, '\\'));
}

/*
 * Note the places in the next window.  False if there is none.
 *
 * A bit for each byte says whether it is special.  Four blocks make a word of
 * 64 bits, whose set bits are then visited from the lowest on.  So the cost
 * is that of the special bytes, and the others are only compared.
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

		/*
		 * behind the end there is padding, or what comes in the next window
		 */
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

/* The next place to *place; false if there is no other in the stream. */
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
 * Pass what a backslash at this place escapes.  LINE_WHOLE if the line may
 * go on.
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
	/* the escaped byte has been noted as well, and means nothing here */
	if (escaped == '\\' || (unsigned char) escaped < '\r')
		(void) next_place(splitter, &place);
	return LINE_WHOLE;
}

/*
 * The end of the field, i.e. the place of the next \t, \n or \r.  Other
 * control characters, which have been noted too, are part of the field.
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

	/* only the last field may end with the line, and it must */
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
	/* the server's parser has the error for bytes that are not valid */
	if (unlikely(start > stream->valid))
		return LINE_UNUSUAL;
	*line_len = end - stream->start;
	stream->start = start;
	return LINE_WHOLE;
}

/* The character that a letter behind a backslash stands for. */
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

		/* what is stored beyond the end is overwritten, or padding */
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

/* Of a line, COPY's context shows 100 bytes of whole characters. */
#define SHOWN_BYTES 128

/* Enough for the values of most rows; small, to stay in the cache. */
#define VALUE_SPACE	8192

struct RowReader
{
	CopyFromState cstate;		/* borrowed */
	bool		is_fast;		/* on which lane are we? */
	CopyStream	stream;
	LineSplitter *splitter;
	int			n_columns;		/* that are read */
	int		   *columns;		/* indexes in values */
	ColumnDecoder *decoders;	/* by column */
	ValueSpace	space;			/* of their values */
	char	   *space_start;
	Field	   *fields;			/* of the line, by column */
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
 * The fast lane
 * ----------
 */

/* Fill the stream.  False if what it holds is the server's. */
static bool
fill_stream(RowReader *reader)
{
	CopyFromState cstate = reader->cstate;
	bool		filled;

	/* if that fails, it does so in the next line */
	reader->line = NULL;
	cstate->line_buf_valid = false;
	cstate->cur_lineno++;
	filled = copy_stream_fill(&reader->stream);
	cstate->cur_lineno--;
	line_splitter_restart(reader->splitter);
	return filled;
}

/* Split the next line.  False if we must leave the fast lane before it. */
static bool
next_line(RowReader *reader)
{
	CopyFromState cstate = reader->cstate;
	LineKind	kind;

	/* an incomplete line is split again from its begin, with more data */
	for (;;)
	{
		Size		start = reader->stream.start;

		kind = line_splitter_next(reader->splitter, reader->fields,
								  &reader->line_len);
		if (likely(kind == LINE_WHOLE))
		{
			/* what CopyFromErrorCallback() shows if a value of it is wrong */
			reader->line = reader->stream.data + start;
			cstate->line_buf_valid = true;
			cstate->cur_lineno++;
			/* the server's parser refuses another newline after this one */
			cstate->eol_type = EOL_NL;
			return true;
		}
		if (kind == LINE_UNUSUAL || !fill_stream(reader))
			return false;
	}
}

/* The text of a field without escapes, and with padding. */
static char *
plain_text(RowReader *reader, const Field *field, Size *len)
{
	StringInfo	buf = &reader->cstate->attribute_buf;

	*len = field->len;
	if (likely(!field->escaped))
		return field->text;
	/* the buffer of COPY's own parser, which is not in use on this lane */
	resetStringInfo(buf);
	enlargeStringInfo(buf, field->len + FIELD_PADDING);
	*len = field_unescape(field, buf->data);
	return buf->data;
}

static Datum
read_by_input_function(RowReader *reader, int column, char *text, Size len)
{
	CopyFromState cstate = reader->cstate;
	TupleDesc	tupdesc = RelationGetDescr(cstate->rel);
	Datum		value;

	/* for the error's context: column and value */
	cstate->cur_attname =
		NameStr(TupleDescAttr(tupdesc, reader->columns[column])->attname);
	cstate->cur_attval = text;
	value = decode_by_input_function(&reader->decoders[column], text, len);
	cstate->cur_attname = NULL;
	cstate->cur_attval = NULL;
	return value;
}

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

/* The columns that are not read: as NextCopyFrom(). */
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

static void
decode_line(RowReader *reader, ExprContext *econtext, Datum *values,
			bool *isnull)
{
	int			n_values = RelationGetNumberOfAttributes(reader->cstate->rel);

	/*
	 * The space is used again for each row.  Columns that are neither read
	 * nor have a default are NULL; where all are read, each is set below.
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
			/* NULL has to pass a domain's constraints, too */
			if (!reader->decoders[i].input_function.fn_strict)
				read_by_input_function(reader, i, NULL, 0);
		}
		else
			values[column] = read_value(reader, i, field);
	}
	compute_defaults(reader->cstate, econtext, values, isnull);
}

/* ----------
 * Both lanes
 * ----------
 */

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
 * On the fast lane a line is taken from the stream before it is decoded; on
 * the other one NextCopyFrom() does all of that.
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
