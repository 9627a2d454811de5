/*-------------------------------------------------------------------------
 *
 * pglz_decode.c
 *	  Decompresses what PostgreSQL's pglz compressed.
 *
 * The format (src/common/pg_lzcompress.c): a control byte says of each of up
 * to eight items that follow, lowest bit first, whether it is a byte to copy
 * or a match.  A match has two bytes, or three: length - 3 in the low four
 * bits of the first, or 15 and the rest of the length in the third byte;
 * offset, 1 to 4095 bytes back, in the high four bits of the first and in the
 * second.
 *
 * pglz_decompress() goes item by item, and calls memcpy() for each match.
 * Here bytes that stand together are copied as one word, and matches by whole
 * words, which may write beyond the end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "bytes/byte_block.h"
#include "bytes/pglz_decode.h"

/*
 * Source bytes that must be left where a control byte is read, so that its
 * items need no test: 1 for itself, 7 matches of 3, a word for the last.
 */
#define GROUP_MARGIN	(1 + 7 * 3 + 8)

#define MATCH_LENGTH_IN_THIRD	18

/* Copy a word between places that may overlap: it is read whole first. */
static inline void
copy_word(char *to, const char *from)
{
	uint64		word;

	memcpy(&word, from, 8);
	memcpy(to, &word, 8);
}

/*
 * Repeat "len" bytes from "offset" back; they may overlap with what they
 * make.  Writes up to 15 bytes more.
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

	/* Each word makes the distance to copy over as far again. */
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
 * Read a match from *source and put it.  NULL if it points before "dest" or
 * goes beyond "dest_end".  Three bytes must be readable.
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

/* The items of the last bytes, each tested. */
static bool
decode_end(const unsigned char *from, const unsigned char *source_end,
		   char *to, const char *dest, const char *dest_end)
{
	/* as pglz_decompress(), which ends where either end is reached */
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
	 * of the source's end.  The end of "dest" is tested for matches only:
	 * eight bytes that are copied beyond it lie in the slack, and the next
	 * round, or decode_end(), finds that there are too many.
	 */
	while (source_end - from >= GROUP_MARGIN && to < dest_end)
	{
		unsigned int control = *from++;
		int			items = 8;

		do
		{
			/* the bytes up to the next match; all that are left if none is */
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
