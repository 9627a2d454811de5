/*-------------------------------------------------------------------------
 *
 * fingerprint.c
 *	  Computes the fingerprint of the rows in a block range.
 *
 * fingerprint.h describes fingerprints and their use.  The first part of this
 * file computes keyed hashes with OpenSSL.  The second part adds tuples to
 * the hash as they are stored; chunk_reader.c uses it while it reads rows for
 * a dump.  The third part reads a range only to compute its fingerprint, for
 * pg_pardump_fingerprint() (function/read_function.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include "utils/datum.h"

#include "read/fingerprint.h"
#include "read/toast_reader.h"

/* ----------
 * Computes Poly1305 and HMAC with OpenSSL.
 * ----------
 */

bool
keyed_hash_parse(const char *name, KeyedHashAlgorithm *algorithm)
{
	if (strcmp(name, "poly1305") == 0)
		*algorithm = KEYED_HASH_POLY1305;
	else if (strcmp(name, "sha256") == 0)
		*algorithm = KEYED_HASH_SHA256;
	else
		return false;
	return true;
}

/* Raise an error if a function of OpenSSL has failed. */
static void
check(bool done)
{
	unsigned long error;

	if (done)
		return;
	/* if OpenSSL is out of memory, its error queue may be empty */
	error = ERR_get_error();
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("could not compute fingerprint: %s",
					error ? ERR_reason_error_string(error) : "out of memory")));
}

static void
free_context(void *context)
{
	EVP_MD_CTX_free(context);
}

/* Begin the hash in a context with the key. */
static void
set_key(EVP_MD_CTX * context, const FingerprintKey *key)
{
	/* for OpenSSL, Poly1305 is a type of key; HMAC also needs a digest */
	bool		is_sha256 = key->algorithm == KEYED_HASH_SHA256;
	EVP_PKEY   *secret = EVP_PKEY_new_raw_private_key(is_sha256 ? EVP_PKEY_HMAC
													  : EVP_PKEY_POLY1305,
													  NULL, key->bytes,
													  KEYED_HASH_KEY_BYTES);
	bool		done = secret != NULL &&
		EVP_DigestSignInit(context, NULL, is_sha256 ? EVP_sha256() : NULL,
						   NULL, secret) > 0;

	EVP_PKEY_free(secret);		/* the context has its own reference */
	check(done);
}

/*
 * Begin a hash.  OpenSSL allocates its own memory, which is freed when
 * CurrentMemoryContext is deleted or reset.  Errors of OpenSSL are raised
 * with XX000; in FIPS mode, for example, Poly1305 may not be available.
 */
static EVP_MD_CTX *
keyed_hash_new(const FingerprintKey *key)
{
	/* allocated first, as an error of palloc() would leak the context */
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	check(context != NULL);
	callback->func = free_context;
	callback->arg = context;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	set_key(context, key);
	return context;
}

static void
keyed_hash_add(EVP_MD_CTX * context, const void *data, Size bytes)
{
	check(EVP_DigestSignUpdate(context, data, bytes) > 0);
}

/*
 * Return the hash of all bytes so far: 16 bytes for Poly1305, 32 for SHA-256.
 * More bytes may be added after that.  The result is allocated in
 * CurrentMemoryContext.
 */
static bytea *
keyed_hash_value(const EVP_MD_CTX * context)
{
	/* EVP_DigestSignFinal() ends a context, and this one is still needed */
	EVP_MD_CTX *copy = EVP_MD_CTX_new();
	unsigned char value[EVP_MAX_MD_SIZE];
	size_t		bytes = sizeof(value);
	bool		done = copy != NULL &&
		EVP_MD_CTX_copy_ex(copy, context) > 0 &&
		EVP_DigestSignFinal(copy, value, &bytes) > 0;
	bytea	   *result;

	/* freed before check(), which may raise an error: it is not palloc'd */
	EVP_MD_CTX_free(copy);
	check(done);
	result = palloc(VARHDRSZ + bytes);
	SET_VARSIZE(result, VARHDRSZ + bytes);
	memcpy(VARDATA(result), value, bytes);
	return result;
}

