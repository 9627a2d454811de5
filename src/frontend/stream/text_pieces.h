/*
 * text_pieces.h
 *		Splits the rows of a table, in COPY's text format, into pieces, which
 *		workers can load in parallel.
 *
 * A piece consists of the lines that begin in a range of the text, and all
 * ranges have the same length.  So the same text is always split in the same
 * way.  A line that is longer than a range belongs to the piece in which it
 * begins; the pieces whose ranges it fills are empty.
 *
 * COPY TO ends a row with a newline, and writes a newline within a value as a
 * backslash and "n" (copyto.c:CopyAttributeOutText).  All servers do so that
 * pg_dump has been able to read since it writes these archives.  Other
 * programs may write a backslash and a newline instead, which COPY FROM also
 * accepts.  So the text is not split after an odd number of backslashes.  In
 * encodings where a backslash may be the last byte of a character (SJIS,
 * BIG5, ...), this misses some positions, but all other positions are
 * correct.
 *
 * The rows end with the line that ends COPY's data.  Only newlines may follow
 * (pg_dump.c:dumpTableData_copy).  It is an error if that line is missing, or
 * is not at the end.
 */
#ifndef TEXT_PIECES_H
#define TEXT_PIECES_H

#include <sys/types.h>

/* The length of a range that contains the whole text. */
#define TEXT_PIECES_WHOLE PG_UINT64_MAX

/*
 * Reads bytes into buf.  Returns their number, 0 at the end, or -1 after an
 * error, which the caller reports.
 */
typedef ssize_t (*TextReadCallback) (void *arg, void *buf, size_t size);

typedef struct TextPieces TextPieces;

extern TextPieces *text_pieces_new(TextReadCallback read, void *arg,
								   uint64 range_bytes);

/*
 * Get more text, which is borrowed until the next call, and belongs to a
 * single piece. *piece is set to the number of its range, from 0.  Returns
 * the length, 0 at the end of the rows, or -1 after an error.
 */
extern ssize_t text_pieces_next(TextPieces *pieces, const char **data,
								uint64 *piece);

/* Returns what is wrong with the text, or NULL if reading has failed. */
extern const char *text_pieces_error(const TextPieces *pieces);

extern void text_pieces_free(TextPieces *pieces);

#endif							/* TEXT_PIECES_H */
