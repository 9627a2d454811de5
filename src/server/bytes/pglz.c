/*-------------------------------------------------------------------------
 *
 * pglz.c
 *	  Compresses and decompresses values with pglz, as the server does.
 *
 * read/toast_reader.c decompresses with this, and load/toast_values.c
 * compresses, because the server's functions take longer.
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

#include <limits.h>

#include "common/pg_lzcompress.h"
#include "port/pg_bitutils.h"

#include "bytes/byte_block.h"
#include "bytes/pglz.h"

/* A match of this length or more has a third byte with the rest. */
#define MATCH_LENGTH_IN_THIRD	18

/* ----------
 * Decompressing
 *
 * The server's pglz_decompress() handles one item of the data after another,
 * and calls memcpy() for each match.  Here, all bytes between two matches are
 * copied as one word, and matches in whole words, which may write beyond the
 * end of the output.
 * ----------
 */

/*
 * The source bytes that must be left at a control byte, so that its items can
 * be read without a test of the source's end: 1 for the control byte itself,
 * 7 matches of 3 bytes, and a word for the last item.
 */
#define GROUP_MARGIN	(1 + 7 * 3 + 8)

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

/* ----------
 * Compressing
 *
 * The same matches are chosen as by the server's pglz_compress() with
 * PGLZ_strategy_default, so a table has the same bytes no matter who has
 * compressed its values.
 *
 * At each place of the source, the server looks at the earlier places with
 * the same hash of four bytes, the last one first, and chooses the longest
 * match.  It stops at a match that is long enough; how long that is decreases
 * with each place.  So the same places must be visited here.  It takes less
 * time for three reasons: a list of places is an array of 16-bit numbers,
 * which fits into the processor's cache, instead of linked structs; a place
 * whose match cannot be longer is recognized by one comparison of four bytes;
 * and matches are compared in whole words.
 * ----------
 */

/* PGLZ_strategy_default, which is read at run time only by the server */
#define MIN_INPUT_SIZE		32
#define MIN_COMPRESSION		25	/* percent */
#define FIRST_SUCCESS_BY	1024
#define GOOD_MATCH			128
#define GOOD_MATCH_DROP		10	/* percent, for each place */

#define MAX_HASHES			8192	/* PGLZ_MAX_HISTORY_LISTS */
#define WINDOW				4096	/* PGLZ_HISTORY_SIZE */
#define MAX_OFFSET			4094
#define MIN_MATCH			3
#define MAX_MATCH			273

/* The bits of a word that contain the first three bytes of its memory. */
#ifdef WORDS_BIGENDIAN
#define FIRST_THREE_BYTES	UINT32_C(0xffffff00)
#else
#define FIRST_THREE_BYTES	UINT32_C(0x00ffffff)
#endif

/*
 * The lists of places with the same hash.  Of a place only the low 16 bits
 * are stored, so the distance to it is computed modulo 65536.  A list ends
 * where the distance exceeds MAX_OFFSET: an older place need not be removed.
 * Before its distance could wrap around, forget_old_places() makes it WINDOW.
 */
typedef struct History
{
	uint16		newest[MAX_HASHES]; /* by hash */
	uint16		older[WINDOW];	/* by the low bits of the place */
} History;

#define SWEEP_INTERVAL		32768

static inline uint32
read_word(const char *from)
{
	uint32		word;

	memcpy(&word, from, sizeof(word));
	return word;
}

/*
 * pglz_hist_idx() without its mask, for a place with four bytes or more.  A
 * byte counts as a char, with or without a sign, as in the server.
 */
static inline uint32
hash_of(const char *at)
{
	return (uint32) at[0] << 6 ^ (uint32) at[1] << 4 ^
		(uint32) at[2] << 2 ^ (uint32) at[3];
}

/* Return how many bytes from both places on are equal, at most "limit". */
static inline int
equal_bytes(const char *a, const char *b, int limit)
{
	int			n = 0;

	for (; n + 8 <= limit; n += 8)
	{
		uint64		word_a;
		uint64		word_b;

		memcpy(&word_a, a + n, 8);
		memcpy(&word_b, b + n, 8);
		if (word_a == word_b)
			continue;
#ifdef WORDS_BIGENDIAN
		return n + (63 - pg_leftmost_one_pos64(word_a ^ word_b)) / 8;
#else
		return n + pg_rightmost_one_pos64(word_a ^ word_b) / 8;
#endif
	}
	while (n < limit && a[n] == b[n])
		n++;
	return n;
}

/* Make the distance of all places that are out of reach WINDOW again. */
static void
forget_old_places(History *history, int n_hashes, uint32 at)
{
	for (int i = 0; i < n_hashes; i++)
	{
		if ((uint16) (at - history->newest[i]) > MAX_OFFSET)
			history->newest[i] = at - WINDOW;
	}
}

/* Return the distance to the next older place with the same hash. */
static inline uint32
next_offset(const History *history, uint32 at, uint32 offset)
{
	return (uint16) (at - history->older[(at - offset) % WINDOW]);
}

