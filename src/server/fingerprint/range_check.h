/*-------------------------------------------------------------------------
 *
 * range_check.h
 *	  A block range's fingerprint by a pass over its rows, without encoding
 *	  them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RANGE_CHECK_H
#define PARDUMP_RANGE_CHECK_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "fingerprint/range_fingerprint.h"

typedef struct RangeCheck
{
	bytea	   *fingerprint;	/* NULL if the first part differed */
	const bytea *first;
	uint64		rows;			/* that were looked at */
} RangeCheck;

/*
 * Add the rows that the snapshot sees in the blocks start <= b < end, with
 * the values of these columns, in their order, that are out of line.  Unless
 * expected_first is NULL, ends as soon as the first part's fingerprint is
 * known and is another one.  Buffers of the reader are a ring; errors name
 * the row; a request to cancel is heard.  Allocates in CurrentMemoryContext.
 */
extern RangeCheck range_check(Relation rel, Snapshot snapshot,
							  const AttrNumber *attnums, int n_attnums,
							  BlockNumber start, BlockNumber end,
							  RangeFingerprint *fingerprint,
							  const bytea *expected_first);

/* Are they the same bytes? */
extern bool same_bytes(const bytea *a, const bytea *b);

#endif							/* PARDUMP_RANGE_CHECK_H */
