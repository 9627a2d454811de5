/*-------------------------------------------------------------------------
 *
 * pglz_decode.c
 *	  Decompresses values that PostgreSQL compressed with pglz.
 *
 * read/toast_reader.c calls this for each compressed value.  The server's
 * pglz_decompress() handles one item of the data after another, and calls
 * memcpy() for each match.  This file copies all bytes between two matches as
 * one word, and matches in whole words, which may write beyond the end of the
 * output.
 *
 * The format is described in src/common/pg_lzcompress.c.  A control byte
 * precedes up to eight items; its bits, the lowest one first, say whether an
 * item is a byte to copy or a match.  A match has two or three bytes:
 *
 *		first byte		low four bits: length - 3, or 15 if there is a third
 *						byte; high four bits: the high bits of the offset
 *		second byte		the low eight bits of the offset, which is the
 *						distance to the match, 1 to 4095 bytes back
 *		third byte		length - 18
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bytes/byte_block.h"
#include "bytes/pglz_decode.h"

/*
 * The source bytes that must be left at a control byte, so that its items can
 * be read without a test of the source's end: 1 for the control byte itself,
 * 7 matches of 3 bytes, and a word for the last item.
 */
#define GROUP_MARGIN	(1 + 7 * 3 + 8)

/* Of a match of this length, the third byte contains the rest. */
#define MATCH_LENGTH_IN_THIRD	18

/* Copy a word between places that may overlap: all of it is read first. */
static inline void
copy_word(char *to, const char *from)
{
	uint64		word;

	memcpy(&word, from, 8);
	memcpy(to, &word, 8);
}

/*
 * Copy "len" bytes from "offset" bytes before "to".  The match may extend
 * into the bytes that it makes, which repeats them.  Writes up to 15 bytes
 * more.
 */
static pg_attribute_always_inline char *
put_match(char *to, Size offset, Size len)
{
	const char *from = to - offset;
	char	   *end = to + len;

	if (likely(offset >= BYTE_BLOCK_SIZE))
	{
		do
		{
			byte_block_store(to, byte_block_load(from));
			to += BYTE_BLOCK_SIZE;
			from += BYTE_BLOCK_SIZE;
		} while (to < end);
		return end;
	}

	/*
	 * The bytes repeat with a period of "offset".  Copying a word doubles the
	 * distance between both places, until two words no longer overlap.
	 */
	while (to - from < 8)
	{
		copy_word(to, from);
		to += to - from;
	}
	for (; to < end; to += 8, from += 8)
		copy_word(to, from);
	return end;
}

/*
 * Read a match from *source, of which three bytes must be readable, and write
 * its bytes.  Returns NULL if the match points before "dest" or exceeds
 * "dest_end".
 */
static pg_attribute_always_inline char *
decode_match(const unsigned char **source, char *to, const char *dest,
			 const char *dest_end)
{
	const unsigned char *from = *source;
	Size		len = (from[0] & 0x0f) + 3;
	Size		offset = (from[0] & 0xf0) << 4 | from[1];

	from += 2;
	if (len == MATCH_LENGTH_IN_THIRD)
		len += *from++;
	*source = from;

	if (unlikely(offset == 0 || offset > (Size) (to - dest) ||
				 to > dest_end || len > (Size) (dest_end - to)))
		return NULL;
	return put_match(to, offset, len);
}

/*
 * Decompress the items near the end of the source or of the output, with a
 * test of both ends for each item.
 */
static bool
decode_end(const unsigned char *from, const unsigned char *source_end,
		   char *to, const char *dest, const char *dest_end)
{
	/* like pglz_decompress(), end where either end is reached */
	while (from < source_end && to < dest_end)
	{
		unsigned int control = *from++;

		for (int i = 0; i < 8 && from < source_end && to < dest_end; i++)
		{
			if (control & 1 << i)
			{
				/* A third byte may be missing, or not be needed. */
				unsigned char match[3] = {0};
				const unsigned char *match_end = match;
				Size		left = source_end - from;

				memcpy(match, from, Min(left, 3));
				to = decode_match(&match_end, to, dest, dest_end);
				if (to == NULL || match_end - match > left)
					return false;
				from += match_end - match;
			}
			else
				*to++ = *from++;
		}
	}
	return from == source_end && to == dest_end;
}

bool
pglz_decode(const char *source, Size source_len, char *dest, Size dest_len)
{
	const unsigned char *from = (const unsigned char *) source;
	const unsigned char *source_end = from + source_len;
	char	   *to = dest;
	const char *dest_end = dest + dest_len;

	/*
	 * While the margin is left, a group of eight items is read without a test
	 * of the source's end.  The end of "dest" is tested for matches only: up
	 * to eight bytes that are copied beyond the end are in the slack, and
	 * then the next match, or decode_end(), finds that there are too many
	 * bytes.
	 */
	while (source_end - from >= GROUP_MARGIN && to < dest_end)
	{
		unsigned int control = *from++;
		int			items = 8;

		do
		{
			/* the bytes up to the next match, or up to the group's end */
			int			bytes = Min(pg_rightmost_one_pos32(control | 0x100),
									items);

			copy_word(to, (const char *) from);
			to += bytes;
			from += bytes;
			items -= bytes;
			if (items == 0)
				break;

			to = decode_match(&from, to, dest, dest_end);
			if (to == NULL)
				return false;
			control >>= bytes + 1;
			items--;
		} while (items > 0);
	}
	return decode_end(from, source_end, to, dest, dest_end);
}
