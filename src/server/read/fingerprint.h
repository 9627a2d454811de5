/*-------------------------------------------------------------------------
 *
 * fingerprint.h
 *	  The fingerprint of a block range's rows, as they are stored.
 *
 * Of two ranges with one fingerprint, and tables of one definition
 * (read/definition.h), COPY writes the same bytes, under the same
 * settings.  It is a hash over, for every tuple in its order, what a value
 * can depend on: length, number of attributes, bits of the infomask, null
 * bitmap and data; and behind it the values that are out of line, as stored,
 * in the order of the columns read.  The pointers to these would not do: a
 * cluster that was set back may give the same pointer to another value.  Not
 * in it is what changes without the row: transaction IDs, hint bits, places.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_FINGERPRINT_H
#define PARDUMP_FINGERPRINT_H

#include "access/htup.h"
#include "storage/block.h"
#include "utils/snapshot.h"

#include "read/heap_reader.h"

/* ----------
 * A hash under a secret key: equal for equal bytes, and else different
 * but for a chance that has a bound.
 * ----------
 */

/* Of every algorithm. */
#define KEYED_HASH_KEY_BYTES 32

typedef enum KeyedHashAlgorithm
{
	/*
	 * Poly1305 (RFC 8439).  Two different texts of at most n bytes each,
	 * chosen by who does not know the key, have the same hash with a chance
	 * of at most 8 * ceil(n / 16) / 2^106 (D. J. Bernstein, The Poly1305-AES
	 * message-authentication code, 2005, theorem 3.3): 2^-77 for 1 GB.
	 */
	KEYED_HASH_POLY1305,
	/* HMAC by SHA-256 (RFC 2104): also against who knows the key */
	KEYED_HASH_SHA256
} KeyedHashAlgorithm;

typedef struct FingerprintKey
{
	KeyedHashAlgorithm algorithm;
	unsigned char bytes[KEYED_HASH_KEY_BYTES];
} FingerprintKey;

/* "poly1305" or "sha256"; false for all else. */
extern bool keyed_hash_parse(const char *name, KeyedHashAlgorithm *algorithm);

/* ----------
 * The fingerprint of a block range's rows, as they are stored.
 * ----------
 */

/* The first part of a range: a change is mostly found here, early. */
#define FIRST_BLOCKS 128

typedef struct RangeFingerprint RangeFingerprint;

/*
 * For the range that begins at "start".  Allocates in CurrentMemoryContext,
 * which must live as long; its reset frees the fingerprint and what OpenSSL
 * has allocated for it.
 */
extern RangeFingerprint *range_fingerprint_new(const FingerprintKey *key,
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
 * No more tuples: the fingerprint, and the first part's if asked, palloc'd
 * where range_fingerprint_new() was called.
 */
extern bytea *range_fingerprint_end(RangeFingerprint *fingerprint,
									const bytea **first);

/* ----------
 * A block range's fingerprint by a pass over its rows, without encoding
 * them.
 * ----------
 */

typedef struct RangeCheck
{
	bytea	   *fingerprint;	/* NULL if the first part differed */
	const bytea *first;
	uint64		rows;			/* that were looked at */
} RangeCheck;

/*
 * Add the rows that the snapshot sees in a range, with the values of its
 * columns, in their order, that are out of line.  Unless
 * expected_first is NULL, ends as soon as the first part's fingerprint is
 * known and is another one.  Buffers of the reader are a ring; errors name
 * the row; a request to cancel is heard.  Allocates in CurrentMemoryContext.
 */
extern RangeCheck range_check(const HeapRange *range, Snapshot snapshot,
							  RangeFingerprint *fingerprint,
							  const bytea *expected_first);

#endif							/* PARDUMP_FINGERPRINT_H */
