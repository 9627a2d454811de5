/*-------------------------------------------------------------------------
 *
 * index_key.h
 *	  Converts the keys of a btree index to bits that sort in the same order,
 *	  and back to index tuples.
 *
 * heap_entries.c makes an entry for each row, entry_store.c sorts the
 * entries, and tree_writer.c makes index tuples of them.  Sorting bits takes
 * much less time than calling the server's comparison functions.
 *
 * An entry is the key and the place (TID) of a row, as a string of bits in
 * 64-bit words.  The first word is the most significant.  Entries compared as
 * unsigned numbers have the order of the index: the bits of the key come
 * first, and the place is in the lowest bits of the last word.  A key can be
 * converted back to exactly the bytes that are stored in the table.  If a
 * value cannot be converted back, or if the server considers it equal to
 * other values, the server has to build the index.
 *
 * This is the form of keys with a fixed width.  text_key.h describes the
 * entries of keys with texts, which have different numbers of words.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_KEY_H
#define PARDUMP_INDEX_KEY_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "index/text_key.h"

#define INDEX_ENTRY_WORDS 5

/* The layout of all index tuples in which the same columns are NULL. */
typedef struct TupleForm
{
	uint16		size;			/* aligned, as in t_info */
	uint16		offset[INDEX_KEY_COLUMNS];	/* of the values in the tuple */
} TupleForm;

typedef struct IndexKey
{
	Relation	index;			/* borrowed */
	int			n_columns;
	KeyColumn	columns[INDEX_KEY_COLUMNS];
	AttrNumber	last_attnum;	/* the highest number of the columns */
	bool		has_text;		/* entries are those of text_key.h */
	int			max_words;		/* of an entry */
	TextKey		text;
	int			place_word;		/* the word whose lowest bits are the place */
	int			place_bits;
	int			n_words;		/* of an entry without texts */
	int			n_key_words;	/* words of these with bits of the key */
	uint64		last_mask;		/* bits of the key in the last key word */
	uint64		sum_seed;		/* random */
	TupleForm	forms[1 << INDEX_KEY_COLUMNS];	/* by the set of NULLs */
} IndexKey;

/*
 * Find out how the keys of an index are converted.  Returns NULL, or why the
 * server has to build the index: half a sentence, which is not freed.  Both
 * relations must be open and locked; the index is borrowed.  Allocates in
 * CurrentMemoryContext.
 */
extern const char *index_key_init(IndexKey *key, Relation heap,
								  Relation index, const IndexInfo *info);

/*
 * What processes that build an index together must have in common, in
 * addition to the definition of the index.
 */
typedef struct SharedKey
{
	uint64		sum_seed;
	uint64		layout;			/* a checksum */
} SharedKey;

/* Set *shared for the key of the leader. */
extern void index_key_share(const IndexKey *key, SharedKey *shared);

/*
 * Let the key of another process add up the same sums as the leader's.
 * Returns false if its entries would differ from the leader's.
 */
extern bool index_key_attach(IndexKey *key, const SharedKey *shared);

/* ----------
 * Bits of an entry.
 * ----------
 */

/* Append the lowest n bits (1 to 64) of a value whose other bits are 0. */
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

/* Return the next n bits (1 to 64). */
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

/* Return the number of words of an entry. */
static inline int
index_entry_words(const IndexKey *key, const uint64 *entry)
{
	return key->has_text ? text_key_entry_words(&key->text, entry)
		: key->n_words;
}

/* Do two entries have keys that are equal to the server? */
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
 * Do two entries, whose keys are equal to the server, also have the same
 * bytes in the index?  Texts of type char(n) may have different numbers of
 * spaces at their end.
 */
static inline bool
index_key_same_bytes(const IndexKey *key, const uint64 *a, const uint64 *b)
{
	return !key->has_text ||
		text_key_tail(&key->text, a) == text_key_tail(&key->text, b);
}

/* Is the first of two strings of words less than the second? */
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

/* Return the bits of the place in an entry. */
static inline uint64
index_entry_place(const IndexKey *key, const uint64 *entry)
{
	return entry[key->place_word] &
		((UINT64CONST(1) << key->place_bits) - 1);
}

/* Is the first of two entries before the second in the order of the index? */
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

/* Set *place to the place in an entry. */
static inline void
index_key_place(const IndexKey *key, const uint64 *entry, ItemPointer place)
{
	key_place(index_entry_place(key, entry), place);
}

/* ----------
 * The sum with which the entries of an index are compared with the rows of
 * its table.  It is computed from the bytes of values, and not from the bits
 * of entries, so that it also detects mistakes in the conversion.
 * ----------
 */

/*
 * Return the sum of an entry with this key and place.  The results of all
 * entries are added up, so the order of the entries does not matter.
 */
static inline uint64
index_sum_place(uint64 sum, const ItemPointerData *place)
{
	sum = key_sum_mix(sum,
					  (uint64) ItemPointerGetBlockNumberNoCheck(place) << 16 |
					  ItemPointerGetOffsetNumberNoCheck(place));
	return sum * UINT64CONST(0xD6E8FEB86659FD93);
}

/*
 * Return the sum of the key of an index tuple.  index_sum_place() adds each
 * place.
 */
extern uint64 index_key_sum(const IndexKey *key, const IndexTupleData *tuple);

/* ----------
 * Conversion of keys to entries and back
 * ----------
 */

/*
 * Make the entry of a row and the sum of its key.  The values are those of
 * the table's columns.  "entry" must have room for max_words.  Returns false
 * if a value cannot be converted, so that the server has to build the index.
 */
extern bool index_key_encode(const IndexKey *key, const Datum *values,
							 const bool *isnull, uint64 place, uint64 *entry,
							 uint64 *sum);

/* Return which columns of an entry are NULL, as a set of bits. */
static inline int
index_key_nulls(const IndexKey *key, const uint64 *entry)
{
	int			nulls = 0;
	int			position = 0;

	if (key->has_text)
		return text_key_nulls(entry);
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];

		if (column->nullable &&
			index_get_bits(entry, &position, 1) != column->nulls_first)
			nulls |= 1 << i;
		position += column->bytes * 8;
	}
	return nulls;
}

/*
 * Make the index tuple of an entry, with its place.  All bytes that are not
 * part of a value are set to 0.  Returns the size of the tuple.  "tuple" must
 * have room for KEY_TUPLE_BYTES, or for the result of index_key_size().
 */
extern Size index_key_form(const IndexKey *key, const uint64 *entry,
						   IndexTuple tuple);

/* Return the size of the index tuple of an entry without texts. */
static inline Size
index_key_size(const IndexKey *key, const uint64 *entry)
{
	return key->forms[index_key_nulls(key, entry)].size;
}

#endif							/* PARDUMP_INDEX_KEY_H */
