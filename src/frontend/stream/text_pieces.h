/*
 * text_pieces.h
 *		Cuts the rows of a table, as COPY writes them as text, in pieces.
 *
 * A piece is the lines that begin in a range of the text, and the ranges are
 * all of the same length: the same text is cut in the same way, by whomever
 * and however often.  A line that is longer than a range is of the piece that
 * it begins in, and the pieces whose ranges it fills have none.
 *
 * COPY TO ends a row by a newline, and writes a newline within a value as
 * backslash and "n" (copyto.c:CopyAttributeOutText); so do all servers that
 * pg_dump has been able to read since it writes these archives.  Files from
 * elsewhere may have a backslash and a newline instead, which COPY FROM takes
 * for the same.  So no cut is made after an odd number of backslashes; in an
 * encoding where a backslash may be the last byte of a character (SJIS, BIG5,
 * ...) that misses some places, and all others are right, too.
 *
 * The rows end by the line that ends COPY's data; newlines are all that may
 * follow (pg_dump.c:dumpTableData_copy).  To end without, and to have that
 * line elsewhere, is an error.
 */
#ifndef TEXT_PIECES_H
#define TEXT_PIECES_H

#include <sys/types.h>

/* One range is all of the text. */
#define TEXT_PIECES_WHOLE PG_UINT64_MAX

/*
 * Some bytes into buf: how many, 0 at the end, -1 for an error, which is the
 * caller's to tell.
 */
typedef ssize_t (*TextReadCallback) (void *arg, void *buf, size_t size);

typedef struct TextPieces TextPieces;

extern TextPieces *text_pieces_new(TextReadCallback read, void *arg,
								   uint64 range_bytes);

/*
 * Some more of the rows, borrowed until the next call, all of it of *piece,
 * which is the number of its range, from 0 on: the length, 0 at the end of
 * the rows, -1 for an error.
 */
extern ssize_t text_pieces_next(TextPieces *pieces, const char **data,
								uint64 *piece);

/* What is wrong with the text; NULL if it is not the text but the read. */
extern const char *text_pieces_error(const TextPieces *pieces);

extern void text_pieces_free(TextPieces *pieces);

#endif							/* TEXT_PIECES_H */
