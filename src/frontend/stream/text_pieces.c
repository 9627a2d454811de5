/*
 * text_pieces.c
 *		Cuts the rows of a table, as COPY writes them as text, in pieces.
 */
#include "base/fe_compat.h"

#include "stream/text_pieces.h"

#define BUFFER_BYTES (256 * 1024)

/* The line that ends the rows, behind the end of another one. */
#define END_LINE "\n\\.\n"
#define END_LINE_BYTES (sizeof(END_LINE) - 1)

struct TextPieces
{
	TextReadCallback read;
	void	   *arg;
	uint64		range_bytes;

	/*
	 * The text, at first behind a newline that is not of it, so that the end
	 * line is found at the begin, too.  It has none before "searched".
	 */
	char	   *buffer;
	size_t		start;			/* not yet handed out */
	size_t		searched;
	size_t		end;
	uint64		offset;			/* in the text, of buffer + start */
	uint64		piece;			/* of the line that is there */
	bool		odd_backslashes;	/* what was handed out ends so */
	bool		rows_ended;
	bool		failed;
	const char *error;			/* why, if it is the text */
};

TextPieces *
text_pieces_new(TextReadCallback read, void *arg, uint64 range_bytes)
{
	TextPieces *pieces = pg_malloc0(sizeof(TextPieces));

	pieces->read = read;
	pieces->arg = arg;
	pieces->range_bytes = range_bytes;
	pieces->buffer = pg_malloc(BUFFER_BYTES);
	pieces->buffer[0] = '\n';
	pieces->start = pieces->searched = pieces->end = 1;
	return pieces;
}

/* ----------
 * The text
 * ----------
 */

/*
 * The rows end at "searched": what follows the end line, from this place on,
 * can only be newlines.  False if not, or with an error.
 */
static bool
check_rest(TextPieces *pieces, size_t from)
{
	ssize_t		len = pieces->end - from;

	pieces->rows_ended = true;
	do
	{
		for (ssize_t i = 0; i < len; i++)
		{
			if (pieces->buffer[from + i] != '\n')
			{
				pieces->error = "unexpected data after the rows";
				return false;
			}
		}
		/* the end line has made room behind the rows */
		from = pieces->searched;
		len = pieces->read(pieces->arg, pieces->buffer + from,
						   BUFFER_BYTES - from);
	} while (len > 0);
	return len == 0;
}

#define EIGHT_TIMES(c) (UINT64CONST(0x0101010101010101) * (unsigned char) (c))

/* Is one of eight bytes a backslash with a dot behind it?  Rarely wrong. */
static bool
may_have_end(const char *pos)
{
	uint64		bytes;
	uint64		behind;
	uint64		other;

	memcpy(&bytes, pos, sizeof(bytes));
	memcpy(&behind, pos + 1, sizeof(behind));
	/* a byte is 0 where both are what they should be */
	other = (bytes ^ EIGHT_TIMES('\\')) | (behind ^ EIGHT_TIMES('.'));
	return ((other - EIGHT_TIMES(1)) & ~other & EIGHT_TIMES(0x80)) != 0;
}

/*
 * The end line, or NULL.  Every byte of a table goes through here, and
 * memmem() would take two to three times as long.
 */
static char *
find_end_line(char *text, const char *end)
{
	char	   *pos = text + 1;
	char	   *found;

	for (; end - pos >= 10; pos += 8)
		if (may_have_end(pos) &&
			(found = memmem(pos - 1, 11, END_LINE, END_LINE_BYTES)) != NULL)
			return found;
	return memmem(pos - 1, end - (pos - 1), END_LINE, END_LINE_BYTES);
}

/*
 * All has been handed out that could be: read some more, and look for the end
 * line.  What may be the begin of one is not searched yet.  False with an
 * error.
 */
static bool
read_more(TextPieces *pieces)
{
	size_t		kept = pieces->end - (pieces->start - 1);
	ssize_t		len;
	char	   *found;

	/* with the byte before, at first the newline that is not of the text */
	memmove(pieces->buffer, pieces->buffer + pieces->start - 1, kept);
	pieces->start = pieces->searched = 1;
	pieces->end = kept;
	len = pieces->read(pieces->arg, pieces->buffer + kept,
					   BUFFER_BYTES - kept);
	if (len == 0)
		pieces->error = "the line that ends the rows is missing";
	if (len <= 0)
		return false;
	pieces->end += len;
	found = find_end_line(pieces->buffer, pieces->buffer + pieces->end);
	if (found)
	{
		pieces->searched = found + 1 - pieces->buffer;
		return check_rest(pieces, found + END_LINE_BYTES - pieces->buffer);
	}
	pieces->searched = Max(pieces->end, END_LINE_BYTES) - (END_LINE_BYTES - 1);
	return true;
}

/* ----------
 * Pieces
 * ----------
 */

/*
 * Does an odd number of backslashes come before this place, which is in what
 * has not been handed out?
 */
static bool
after_odd_backslashes(const TextPieces *pieces, size_t at)
{
	size_t		n = 0;

	while (at - n > pieces->start && pieces->buffer[at - n - 1] == '\\')
		n++;
	return (n % 2 == 1) != (at - n == pieces->start && pieces->odd_backslashes);
}

/* Does a line end just before this place? */
static bool
is_line_begin(const TextPieces *pieces, size_t at)
{
	return pieces->buffer[at - 1] == '\n' &&
		!after_odd_backslashes(pieces, at - 1);
}

/*
 * Where the next piece begins, or, if that is further on, the end of what can
 * be handed out: its first line begins in a later range than this piece's.
 */
static size_t
find_cut(const TextPieces *pieces)
{
	uint64		boundary = (pieces->piece + 1) * pieces->range_bytes;
	uint64		left = boundary > pieces->offset ? boundary - pieces->offset : 1;
	const char *pos = pieces->buffer + pieces->start;
	const char *end = pieces->buffer + pieces->searched;

	if (left > pieces->searched - pieces->start)
		return pieces->searched;
	pos += left - 1;
	while ((pos = memchr(pos, '\n', end - pos)) != NULL)
	{
		pos++;
		if (is_line_begin(pieces, pos - pieces->buffer))
			return pos - pieces->buffer;
	}
	return pieces->searched;
}

ssize_t
text_pieces_next(TextPieces *pieces, const char **data, uint64 *piece)
{
	size_t		cut;
	size_t		len;
	bool		line_begins;

	while (pieces->start == pieces->searched && !pieces->rows_ended &&
		   !pieces->failed)
		pieces->failed = !read_more(pieces);
	if (pieces->failed)
		return -1;
	if (pieces->start == pieces->searched)
		return 0;

	cut = find_cut(pieces);
	len = cut - pieces->start;
	*data = pieces->buffer + pieces->start;
	*piece = pieces->piece;
	line_begins = is_line_begin(pieces, cut);
	pieces->odd_backslashes = after_odd_backslashes(pieces, cut);
	pieces->start = cut;
	pieces->offset += len;
	if (line_begins)
		pieces->piece = pieces->offset / pieces->range_bytes;
	return len;
}

const char *
text_pieces_error(const TextPieces *pieces)
{
	return pieces->error;
}

void
text_pieces_free(TextPieces *pieces)
{
	free(pieces->buffer);
	free(pieces);
}