/*
 * Find the match of pglz_find_match() for the place "at", which has the hash
 * and "left" bytes up to the end of the source.  Returns its length and sets
 * its offset; returns 0 if no match of three bytes or more is found.
 *
 * A shorter match is none, and the limit of a good match never becomes as
 * short as that, so the search can begin with the first match of three bytes.
 */
static inline int
find_match(const History *history, const char *source, uint32 at, int left,
		   uint32 hash, uint32 *offset)
{
	const char *here = source + at;
	int			limit = Min(left, MAX_MATCH);
	int			good_match = GOOD_MATCH;
	uint32		distance = (uint16) (at - history->newest[hash]);
	uint32		first;
	int			len;

	if (unlikely(left < 4))
	{
		/* a word beginning here would exceed the source */
		if (left < MIN_MATCH)
			return 0;
		while (distance - 1 < MAX_OFFSET &&
			   memcmp(here - distance, here, MIN_MATCH) != 0)
			distance = next_offset(history, at, distance);
		*offset = distance;
		return distance - 1 < MAX_OFFSET ? MIN_MATCH : 0;
	}

	first = read_word(here);
	for (;;)
	{
		if (distance - 1 >= MAX_OFFSET)
			return 0;
		if (((read_word(here - distance) ^ first) & FIRST_THREE_BYTES) == 0)
			break;
		good_match -= good_match * GOOD_MATCH_DROP / 100;
		distance = next_offset(history, at, distance);
	}
	len = equal_bytes(here - distance, here, limit);
	*offset = distance;

	/* a longer match also has the byte after the last equal one */
	while (len < good_match && len < limit)
	{
		good_match -= good_match * GOOD_MATCH_DROP / 100;
		distance = next_offset(history, at, distance);
		if (distance - 1 >= MAX_OFFSET)
			break;
		if (read_word(here - distance + len - 3) == read_word(here + len - 3))
		{
			int			longer = equal_bytes(here - distance, here, limit);

			if (longer > len)
			{
				len = longer;
				*offset = distance;
			}
		}
	}
	return len;
}

/* Write a match, which has two or three bytes. */
static inline unsigned char *
write_match(unsigned char *to, int len, uint32 offset)
{
	bool		is_long = len >= MATCH_LENGTH_IN_THIRD;

	to[0] = (offset & 0xf00) >> 4 | (is_long ? 0x0f : len - MIN_MATCH);
	to[1] = offset & 0xff;
	if (is_long)
		to[2] = len - MATCH_LENGTH_IN_THIRD;
	return to + (is_long ? 3 : 2);
}

int32
pglz_encode(const char *source, int32 len, char *dest)
{
	static History history;
	unsigned char *to = (unsigned char *) dest;
	unsigned char *start = to;
	unsigned char *control = NULL;
	int			item = 8;		/* of the control byte; 8 = it is full */
	bool		has_match = false;
	int32		max_len = len > INT_MAX / 100 ?
		len / 100 * (100 - MIN_COMPRESSION) :
		len * (100 - MIN_COMPRESSION) / 100;
	int			n_hashes = len < 128 ? 512 : len < 256 ? 1024 :
		len < 512 ? 2048 : len < 1024 ? 4096 : MAX_HASHES;
	uint32		mask = n_hashes - 1;
	uint32		hash;
	uint32		at = 0;
	uint32		next_sweep = SWEEP_INTERVAL;

	if (len < MIN_INPUT_SIZE)
		return -1;
	for (int i = 0; i < n_hashes; i++)
		history.newest[i] = (uint16) -WINDOW;
	hash = hash_of(source);

	while (at < (uint32) len)
	{
		uint32		offset = 0;
		uint32		next;
		int			match;

		if (to - start >= max_len ||
			(!has_match && to - start >= FIRST_SUCCESS_BY))
			return -1;
		if (item == 8)
		{
			control = to++;
			*control = 0;
			item = 0;
		}
		match = find_match(&history, source, at, len - at, hash & mask,
						   &offset);
		if (match > 0)
		{
			to = write_match(to, match, offset);
			*control |= 1 << item;
			has_match = true;
			next = at + match;
		}
		else
		{
			*to++ = source[at];
			next = at + 1;
		}
		item++;

		/* add all places of the item */
		while (at < next)
		{
			history.older[at % WINDOW] = history.newest[hash & mask];
			history.newest[hash & mask] = at;
			at++;
			/* the hash of the next place, of its first byte near the end */
			if (likely((uint32) len - at >= 4))
				hash = (hash ^ (uint32) source[at - 1] << 6) << 2 ^
					(uint32) source[at + 3];
			else if (at < (uint32) len)
				hash = source[at];
		}
		if (unlikely(at >= next_sweep))
		{
			forget_old_places(&history, n_hashes, at);
			next_sweep = at + SWEEP_INTERVAL;
		}
	}
	return to - start >= max_len ? -1 : to - start;
}
