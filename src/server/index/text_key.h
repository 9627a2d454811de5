/*-------------------------------------------------------------------------
 *
 * text_key.h
 *	  Converts the keys of a btree index with texts in C collation to bytes
 *	  that sort in the same order, and back.
 *
 * index_key.c calls these functions if a column of an index is a text.
 *
 * The first word of an entry contains, from its highest bits on, the number
 * of words of the key, the set of columns that are NULL, and the place.  The
 * key follows: bytes whose order is that of memcmp(), filled up with zeros to
 * a whole word.  They consist of these parts for each column:
 *
 * - a byte that says whether the value is NULL, unless the column is NOT NULL
 *
 * - the value, unless it is NULL: a text and a byte 0, which no text
 * contains; or the bits of key_value.h.  All bytes of a value are inverted if
 * the column is descending.
 *
 * So no key is the beginning of another one, and the zeros at its end do not
 * change the order.  If there are columns of type bpchar, one more word
 * contains the number of spaces at the end of each value.  It is not
 * compared: bpcharcmp() ignores these spaces, but the index stores them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TEXT_KEY_H
#define PARDUMP_TEXT_KEY_H

#include "access/itup.h"

#include "index/key_value.h"

/* The bits of a place in the first word of an entry. */
#define TEXT_KEY_PLACE_BITS 44

typedef struct TextKey
{
	int			n_columns;
	const KeyColumn *columns;	/* borrowed */
	uint64		sum_seed;
	int			max_words;		/* of an entry */
	int			tail_words;		/* words of these after the key: 0 or 1 */
} TextKey;

/* Are values of this kind texts, so that entries have the form above? */
static inline bool
text_key_has(KeyKind kind)
{
	return kind == KEY_TEXT || kind == KEY_BPCHAR;
}

/* Does the collation sort texts by their bytes? */
extern bool text_key_collation(Oid collation);

/*
 * Set max_words and tail_words of a key whose other members have been set.
 * Returns false if entries would be too wide.
 */
extern bool text_key_init(TextKey *key);

/* ----------
 * Parts of an entry
 * ----------
 */

/* Return the number of words of the key. */
static inline int
text_key_words(const uint64 *entry)
{
	return (int) (entry[0] >> (TEXT_KEY_PLACE_BITS + INDEX_KEY_COLUMNS));
}

/* Return which columns are NULL, as a set of bits. */
static inline int
text_key_nulls(const uint64 *entry)
{
	return (int) (entry[0] >> TEXT_KEY_PLACE_BITS) &
		((1 << INDEX_KEY_COLUMNS) - 1);
}

/* Return the number of words of an entry. */
static inline int
text_key_entry_words(const TextKey *key, const uint64 *entry)
{
	return 1 + text_key_words(entry) + key->tail_words;
}

/* Return the numbers of spaces at the ends of texts, 16 bits per column. */
static inline uint64
text_key_tail(const TextKey *key, const uint64 *entry)
{
	return key->tail_words > 0 ? entry[1 + text_key_words(entry)] : 0;
}

/* Compare the keys of two entries, beginning with the word "from". */
static inline int
text_key_compare(const uint64 *a, const uint64 *b, int from)
{
	int			n_a = text_key_words(a);
	int			n_b = text_key_words(b);
	int			n = Min(n_a, n_b);

	for (int i = from + 1; i <= n; i++)
	{
		if (a[i] != b[i])
			return pg_ntoh64(a[i]) < pg_ntoh64(b[i]) ? -1 : 1;
	}
	return (n_a > n_b) - (n_a < n_b);
}

/* ----------
 * Conversion of keys to entries and back; index_key.h describes the functions
 * with the corresponding names.
 * ----------
 */

extern bool text_key_encode(const TextKey *key, const Datum *values,
							const bool *isnull, uint64 place, uint64 *entry,
							uint64 *sum);
extern Size text_key_form(const TextKey *key, const uint64 *entry,
						  IndexTuple tuple);
extern uint64 text_key_sum(const TextKey *key, const IndexTupleData *tuple);

#endif							/* PARDUMP_TEXT_KEY_H */
