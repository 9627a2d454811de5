/*-------------------------------------------------------------------------
 *
 * entry_sort.c
 *	  Sorts the entries of an index in memory.
 *
 * entry_store.c calls this for each part of the entries that fits into
 * memory.  It is a radix sort that begins at the most significant bits.  It
 * distributes entries to buckets by a few of the first bits in which they
 * differ, and then sorts each bucket in the same way.  Entries are only
 * moved, and not compared with each other, until a bucket is small.  The
 * server's sort calls a comparison function many times for each entry.
 *
 * Bits that all entries of a bucket share are skipped, so a common prefix, or
 * a key with few different values, takes one pass over the entries.  No two
 * entries are equal, as each ends with the place of its row.  A bucket whose
 * entries are already in order is not changed.  This is usual for buckets of
 * equal keys, because rows are read in the order of their places.
 *
 * Entries with texts are sorted by means of pairs of words: eight bytes of
 * the key, and the position of the entry.  Entries that agree in these bytes
 * are then sorted by the next eight bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "index/entry_sort.h"
#include "index/index_key.h"

/* Buckets with up to this number of entries are sorted by insertion. */
#define SMALL_BUCKET 24

/*
 * The largest number of bits by which entries are distributed at once.  The
 * counts of this number of buckets have 16 kB, which fit into the processor's
 * first-level cache.
 */
#define MAX_DIGIT_BITS 11

/*
 * The largest number of levels.  Each level sorts by at least 4 bits, unless
 * fewer are left.
 */
#define MAX_LEVELS (INDEX_ENTRY_WORDS * 64 / 4 + 1)

typedef struct RadixSort
{
	/* by level: the number of entries in each bucket, later its end */
	size_t	   *counts[MAX_LEVELS];
} RadixSort;

typedef void (*SortFunction) (RadixSort *state, int level, uint64 *from,
							  uint64 *other, size_t n, int word,
							  bool to_other);

/* Test for an interrupt in a loop over many entries, once in a million. */
static inline void
check_cancel(size_t i)
{
	if (unlikely(i % ((size_t) 1 << 20) == 0))
		CHECK_FOR_INTERRUPTS();
}

/* Sort the entries of a small bucket by insertion. */
static pg_attribute_always_inline void
sort_small(uint64 *entries, size_t n, const int n_words)
{
	for (size_t i = 1; i < n; i++)
	{
		uint64		entry[INDEX_ENTRY_WORDS];
		size_t		to = i;

		memcpy(entry, entries + i * n_words, n_words * sizeof(uint64));
		while (to > 0 &&
			   index_words_less(entry, entries + (to - 1) * n_words, n_words))
		{
			memcpy(entries + to * n_words, entries + (to - 1) * n_words,
				   n_words * sizeof(uint64));
			to--;
		}
		memcpy(entries + to * n_words, entry, n_words * sizeof(uint64));
	}
}

/*
 * Find the highest bit in which the entries differ.  *word becomes the word
 * that contains this bit, and the result is the number of bits from there to
 * the end of the word.  Returns 0 if the entries are in order.
 */
static pg_attribute_always_inline int
first_difference(const uint64 *entries, size_t n, int *word,
				 const int n_words)
{
	uint64		differing = 0;
	bool		in_order = true;

	for (size_t i = 1; i < n && in_order; i++)
	{
		check_cancel(i);
		in_order = index_words_less(entries + (i - 1) * n_words,
									entries + i * n_words, n_words);
	}
	if (in_order)
		return 0;
	for (; *word < n_words; (*word)++)
	{
		uint64		first = entries[*word];

		for (size_t i = 1; i < n; i++)
		{
			check_cancel(i);
			differing |= entries[i * n_words + *word] ^ first;
		}
		if (differing != 0)
			return pg_leftmost_one_pos64(differing) + 1;
	}
	return 0;
}

/*
 * Return the number of bits by which n entries are distributed.  There should
 * be many more entries than buckets, as each bucket costs time, too.
 */
static int
digit_bits(size_t n)
{
	if (n >= ((size_t) 1 << 20))
		return MAX_DIGIT_BITS;
	if (n >= ((size_t) 1 << 12))
		return 8;
	return n >= ((size_t) 1 << 9) ? 6 : 4;
}

/* Return the counts for a level, which is a depth of the recursion. */
static size_t *
counts_of_level(RadixSort *state, int level)
{
	if (level >= MAX_LEVELS)
		elog(ERROR, "too many levels of a sort");
	if (state->counts[level] == NULL)
		state->counts[level] = palloc(sizeof(size_t) << MAX_DIGIT_BITS);
	return state->counts[level];
}

/*
 * Sort the entries at "from", which agree in all words before "word".  The
 * result is at "other" if to_other is set, otherwise at "from".  The other of
 * these two areas is overwritten.  n_words is a constant in each of the
 * callers, so that entries are copied without a loop.
 */
