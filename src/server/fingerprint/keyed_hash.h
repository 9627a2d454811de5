/*-------------------------------------------------------------------------
 *
 * keyed_hash.h
 *	  A hash under a secret key: equal for equal bytes, and else different
 *	  but for a chance that has a bound.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_KEYED_HASH_H
#define PARDUMP_KEYED_HASH_H

#include "postgres.h"

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

typedef struct KeyedHash KeyedHash;

/* "poly1305" or "sha256"; false for all else. */
extern bool keyed_hash_parse(const char *name, KeyedHashAlgorithm *algorithm);

/*
 * The hash of nothing yet, by KEYED_HASH_KEY_BYTES of key.  Allocates in
 * CurrentMemoryContext; what is not in it, is freed when it is deleted.  The
 * errors of all of these are those of OpenSSL (XX000; a FIPS mode may know no
 * Poly1305).
 */
extern KeyedHash *keyed_hash_new(KeyedHashAlgorithm algorithm,
								 const unsigned char *key);

extern void keyed_hash_add(KeyedHash *hash, const void *data, Size bytes);

/*
 * The hash of all that was added, 16 bytes or 32; more may be added then.
 * Allocated in CurrentMemoryContext.
 */
extern bytea *keyed_hash_value(const KeyedHash *hash);

extern void keyed_hash_free(KeyedHash *hash);

#endif							/* PARDUMP_KEYED_HASH_H */
