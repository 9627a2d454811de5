/*-------------------------------------------------------------------------
 *
 * read_fingerprint.c
 *	  The SQL functions pg_pardump_fingerprint_reads(), by which a session
 *	  wants fingerprints, and pg_pardump_last_fingerprint().
 *
 * The key is the session's rather than an argument of pg_pardump_read(),
 * which is called by COPY, without parameters: everybody who sees statements,
 * in a log or in pg_stat_activity, would see it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "fingerprint/definition.h"
#include "fingerprint/range_check.h"
#include "function/key_argument.h"
#include "function/read_fingerprint.h"
#include "function/relation_access.h"

PG_FUNCTION_INFO_V1(pg_pardump_fingerprint_reads);
PG_FUNCTION_INFO_V1(pg_pardump_last_fingerprint);

struct ReadFingerprint
{
	RangeFingerprint *rows;
	bytea	   *definition;		/* before the first row */
};

/* Of the session. */
static struct
{
	bool		is_set;
	KeyedHashAlgorithm algorithm;
	unsigned char bytes[KEYED_HASH_KEY_BYTES];
}			key;

/*
 * Of the last read; all or none of them, in memory of the session, for the
 * role that has read.
 */
static struct
{
	Oid			role;
	bytea	   *fingerprint;
	bytea	   *first_fingerprint;
	bytea	   *definition;
}			last;

void
read_fingerprint_forget(void)
{
	if (last.fingerprint == NULL)
		return;
	pfree(last.fingerprint);
	pfree(last.first_fingerprint);
	pfree(last.definition);
	memset(&last, 0, sizeof(last));
}

ReadFingerprint *
read_fingerprint_begin(const RangeArgument *range)
{
	ReadFingerprint *result = palloc(sizeof(ReadFingerprint));
	const char *reason;

	if (!key.is_set || !relation_may_fingerprint(range->rel))
		return NULL;
	result->definition = table_definition(range->rel, range->attnums,
										  range->n_attnums, &reason);
	if (result->definition == NULL)
		return NULL;
	result->rows = range_fingerprint_new(key.algorithm, key.bytes,
										 range->start);
	return result;
}

void
read_fingerprint_watch(ReadFingerprint *fingerprint, ChunkReader *reader)
{
	chunk_reader_fingerprint(reader, fingerprint->rows);
}

/* A copy in memory of the session. */
static bytea *
keep(const bytea *bytes)
{
	bytea	   *copy = MemoryContextAlloc(TopMemoryContext, VARSIZE_ANY(bytes));

	memcpy(copy, bytes, VARSIZE_ANY(bytes));
	return copy;
}

void
read_fingerprint_keep(ReadFingerprint *fingerprint, const RangeArgument *range,
					  Oid role)
{
	const char *reason;
	bytea	   *definition = table_definition(range->rel, range->attnums,
											  range->n_attnums, &reason);
	bytea	   *rows;
	const bytea *first;

	if (definition == NULL || !same_bytes(definition, fingerprint->definition))
		return;
	rows = range_fingerprint_end(fingerprint->rows, &first);
	/* another cursor may have ended since this one began */
	read_fingerprint_forget();
	last.role = role;
	last.definition = keep(definition);
	last.first_fingerprint = keep(first);
	last.fingerprint = keep(rows);
}

/*
 * pg_pardump_fingerprint_reads(key bytea, algorithm text)
 *
 * From now on, or no more if the key is NULL.
 */
Datum
pg_pardump_fingerprint_reads(PG_FUNCTION_ARGS)
{
	KeyArgument argument;

	key.is_set = false;
	if (PG_ARGISNULL(0))
		PG_RETURN_VOID();
	key_argument_read(fcinfo, 0, 1, &argument);
	key.algorithm = argument.algorithm;
	memcpy(key.bytes, argument.key, KEYED_HASH_KEY_BYTES);
	key.is_set = true;
	PG_RETURN_VOID();
}

/*
 * pg_pardump_last_fingerprint(OUT fingerprint bytea,
 *							   OUT first_fingerprint bytea,
 *							   OUT definition bytea)
 */
Datum
pg_pardump_last_fingerprint(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc;
	Datum		values[3] = {PointerGetDatum(last.fingerprint),
		PointerGetDatum(last.first_fingerprint),
	PointerGetDatum(last.definition)};
	bool		nulls[3];

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	nulls[0] = nulls[1] = nulls[2] = last.fingerprint == NULL ||
		last.role != GetUserId();
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}
