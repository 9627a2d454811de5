/*
 * text_pieces.c
 *		Implements text_pieces.h: splits the rows of a table, in COPY's text
 *		format, into pieces.
 */
#include "base/fe_compat.h"

#include "stream/text_pieces.h"

#define BUFFER_BYTES (256 * 1024)

/* The line that ends the rows, after the newline of the line before it. */
#define END_LINE "\n\\.\n"
#define END_LINE_BYTES (sizeof(END_LINE) - 1)

struct TextPieces
{
	TextReadCallback read;
	void	   *arg;
	uint64		range_bytes;

	/*
	 * The text.  A newline that is not part of the text precedes it at first,
	 * so that the end line is also found at the start.  There is no end line
	 * before "searched".
	 */
	char	   *buffer;
	size_t		start;			/* not yet returned */
	size_t		searched;
	size_t		end;
	uint64		offset;			/* offset of buffer + start in the text */
	uint64		piece;			/* the piece of the line at start */
	bool		odd_backslashes;	/* at the end of the returned text */
	bool		rows_ended;
	bool		failed;
	const char *error;			/* what is wrong with the text */
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
 * Reading the text.
 * ----------
 */

/*
 * The rows end at "searched".  Check that only newlines follow the end line,
 * from this position.  Returns false if not, or after an error.
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
		/* The buffer has space after the rows, where the end line was. */
		from = pieces->searched;
		len = pieces->read(pieces->arg, pieces->buffer + from,
						   BUFFER_BYTES - from);
	} while (len > 0);
	return len == 0;
}

#define EIGHT_TIMES(c) (UINT64CONST(0x0101010101010101) * (unsigned char) (c))

/*
 * Is one of eight bytes a backslash that is followed by a dot?  The answer is
 * rarely wrong, and never misses one.
 */
static bool
may_have_end(const char *pos)
{
	uint64		bytes;
	uint64		behind;
	uint64		other;

	memcpy(&bytes, pos, sizeof(bytes));
	memcpy(&behind, pos + 1, sizeof(behind));
	/* A byte is 0 if both match. */
	other = (bytes ^ EIGHT_TIMES('\\')) | (behind ^ EIGHT_TIMES('.'));
	return ((other - EIGHT_TIMES(1)) & ~other & EIGHT_TIMES(0x80)) != 0;
}

/*
 * Returns the end line, or NULL.  Every byte of a table goes through this
 * function, and memmem() would take two to three times as long.
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
 * Read more text, after all searched text was returned, and look for the end
 * line.  The last bytes, which may be the start of an end line, are not
 * searched yet.  Returns false after an error.
 */
static bool
read_more(TextPieces *pieces)
{
	size_t		kept = pieces->end - (pieces->start - 1);
	ssize_t		len;
	char	   *found;

	/* Keep the byte before, which is the additional newline at first. */
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
 * Splitting the text.
 * ----------
 */

/*
 * Does an odd number of backslashes precede this position, which is in text
 * that was not returned yet?
 */
static bool
after_odd_backslashes(const TextPieces *pieces, size_t at)
{
	size_t		n = 0;

	while (at - n > pieces->start && pieces->buffer[at - n - 1] == '\\')
		n++;
	return (n % 2 == 1) != (at - n == pieces->start && pieces->odd_backslashes);
}

/* Does a line start at this position? */
static bool
is_line_begin(const TextPieces *pieces, size_t at)
{
	return pieces->buffer[at - 1] == '\n' &&
		!after_odd_backslashes(pieces, at - 1);
}

/*
 * Returns the start of the next piece, whose first line begins in a later
 * range than this piece's, or the end of the searched text if the next piece
 * begins later.
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