static pg_attribute_always_inline void
sort_bucket(RadixSort *state, int level, uint64 *from, uint64 *other,
			size_t n, int word, bool to_other, SortFunction sort,
			const int n_words)
{
	int			top = 0;
	int			shift;
	size_t		n_buckets;
	size_t		sum = 0;
	size_t	   *counts;

	if (n <= SMALL_BUCKET)
		sort_small(from, n, n_words);
	else
		top = first_difference(from, n, &word, n_words);
	if (top == 0)
	{
		if (to_other)
			memcpy(other, from, n * n_words * sizeof(uint64));
		return;
	}

	/* the bits above "top" are the same in all entries */
	shift = Max(top - digit_bits(n), 0);
	n_buckets = (size_t) 1 << (top - shift);
	counts = counts_of_level(state, level);
	memset(counts, 0, n_buckets * sizeof(size_t));
	for (size_t i = 0; i < n; i++)
	{
		check_cancel(i);
		counts[(from[i * n_words + word] >> shift) & (n_buckets - 1)]++;
	}
	/* replace each count by the start of its bucket */
	for (size_t i = 0; i < n_buckets; i++)
	{
		size_t		count = counts[i];

		counts[i] = sum;
		sum += count;
	}
	/* move the entries, in their order, to the next place of their bucket */
	for (size_t i = 0; i < n; i++)
	{
		const uint64 *entry = from + i * n_words;
		size_t		to = counts[(entry[word] >> shift) & (n_buckets - 1)]++;

		check_cancel(i);
		memcpy(other + to * n_words, entry, n_words * sizeof(uint64));
	}

	/* each count is now the end of its bucket */
	for (size_t i = 0, begin = 0; i < n_buckets; i++)
	{
		size_t		end = counts[i];

		if (end > begin)
			sort(state, level + 1, other + begin * n_words,
				 from + begin * n_words, end - begin, word, !to_other);
		begin = end;
	}
}

/* A function for each number of words, which it passes as a constant. */
#define DEFINE_SORT(N) \
static void \
sort_##N(RadixSort *state, int level, uint64 *from, uint64 *other, size_t n, \
		 int word, bool to_other) \
{ \
	sort_bucket(state, level, from, other, n, word, to_other, sort_##N, N); \
}

DEFINE_SORT(1)
DEFINE_SORT(2)
DEFINE_SORT(3)
DEFINE_SORT(4)
DEFINE_SORT(5)

void
entry_sort(uint64 *entries, uint64 *space, size_t n, int n_words)
{
	static const SortFunction sorts[] = {sort_1, sort_2, sort_3, sort_4, sort_5};
	RadixSort	state;

	StaticAssertStmt(lengthof(sorts) == INDEX_ENTRY_WORDS,
					 "a sort for each number of words");
	Assert(n_words >= 1 && n_words <= INDEX_ENTRY_WORDS);
	memset(&state, 0, sizeof(state));
	sorts[n_words - 1] (&state, 0, entries, space, n, 0, false);
	for (int i = 0; i < MAX_LEVELS; i++)
	{
		if (state.counts[i] != NULL)
			pfree(state.counts[i]);
	}
}

/* Sort a few pairs of entries that agree in all words before "word". */
static void
sort_few_texts(const uint64 *entries, uint64 *pairs, size_t n, int word)
{
	for (size_t i = 1; i < n; i++)
	{
		uint64		place = pairs[2 * i + 1];
		size_t		to = i;

		for (; to > 0; to--)
		{
			uint64		before = pairs[2 * to - 1];
			int			order = text_key_compare(entries + before,
												 entries + place, word);

			if (order < 0 || (order == 0 && before < place))
				break;
			pairs[2 * to + 1] = before;
		}
		pairs[2 * to + 1] = place;
	}
}

/* Sort pairs of entries that agree in all words before "word". */
static void
sort_texts(const uint64 *entries, uint64 *pairs, uint64 *space, size_t n,
		   int word)
{
	size_t		end;

	check_stack_depth();
	for (size_t i = 0; i < n; i++)
	{
		const uint64 *entry = entries + pairs[2 * i + 1];

		check_cancel(i);
		/* the bytes of a key sort like numbers in network byte order */
		pairs[2 * i] = word < text_key_words(entry)
			? pg_ntoh64(entry[1 + word]) : 0;
	}
	entry_sort(pairs, space, n, 2);
	for (size_t begin = 0; begin < n; begin = end)
	{
		const uint64 *first = entries + pairs[2 * begin + 1];

		CHECK_FOR_INTERRUPTS();
		end = begin + 1;
		while (end < n && pairs[2 * end] == pairs[2 * begin])
			end++;

		/* keys that end here are equal, and sorted by the second word */
		if (end - begin == 1 || word + 1 >= text_key_words(first))
			continue;
		if (end - begin <= SMALL_BUCKET)
			sort_few_texts(entries, pairs + 2 * begin, end - begin, word + 1);
		else
			sort_texts(entries, pairs + 2 * begin, space, end - begin,
					   word + 1);
	}
}

void
entry_sort_texts(const uint64 *entries, uint64 *pairs, uint64 *space, size_t n)
{
	if (n > 0)
		sort_texts(entries, pairs, space, n, 0);
}
