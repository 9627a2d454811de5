/*-------------------------------------------------------------------------
 *
 * line_splitter.c
 *	  Cuts COPY's text format into lines and fields.
 *
 * The places of all bytes that may mean something are noted first, for some
 * KB at a time and without a branch on any byte; lines and fields are then
 * found by going from one place to the next.  What these bytes mean is in
 * src/backend/commands/copyfromparse.c: CopyReadLineText() and
 * CopyReadAttributesText().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bytes/byte_block.h"
#include "load/line_splitter.h"

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

	return byte_block_bits(byte_block_or(byte_block_le(block, '\r'),
										 byte_block_eq(block, '\\')));
}

/* Note the places in the next window.  False if there is none. */
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
	if (escaped == '\\' || (unsigned char) escaped < '\r')
		(void) next_place(splitter, &place);
	return LINE_WHOLE;
}

/* The end of the field, i.e. the place of the next \t, \n or \r. */
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
	if (unlikely(start > stream->valid))
		return LINE_UNUSUAL;
	*line_len = end - stream->start;
	stream->start = start;
	return LINE_WHOLE;
}
