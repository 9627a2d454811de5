/*-------------------------------------------------------------------------
 *
 * index_key.h
 *	  The key of a btree index, as bits that sort.
 *
 * An entry is one row's key and place in the table, as a string of bits in
 * 64-bit words, the first word being the most significant.  Entries compare
 * like unsigned numbers, in the order of the index: the key's bits come
 * first, the place is in the lowest bits of the last word.  A key can be
 * turned back into exactly the bytes that were stored in the table; values
 * for which that does not hold, or which the server calls equal to others,
 * are refused.
 *
 * That is the form of keys of fixed width.  text_key.h describes the entries
 * of keys with texts, which have different numbers of words.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_KEY_H
#define PARDUMP_INDEX_KEY_H

#include "access/itup.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "index/key_value.h"
#include "index/text_key.h"

#define INDEX_ENTRY_WORDS 5

/* The form of index tuples in which the same columns are NULL. */
typedef struct TupleForm
{
	uint16		size;			/* aligned, as in t_info */
	uint16		offset[INDEX_KEY_COLUMNS];	/* of values, from the tuple */
} TupleForm;

typedef struct IndexKey
{
	Relation	index;			/* borrowed */
	int			n_columns;
	KeyColumn	columns[INDEX_KEY_COLUMNS];
	AttrNumber	last_attnum;	/* the highest of the columns' */
	bool		has_text;		/* entries are those of text_key.h */
	int			max_words;		/* of an entry */
	TextKey		text;
	int			place_word;		/* the word whose lowest bits are the place */
	int			place_bits;
	int			n_words;		/* of an entry without texts */
	int			n_key_words;	/* of these, those with bits of the key */
	uint64		last_mask;		/* the key's bits in the last of these */
	uint64		sum_seed;		/* random */
	TupleForm	forms[1 << INDEX_KEY_COLUMNS];	/* by the set of NULLs */
} IndexKey;

/*
 * Find out how the keys of an index look.  Returns NULL, or why the server
 * has to build the index: half a sentence, not to be freed.  Both relations
 * are open and locked; the index is borrowed.  Allocates in
 * CurrentMemoryContext.
 */
extern const char *index_key_init(IndexKey *key, Relation heap,
								  Relation index, const IndexInfo *info);

/* ----------
 * Bits of an entry.
 * ----------
 */

/* Append the lowest n bits (1 to 64) of a value that has no higher ones. */
static inline void
index_put_bits(uint64 *entry, int *position, uint64 value, int n)
{
	uint64	   *word = entry + *position / 64;
	int			room = 64 - *position % 64;

	if (n <= room)
		word[0] |= value << (room - n);
	else
	{
		word[0] |= value >> (n - room);
		word[1] |= value << (64 - (n - room));
	}
	*position += n;
}

/* The next n bits (1 to 64). */
static inline uint64
index_get_bits(const uint64 *entry, int *position, int n)
{
	const uint64 *word = entry + *position / 64;
	int			skipped = *position % 64;
	uint64		value = word[0] << skipped;

	if (skipped + n > 64)
		value |= word[1] >> (64 - skipped);
	*position += n;
	return value >> (64 - n);
}

static inline int
index_entry_words(const IndexKey *key, const uint64 *entry)
{
	return key->has_text ? text_key_entry_words(&key->text, entry)
		: key->n_words;
}

/* Two entries have keys that the server calls equal. */
static inline bool
index_key_same(const IndexKey *key, const uint64 *a, const uint64 *b)
{
	int			last = key->n_key_words - 1;

	if (key->has_text)
		return text_key_compare(a, b, 0) == 0;
	for (int i = 0; i < last; i++)
	{
		if (a[i] != b[i])
			return false;
	}
	return ((a[last] ^ b[last]) & key->last_mask) == 0;
}

/*
 * Two entries whose keys the server calls equal are also stored as the same
 * bytes.
 */
static inline bool
index_key_same_bytes(const IndexKey *key, const uint64 *a, const uint64 *b)
{
	return !key->has_text ||
		text_key_tail(&key->text, a) == text_key_tail(&key->text, b);
}

/* The first of two strings of words is the lower one. */
static inline bool
index_words_less(const uint64 *a, const uint64 *b, int n_words)
{
	for (int i = 0; i < n_words; i++)
	{
		if (a[i] != b[i])
			return a[i] < b[i];
	}
	return false;
}

static inline uint64
index_entry_place(const IndexKey *key, const uint64 *entry)
{
	return entry[key->place_word] &
		((UINT64CONST(1) << key->place_bits) - 1);
}

/* The first of two entries comes before the second. */
static inline bool
index_entry_less(const IndexKey *key, const uint64 *a, const uint64 *b)
{
	int			order;

	if (!key->has_text)
		return index_words_less(a, b, key->n_words);
	order = text_key_compare(a, b, 0);
	return order < 0 ||
		(order == 0 && index_entry_place(key, a) < index_entry_place(key, b));
}

static inline void
index_key_place(const IndexKey *key, const uint64 *entry, ItemPointer place)
{
	key_place(index_entry_place(key, entry), place);
}

/* ----------
 * The sum by which the entries of an index are compared with the rows of its
 * table.  It is made of the bytes of values, not of the bits of entries, so
 * that a mistake in these shows up.
 * ----------
 */

static inline uint64
index_sum_place(uint64 sum, const ItemPointerData *place)
{
	sum = key_sum_mix(sum,
					  (uint64) ItemPointerGetBlockNumberNoCheck(place) << 16 |
					  ItemPointerGetOffsetNumberNoCheck(place));
	return sum * UINT64CONST(0xD6E8FEB86659FD93);
}

/* The sum of an index tuple's key; index_sum_place() adds each place. */
extern uint64 index_key_sum(const IndexKey *key, const IndexTupleData *tuple);

/* ----------
 * Keys to entries and back.
 * ----------
 */

/*
 * Make the entry of a row and the sum of its key: values by column of the
 * table.  Returns false if a value is one for the server.  There is room for
 * max_words.
 */
extern bool index_key_encode(const IndexKey *key, const Datum *values,
							 const bool *isnull, uint64 place, uint64 *entry,
							 uint64 *sum);

/* Which columns of an entry are NULL, as a set of bits. */
extern int	index_key_nulls(const IndexKey *key, const uint64 *entry);

/*
 * Make an entry's index tuple, with its place, and all bytes that do not
 * belong to a value 0.  Returns its size; there is room for
 * KEY_TUPLE_BYTES, or for the size that index_key_size() has returned.
 */
extern Size index_key_form(const IndexKey *key, const uint64 *entry,
						   IndexTuple tuple);

/* The size of a tuple without texts. */
static inline Size
index_key_size(const IndexKey *key, const uint64 *entry)
{
	return key->forms[index_key_nulls(key, entry)].size;
}

#endif							/* PARDUMP_INDEX_KEY_H */
