/*-------------------------------------------------------------------------
 *
 * key_argument.h
 *	  The key and the algorithm of a fingerprint, as arguments.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_KEY_ARGUMENT_H
#define PARDUMP_KEY_ARGUMENT_H

#include "postgres.h"

#include "fmgr.h"

#include "fingerprint/keyed_hash.h"

typedef struct KeyArgument
{
	const unsigned char *key;	/* of KEYED_HASH_KEY_BYTES */
	KeyedHashAlgorithm algorithm;
} KeyArgument;

/*
 * From arguments "key_no" (bytea) and "algorithm_no" (text), which must not
 * be NULL; another length or name is an error (22023).
 */
extern void key_argument_read(FunctionCallInfo fcinfo, int key_no,
							  int algorithm_no, KeyArgument *argument);

#endif							/* PARDUMP_KEY_ARGUMENT_H */
