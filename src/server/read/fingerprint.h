/*-------------------------------------------------------------------------
 *
 * fingerprint.h
 *	  Computes the fingerprint of the rows in a block range, as they are
 *	  stored.
 *
 * For incremental dumps, function/read_function.c and chunk_reader.c compute
 * fingerprints.  If two ranges have the same fingerprint, and their tables
 * the same definition (read/definition.h), COPY writes the same bytes for
 * both, with the same settings.
 *
 * A fingerprint is a hash over all tuples in their order.  It includes
 * everything on which values can depend: length, number of attributes, bits
 * of the infomask, null bitmap and data.  After each tuple, its out-of-line
 * values follow as they are stored, in the order of the columns that are
 * read.  Hashing only the TOAST pointers would not be enough: in a cluster
 * that was restored to an earlier state, another value may get the same
 * pointer.  Transaction IDs, hint bits and the places of tuples are not
 * included, as they may change while the row stays the same.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_FINGERPRINT_H
#define PARDUMP_FINGERPRINT_H

#include "storage/block.h"

#include "read/heap_reader.h"

/* ----------
 * Keyed hashes: the hashes of different bytes are different, except with a
 * probability that has a known bound.
 * ----------
 */

/* The length of the key, for all algorithms. */
#define KEYED_HASH_KEY_BYTES 32

typedef enum KeyedHashAlgorithm
{
	/*
	 * Poly1305 (RFC 8439).  Two different texts of at most n bytes each, that
	 * were chosen without knowledge of the key, have the same hash with a
	 * probability of at most 8 * ceil(n / 16) / 2^106 (D. J. Bernstein, The
	 * Poly1305-AES message-authentication code, 2005, theorem 3.3).  For 1 GB
	 * this is 2^-77.
	 */
	KEYED_HASH_POLY1305,

	/*
	 * HMAC with SHA-256 (RFC 2104), whose hashes also differ if the texts
	 * were chosen with knowledge of the key
	 */
	KEYED_HASH_SHA256
} KeyedHashAlgorithm;

typedef struct FingerprintKey
{
	KeyedHashAlgorithm algorithm;
	unsigned char bytes[KEYED_HASH_KEY_BYTES];
} FingerprintKey;

/* Parse "poly1305" or "sha256"; returns false for any other name. */
extern bool keyed_hash_parse(const char *name, KeyedHashAlgorithm *algorithm);

/* ----------
 * Fingerprints of the rows in a block range
 * ----------
 */

/*
 * The number of blocks in the first part of a range, which has a fingerprint
 * of its own: if a range has changed, this usually shows in its first part,
 * and the rest need not be read.
 */
#define FIRST_BLOCKS 128

typedef struct RangeFingerprint RangeFingerprint;

/*
 * Begin a fingerprint for the range that begins at block "start".  Allocates
 * in CurrentMemoryContext, which must live as long as the fingerprint, and
 * whose reset also frees memory that OpenSSL has allocated.
 */
extern RangeFingerprint *range_fingerprint_new(const FingerprintKey *key,
											   BlockNumber start);

/*
 * Add the next tuple, then its out-of-line values as they are stored.  It is
 * an error (ERRCODE_DATA_CORRUPTED) if the header of a tuple exceeds it.
 */
extern void range_fingerprint_add_tuple(RangeFingerprint *fingerprint,
										HeapTuple tuple);
extern void range_fingerprint_add_value(RangeFingerprint *fingerprint,
										const struct varlena *stored);

/*
 * Return the fingerprint after the last tuple, and that of the first part if
 * "first" is not NULL.  Both are allocated in the context in which
 * range_fingerprint_new() was called.
 */
extern bytea *range_fingerprint_end(RangeFingerprint *fingerprint,
									const bytea **first);

/* ----------
 * Reads a block range only for its fingerprint
 * ----------
 */

typedef struct RangeCheck
{
	bytea	   *fingerprint;	/* NULL if the first part differed */
	const bytea *first;
	uint64		rows;			/* number of rows that were read */
} RangeCheck;

/*
 * Add the rows that the snapshot sees in a range to a fingerprint, with
 * out-of-line values of its columns.  If expected_first is not NULL and the
 * fingerprint of the first part is another one, nothing more is read.  Errors
 * have the row in their context.  Can be canceled.  Allocates in
 * CurrentMemoryContext.
 */
extern RangeCheck range_check(const HeapRange *range, Snapshot snapshot,
							  RangeFingerprint *fingerprint,
							  const bytea *expected_first);

#endif							/* PARDUMP_FINGERPRINT_H */
