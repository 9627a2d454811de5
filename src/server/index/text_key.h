/*-------------------------------------------------------------------------
 *
 * text_key.h
 *	  The key of a btree index that has texts in C collation.
 *
 * The first word of an entry holds, from the top, the number of words with
 * the key, the set of columns that are NULL, and the place.  The key follows
 * as bytes that compare as by memcmp(), filled up with zeros: for each
 * column, a byte that is not the same for NULL as for values, unless there
 * cannot be NULLs; a text and a byte 0, which no text has; and the bits of
 * key_value.h.  All bytes of a descending column's value are inverted.
 *
 * So no key is the beginning of another one, which makes the zeros at its end
 * and what follows it irrelevant.  If there are columns of type bpchar one
 * more word, which is not compared, has the number of blanks at the end of
 * each: bpcharcmp() ignores them, but the index stores them.
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
	int			tail_words;		/* of these, behind the key */
} TextKey;

static inline bool
text_key_has(KeyKind kind)
{
	return kind == KEY_TEXT || kind == KEY_BPCHAR;
}

/* Is the collation's order that of bytes? */
extern bool text_key_collation(Oid collation);

/*
 * Find out about the entries of a key, of which all other members were set.
 * Returns false if they are too wide.
 */
extern bool text_key_init(TextKey *key);

/* ----------
 * Parts of an entry.
 * ----------
 */

/* How many words are the key. */
static inline int
text_key_words(const uint64 *entry)
{
	return (int) (entry[0] >> (TEXT_KEY_PLACE_BITS + INDEX_KEY_COLUMNS));
}

/* Which columns are NULL, as a set of bits. */
static inline int
text_key_nulls(const uint64 *entry)
{
	return (int) (entry[0] >> TEXT_KEY_PLACE_BITS) &
		((1 << INDEX_KEY_COLUMNS) - 1);
}

static inline int
text_key_entry_words(const TextKey *key, const uint64 *entry)
{
	return 1 + text_key_words(entry) + key->tail_words;
}

/* The numbers of blanks at the ends of texts, 16 bits for each column. */
static inline uint64
text_key_tail(const TextKey *key, const uint64 *entry)
{
	return key->tail_words > 0 ? entry[1 + text_key_words(entry)] : 0;
}

/* Compare the keys of two entries from a word on. */
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
 * Keys to entries and back, as the functions of index_key.h.
 * ----------
 */

extern bool text_key_encode(const TextKey *key, const Datum *values,
							const bool *isnull, uint64 place, uint64 *entry,
							uint64 *sum);
extern Size text_key_form(const TextKey *key, const uint64 *entry,
						  IndexTuple tuple);
extern uint64 text_key_sum(const TextKey *key, const IndexTupleData *tuple);

#endif							/* PARDUMP_TEXT_KEY_H */