/* ----------
 * Adds tuples to a hash, many of them at a time.
 * ----------
 */

/*
 * Tuples are gathered up to this size.  To hash them one by one takes a third
 * more time.
 */
#define GATHERED_BYTES ((Size) 64 * 1024)

/* The header that is hashed before the bytes of a tuple. */
typedef struct TupleHead
{
	uint32		bytes;			/* number of bytes that follow */
	uint16		n_attributes;
	uint8		infomask;		/* only the bits below */
	uint8		data_offset;
} TupleHead;

/* The bits that determine how the bytes of a tuple are read. */
#define KEPT_INFOMASK (HEAP_HASNULL | HEAP_HASVARWIDTH | HEAP_HASEXTERNAL)

StaticAssertDecl(sizeof(TupleHead) == 8 && KEPT_INFOMASK <= PG_UINT8_MAX,
				 "a tuple's head must have no padding");
StaticAssertDecl(sizeof(TupleHead) + BLCKSZ <= GATHERED_BYTES,
				 "a tuple must fit");

struct RangeFingerprint
{
	MemoryContext context;
	EVP_MD_CTX *hash;
	BlockNumber start;
	bytea	   *first;			/* of the first FIRST_BLOCKS blocks; NULL
								 * until all of their tuples were added */
	Size		gathered;		/* bytes in use of: */
	char		buffer[GATHERED_BYTES];
};

RangeFingerprint *
range_fingerprint_new(const FingerprintKey *key, BlockNumber start)
{
	RangeFingerprint *fingerprint = palloc(sizeof(RangeFingerprint));

	fingerprint->context = CurrentMemoryContext;
	fingerprint->hash = keyed_hash_new(key);
	fingerprint->start = start;
	fingerprint->first = NULL;
	fingerprint->gathered = 0;
	return fingerprint;
}

/* Add the gathered bytes to the hash. */
static void
hash_gathered(RangeFingerprint *fingerprint)
{
	keyed_hash_add(fingerprint->hash, fingerprint->buffer,
				   fingerprint->gathered);
	fingerprint->gathered = 0;
}

/* Return a place for "bytes" bytes to be hashed, at most GATHERED_BYTES. */
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

/* Return the hash of all tuples so far. */
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

	/* the null bitmap, if there is one, precedes the data */
	begin = has_nulls ? SizeofHeapTupleHeader : header->t_hoff;
	if (header->t_hoff < SizeofHeapTupleHeader ||
		header->t_hoff > tuple->t_len)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid header of a tuple")));
	/* the first part is complete if this tuple is after its last block */
	if (fingerprint->first == NULL &&
		ItemPointerGetBlockNumber(&tuple->t_self) - fingerprint->start >= FIRST_BLOCKS)
		fingerprint->first = value_so_far(fingerprint);

	/*
	 * All members are set and the struct has no padding, so no random bytes
	 * are hashed.  Bits of the infomask about transactions are left out, as
	 * they may change while the row stays the same.
	 */
	head.bytes = tuple->t_len - begin;
	head.n_attributes = HeapTupleHeaderGetNatts(header);
	head.infomask = header->t_infomask & KEPT_INFOMASK;
	head.data_offset = header->t_hoff;
	place = gather(fingerprint, sizeof(head) + head.bytes);
	memcpy(place, &head, sizeof(head));
	memcpy(place + sizeof(head), (const char *) header + begin, head.bytes);
}

/* A value that is longer than the buffer is hashed without copying it. */
void
range_fingerprint_add_value(RangeFingerprint *fingerprint,
							const struct varlena *stored)
{
	Size		bytes = VARSIZE(stored);

	/* the header of the value contains its length, and if it is compressed */
	if (bytes <= GATHERED_BYTES)
		memcpy(gather(fingerprint, bytes), stored, bytes);
	else
	{
		hash_gathered(fingerprint);
		keyed_hash_add(fingerprint->hash, stored, bytes);
	}
}

