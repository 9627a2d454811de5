/*-------------------------------------------------------------------------
 *
 * range_fingerprint.c
 *	  Hashes tuples, many of them at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/memutils.h"

#include "fingerprint/range_fingerprint.h"

/* Tuples are gathered up to that; one by one, hashing takes a third more. */
#define GATHERED_BYTES ((Size) 64 * 1024)

/* What stands before the bytes of a tuple. */
typedef struct TupleHead
{
	uint32		bytes;			/* that follow */
	uint16		n_attributes;
	uint8		infomask;		/* of the bits below */
	uint8		data_offset;
} TupleHead;

/* All that tell how the bytes of a tuple are to be read. */
#define KEPT_INFOMASK (HEAP_HASNULL | HEAP_HASVARWIDTH | HEAP_HASEXTERNAL)

StaticAssertDecl(sizeof(TupleHead) == 8 && KEPT_INFOMASK <= PG_UINT8_MAX,
				 "a tuple's head must have no padding");
StaticAssertDecl(sizeof(TupleHead) + BLCKSZ <= GATHERED_BYTES,
				 "a tuple must fit");

struct RangeFingerprint
{
	MemoryContext context;
	KeyedHash  *hash;
	BlockNumber start;
	bytea	   *first;			/* NULL before its end */
	Size		gathered;		/* bytes of: */
	char		buffer[GATHERED_BYTES];
};

RangeFingerprint *
range_fingerprint_new(KeyedHashAlgorithm algorithm, const unsigned char *key,
					  BlockNumber start)
{
	RangeFingerprint *fingerprint = palloc(sizeof(RangeFingerprint));

	fingerprint->context = CurrentMemoryContext;
	fingerprint->hash = keyed_hash_new(algorithm, key);
	fingerprint->start = start;
	fingerprint->first = NULL;
	fingerprint->gathered = 0;
	return fingerprint;
}

static void
hash_gathered(RangeFingerprint *fingerprint)
{
	keyed_hash_add(fingerprint->hash, fingerprint->buffer,
				   fingerprint->gathered);
	fingerprint->gathered = 0;
}

/* Return where "bytes" bytes can be put, at most GATHERED_BYTES. */
static inline char *
gather(RangeFingerprint *fingerprint, Size bytes)
{
	char	   *place;

	if (unlikely(fingerprint->gathered + bytes > GATHERED_BYTES))
		hash_gathered(fingerprint);
	place = fingerprint->buffer + fingerprint->gathered;
	fingerprint->gathered += bytes;
	return place;
}

/* The hash of all tuples so far. */
static bytea *
value_so_far(RangeFingerprint *fingerprint)
{
	MemoryContext old_context = MemoryContextSwitchTo(fingerprint->context);
	bytea	   *result;

	hash_gathered(fingerprint);
	result = keyed_hash_value(fingerprint->hash);
	MemoryContextSwitchTo(old_context);
	return result;
}

void
range_fingerprint_add_tuple(RangeFingerprint *fingerprint, HeapTuple tuple)
{
	HeapTupleHeader header = tuple->t_data;
	bool		has_nulls = HeapTupleHasNulls(tuple);
	TupleHead	head;
	Size		begin;
	char	   *place;

	/* the null bitmap stands before the data, with padding of zeros */
	begin = has_nulls ? SizeofHeapTupleHeader : header->t_hoff;
	if (header->t_hoff < SizeofHeapTupleHeader ||
		header->t_hoff > tuple->t_len)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid header of a tuple")));
	if (fingerprint->first == NULL &&
		ItemPointerGetBlockNumber(&tuple->t_self) - fingerprint->start >= FIRST_BLOCKS)
		fingerprint->first = value_so_far(fingerprint);

	head.bytes = tuple->t_len - begin;
	head.n_attributes = HeapTupleHeaderGetNatts(header);
	head.infomask = header->t_infomask & KEPT_INFOMASK;
	head.data_offset = header->t_hoff;
	place = gather(fingerprint, sizeof(head) + head.bytes);
	memcpy(place, &head, sizeof(head));
	memcpy(place + sizeof(head), (const char *) header + begin, head.bytes);
}

void
range_fingerprint_add_value(RangeFingerprint *fingerprint,
							const struct varlena *stored)
{
	Size		bytes = VARSIZE(stored);

	/* its header tells the length, and whether it is compressed */
	if (bytes <= GATHERED_BYTES)
		memcpy(gather(fingerprint, bytes), stored, bytes);
	else
	{
		hash_gathered(fingerprint);
		keyed_hash_add(fingerprint->hash, stored, bytes);
	}
}

const bytea *
range_fingerprint_first(const RangeFingerprint *fingerprint)
{
	return fingerprint->first;
}

bytea *
range_fingerprint_end(RangeFingerprint *fingerprint, const bytea **first)
{
	bytea	   *result = value_so_far(fingerprint);

	if (fingerprint->first == NULL)
		fingerprint->first = result;	/* there was but a first part */
	if (first)
		*first = fingerprint->first;
	return result;
}

void
range_fingerprint_free(RangeFingerprint *fingerprint)
{
	keyed_hash_free(fingerprint->hash);
	pfree(fingerprint);
}
