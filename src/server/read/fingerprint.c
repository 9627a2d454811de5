/*-------------------------------------------------------------------------
 *
 * fingerprint.c
 *	  Computes the fingerprint of a block range's rows.
 *
 * The first part is a keyed hash, by OpenSSL.  The second part feeds tuples
 * to the hash, as they are stored and many at a time, for any reader.  The
 * third part reads the tuples of a range for their fingerprint alone.
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
 * Poly1305 and HMAC by OpenSSL.
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

static void
check(bool done)
{
	unsigned long error;

	if (done)
		return;
	/* OpenSSL queues no error if it is only out of memory */
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

/* Put the key into a context. */
static void
set_key(EVP_MD_CTX * context, const FingerprintKey *key)
{
	/* Poly1305 is a kind of key, while HMAC takes the digest, too */
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
 * The hash of nothing yet, freed when CurrentMemoryContext is deleted or
 * reset: OpenSSL does not allocate in it.  The errors of all of these are
 * those of OpenSSL (XX000; a FIPS mode may know no Poly1305).
 */
static EVP_MD_CTX *
keyed_hash_new(const FingerprintKey *key)
{
	/* first, as nothing may fail once there is a context */
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
 * The hash of all that was added, 16 bytes or 32; more may be added then.
 * Allocated in CurrentMemoryContext.
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

	/* before check(), which may not return: it is not palloc'd */
	EVP_MD_CTX_free(copy);
	check(done);
	result = palloc(VARHDRSZ + bytes);
	SET_VARSIZE(result, VARHDRSZ + bytes);
	memcpy(VARDATA(result), value, bytes);
	return result;
}

/* ----------
 * Hashes tuples, many of them at a time.
 * ----------
 */

/* Tuples are gathered up to that; one by one, hashing takes a third more. */
#define GATHERED_BYTES ((Size) 64 * 1024)

/* The head that is hashed before the bytes of a tuple. */
typedef struct TupleHead
{
	uint32		bytes;			/* that follow */
	uint16		n_attributes;
	uint8		infomask;		/* of the bits below */
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
	bytea	   *first;			/* of the first FIRST_BLOCKS blocks; NULL as
								 * long as there may be more tuples of them */
	Size		gathered;		/* bytes of: */
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
	/* this tuple is the first one behind the first part */
	if (fingerprint->first == NULL &&
		ItemPointerGetBlockNumber(&tuple->t_self) - fingerprint->start >= FIRST_BLOCKS)
		fingerprint->first = value_so_far(fingerprint);

	/*
	 * All of the head is set, so that no byte of the stack is hashed.  Bits
	 * of the infomask about transactions are left out, as they change without
	 * the row.
	 */
	head.bytes = tuple->t_len - begin;
	head.n_attributes = HeapTupleHeaderGetNatts(header);
	head.infomask = header->t_infomask & KEPT_INFOMASK;
	head.data_offset = header->t_hoff;
	place = gather(fingerprint, sizeof(head) + head.bytes);
	memcpy(place, &head, sizeof(head));
	memcpy(place + sizeof(head), (const char *) header + begin, head.bytes);
}

/* A value that is longer than the buffer is hashed where it is. */
void
range_fingerprint_add_value(RangeFingerprint *fingerprint,
							const struct varlena *stored)
{
	Size		bytes = VARSIZE(stored);

	/* its header has the length, and whether it is compressed */
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
		fingerprint->first = result;	/* there was but a first part */
	if (first)
		*first = fingerprint->first;
	return result;
}

/* ----------
 * Passes over the rows of a block range for their fingerprint.
 *
 * Rows are taken apart only where a value is out of line.
 * ----------
 */

typedef struct RangePass
{
	const HeapRange *range;		/* borrowed, as the fingerprint */
	RangeFingerprint *fingerprint;
	HeapReader *heap;
	ToastReader *toast;
	TupleDeformer *deformer;	/* up to the last column */
	AttrNumber	column;			/* whose value is fetched, or
								 * InvalidAttrNumber */
} RangePass;

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
		/* a value in line is hashed with its tuple, compressed or not */
		if (!VARATT_IS_EXTERNAL(value))
			continue;
		pass->column = range->attnums[i];
		range_fingerprint_add_value(pass->fingerprint,
									toast_reader_get_stored(pass->toast,
															value));
		pass->column = InvalidAttrNumber;
	}
}

/* Tell with any error where it was met. */
static void
add_place(void *arg)
{
	RangePass  *pass = arg;

	heap_reader_errcontext(pass->heap, pass->column);
}

/*
 * The first part is compared as soon as it is complete, which is once: a
 * range that has changed mostly shows it there.
 */
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

	/* attributes behind the last column need not be taken apart */
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