bytea *
range_fingerprint_end(RangeFingerprint *fingerprint, const bytea **first)
{
	bytea	   *result = value_so_far(fingerprint);

	if (fingerprint->first == NULL)
		fingerprint->first = result;	/* the range has only a first part */
	if (first)
		*first = fingerprint->first;
	return result;
}

/* ----------
 * Reads a block range only for its fingerprint
 *
 * Tuples are only deformed if they contain an out-of-line value.
 * ----------
 */

typedef struct RangePass
{
	const HeapRange *range;		/* borrowed, like the fingerprint */
	RangeFingerprint *fingerprint;
	HeapReader *heap;
	ToastReader *toast;
	TupleDeformer *deformer;	/* up to the last column */
	AttrNumber	column;			/* being fetched, or InvalidAttrNumber */
} RangePass;

/* Add the out-of-line values of a tuple. */
static void
add_values(RangePass *pass, HeapTuple tuple)
{
	const HeapRange *range = pass->range;

	if (!tuple_deform(pass->deformer, tuple))
		heap_damaged_tuple(range->rel);
	for (int i = 0; i < range->n_attnums; i++)
	{
		int			attribute = range->attnums[i] - 1;
		struct varlena *value;

		if (pass->deformer->isnull[attribute] ||
			TupleDescAttr(RelationGetDescr(range->rel), attribute)->attlen != -1)
			continue;
		value = (struct varlena *) DatumGetPointer(pass->deformer->values[attribute]);
		/* other values are part of the tuple, even if they are compressed */
		if (!VARATT_IS_EXTERNAL(value))
			continue;
		pass->column = range->attnums[i];
		range_fingerprint_add_value(pass->fingerprint,
									toast_reader_get_stored(pass->toast,
															value));
		pass->column = InvalidAttrNumber;
	}
}

/* Add the row and the column to the context of errors. */
static void
add_place(void *arg)
{
	RangePass  *pass = arg;

	heap_reader_errcontext(pass->heap, pass->column);
}

/* The first part is compared once, when its fingerprint is complete. */
RangeCheck
range_check(const HeapRange *range, Snapshot snapshot,
			RangeFingerprint *fingerprint, const bytea *expected_first)
{
	RangePass	pass = {range, fingerprint};
	ErrorContextCallback place = {error_context_stack, add_place, &pass};
	RangeCheck	result = {0};
	bool		differs = false;
	AttrNumber	last = 0;
	HeapTuple	tuple;

	/* attributes after the last column need not be deformed */
	for (int i = 0; i < range->n_attnums; i++)
		last = Max(last, range->attnums[i]);
	pass.heap = heap_reader_new(range->rel, snapshot, range->start,
								range->end);
	pass.toast = toast_reader_new(range->rel);
	pass.deformer = tuple_deformer_new(RelationGetDescr(range->rel), last);
	error_context_stack = &place;
	while (!differs && (tuple = heap_reader_next(pass.heap)) != NULL)
	{
		bool		had_first = result.first != NULL;

		range_fingerprint_add_tuple(fingerprint, tuple);
		if (HeapTupleHasExternal(tuple))
			add_values(&pass, tuple);
		result.rows++;
		result.first = fingerprint->first;
		differs = !had_first && result.first != NULL &&
			expected_first != NULL &&
			!datum_image_eq(PointerGetDatum(result.first),
							PointerGetDatum(expected_first), false, -1);
	}
	error_context_stack = place.previous;
	/* a range that differs is read again anyway, so no more is hashed */
	if (!differs)
		result.fingerprint = range_fingerprint_end(fingerprint, &result.first);
	heap_reader_free(pass.heap);
	toast_reader_free(pass.toast);
	return result;
}
