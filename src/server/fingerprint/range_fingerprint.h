/*-------------------------------------------------------------------------
 *
 * range_fingerprint.h
 *	  The fingerprint of a block range's rows, as they are stored.
 *
 * Of two ranges with one fingerprint, and tables of one definition
 * (fingerprint/definition.h), COPY writes the same bytes, under the same
 * settings.  It is a hash over, for every tuple in its order, what a value
 * can depend on: length, number of attributes, bits of the infomask, null
 * bitmap and data; and behind it the values that are out of line, as stored,
 * in the order of the columns read.  The pointers to these would not do: a
 * cluster that was set back may give the same pointer to another value.  Not
 * in it is what changes without the row: transaction IDs, hint bits, places.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RANGE_FINGERPRINT_H
#define PARDUMP_RANGE_FINGERPRINT_H

#include "postgres.h"

#include "access/htup.h"
#include "storage/block.h"

#include "fingerprint/keyed_hash.h"

/* The first part of a range, which tells early that it has changed. */
#define FIRST_BLOCKS 128

typedef struct RangeFingerprint RangeFingerprint;

/*
 * For the range that begins at "start", by KEYED_HASH_KEY_BYTES of key.
 * Allocates in CurrentMemoryContext, which must live as long.
 */
extern RangeFingerprint *range_fingerprint_new(KeyedHashAlgorithm algorithm,
											   const unsigned char *key,
											   BlockNumber start);

/*
 * Take the next tuple, then its values that are out of line, as stored.
 * "Damaged" (ERRCODE_DATA_CORRUPTED) is a header that does not lie within the
 * tuple.
 */
extern void range_fingerprint_add_tuple(RangeFingerprint *fingerprint,
										HeapTuple tuple);
extern void range_fingerprint_add_value(RangeFingerprint *fingerprint,
										const struct varlena *stored);

/*
 * Of the tuples in the first FIRST_BLOCKS blocks: NULL as long as there may
 * be more of them.
 */
extern const bytea *range_fingerprint_first(const RangeFingerprint *fingerprint);

/*
 * No more tuples: the fingerprint, and the first part's if asked, palloc'd
 * where range_fingerprint_new() was called.
 */
extern bytea *range_fingerprint_end(RangeFingerprint *fingerprint,
									const bytea **first);

extern void range_fingerprint_free(RangeFingerprint *fingerprint);

#endif							/* PARDUMP_RANGE_FINGERPRINT_H */
