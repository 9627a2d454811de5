/*-------------------------------------------------------------------------
 *
 * read_function.c
 *	  The SQL functions that read columns of a block range: pg_pardump_read()
 *	  and the functions for fingerprints.
 *
 * The workers of dumps and copies call these functions.  pg_pardump_read()
 * returns the rows of a chunk as a set of bytea values, and
 * pg_pardump_last_read() their number.
 *
 * pg_pardump_fingerprint() and pg_pardump_definition() show whether a chunk
 * would be dumped with the same result as before.  After a session has called
 * pg_pardump_fingerprint_reads(), pg_pardump_read() also computes
 * fingerprints, and pg_pardump_last_fingerprint() returns the last one.
 *
 * The first arguments of the functions are a relation, columns, and usually a
 * range of blocks.  This file checks arguments and privileges; the files of
 * read/ do the work.
 *
 * Between its calls, pg_pardump_read() holds these resources:
 *
 * resource								| owner
 * -------------------------------------+-----------------------------------
 * relation, its ACCESS SHARE lock		| resource owner of the portal
 * registered snapshot					| the same
 * pins: a page of the table, one of	| the same
 *	 its TOAST table, those that a read |
 *	 stream has read ahead (since 17)	|
 * TOAST table, its indexes, the scan,	| the same
 *	 ACCESS SHARE locks on them			|
 * rows, blocks, rings of buffers		| the FuncCallContext's memory
 * codec: malloc()ed memory, threads	| a callback of that memory context
 *	 of zstd							| (bytes/context_compressor.c)
 * end_read_call()						| ExprContext; called when the query
 *										| ends or is rescanned, not on abort
 *
 * These events affect them:
 *
 * event								| effect
 * -------------------------------------+-----------------------------------
 * a subtransaction that is younger		| none, since the portal is older;
 *	 than the portal is rolled back		| heap_check_lasts() refuses a file
 *										| that would be removed
 * an older one is rolled back			| the portal is dropped, see below
 * the portal is dropped in an aborted	| the callback frees the codec, the
 *	 transaction						| resource owner releases the rest
 * commit, the cursor is WITH HOLD		| the server reads all rows first
 * 1,000 cursors are open				| 1,000 times these resources; too
 *										| many pins are an error ("no
 *										| unpinned buffers available")
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "function/relation_access.h"
#include "function/sql_call.h"
#include "read/chunk_reader.h"
#include "read/definition.h"

/* ----------
 * Reads the first arguments of the functions: columns and blocks of a table.
 * ----------
 */

/* Look up the columns, and set *n_attnums to their number. */
static AttrNumber *
read_columns(Relation rel, ArrayType *columns, int *n_attnums)
{
	Datum	   *names;
	bool	   *nulls;
	AttrNumber *attnums;

	deconstruct_array(columns, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR,
					  &names, &nulls, n_attnums);
	attnums = palloc(sizeof(AttrNumber) * (*n_attnums + 1));
	for (int i = 0; i < *n_attnums; i++)
	{
		char	   *name;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("column names must not be null")));

		/* 0 is a dropped or missing column, negative is a system column */
		name = NameStr(*DatumGetName(names[i]));
		attnums[i] = get_attnum(RelationGetRelid(rel), name);
		if (attnums[i] <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" does not exist",
							name, RelationGetRelationName(rel))));
		if (TupleDescAttr(RelationGetDescr(rel), attnums[i] - 1)->attgenerated ==
			ATTRIBUTE_GENERATED_VIRTUAL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" is a virtual generated column and is not stored",
							name)));
	}
	return attnums;
}

/* Check a block number, which may be one above the largest. */
static BlockNumber
check_block(int64 block, const char *what)
{
	if (block < 0 || block > (int64) MaxBlockNumber + 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is out of range", what),
				 errhint("Blocks are numbered from 0 to %u.", MaxBlockNumber)));
	return (BlockNumber) block;
}

/*
 * Read the arguments 0 and 1: relation regclass, columns name[].  Opens and
 * locks (ACCESS SHARE) the relation.  Raises an error unless it is a heap,
 * has these columns, which must be stored, and the current user may read them
 * in all rows.  The range of blocks is not set.  Allocates in
 * CurrentMemoryContext.
 */
static void
column_argument_open(FunctionCallInfo fcinfo, HeapRange *argument)
{
	check_not_null(fcinfo, 0, "relation");
	check_not_null(fcinfo, 1, "columns");

	/*
	 * Columns are looked up after the relation is locked, so that they cannot
	 * change, and their privileges are checked after that.
	 */
	argument->rel = relation_open_for_reading(PG_GETARG_OID(0));
	/* pages of another access method may have another layout */
	if (argument->rel->rd_tableam != GetHeapamTableAmRoutine())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the access method of table \"%s\" is not heap",
						RelationGetRelationName(argument->rel)),
				 errhint("Use COPY ... TO STDOUT to read the table.")));
	argument->attnums = read_columns(argument->rel, PG_GETARG_ARRAYTYPE_P(1),
									 &argument->n_attnums);
	relation_check_readable(argument->rel, argument->attnums,
							argument->n_attnums);
}

/* Also read the arguments 2 and 3: start_block, end_block (may be NULL). */
static void
range_argument_open(FunctionCallInfo fcinfo, HeapRange *argument)
{
	check_not_null(fcinfo, 2, "start block");
	argument->start = check_block(PG_GETARG_INT64(2), "start block");
	argument->end = PG_ARGISNULL(3) ? InvalidBlockNumber :
		check_block(PG_GETARG_INT64(3), "end block");
	column_argument_open(fcinfo, argument);
}

/* ----------
 * The SQL functions pg_pardump_fingerprint() and pg_pardump_definition(),
 * which show whether a chunk would be dumped with the same result as before.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_fingerprint);
PG_FUNCTION_INFO_V1(pg_pardump_definition);

/*
 * Read the arguments "key_no" (bytea) and "algorithm_no" (text), which must
 * not be NULL.  A wrong length or name is an error (22023).
 */
static void
key_argument_read(FunctionCallInfo fcinfo, int key_no, int algorithm_no,
				  FingerprintKey *result)
{
	bytea	   *key;
	char	   *name;

	check_not_null(fcinfo, key_no, "fingerprint key");
	check_not_null(fcinfo, algorithm_no, "fingerprint algorithm");
	key = PG_GETARG_BYTEA_PP(key_no);
	name = text_to_cstring(PG_GETARG_TEXT_PP(algorithm_no));
	if (VARSIZE_ANY_EXHDR(key) != KEYED_HASH_KEY_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a fingerprint key must have %d bytes",
						KEYED_HASH_KEY_BYTES)));
	if (!keyed_hash_parse(name, &result->algorithm))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fingerprint algorithm \"%s\" not recognized", name),
				 errhint("The algorithms are poly1305 and sha256.")));
	memcpy(result->bytes, VARDATA_ANY(key), KEYED_HASH_KEY_BYTES);
}

/*
 * pg_pardump_fingerprint(relation regclass, columns name[],
 *						  start_block bigint, end_block bigint,
 *						  key bytea, algorithm text, expected_first bytea,
 *						  OUT fingerprint bytea,
 *						  OUT first_fingerprint bytea, OUT rows bigint)
 *
 * The fingerprint is NULL if that of the first part is not the expected one.
 */
Datum
pg_pardump_fingerprint(PG_FUNCTION_ARGS)
{
	HeapRange	range;
	FingerprintKey key;
	const bytea *expected = NULL;
	RangeFingerprint *fingerprint;
	RangeCheck	check;
	Datum		values[3];
	bool		nulls[3] = {0};

	key_argument_read(fcinfo, 4, 5, &key);
	if (!PG_ARGISNULL(6))
		expected = PG_GETARG_BYTEA_PP(6);
	range_argument_open(fcinfo, &range);
	if (!relation_may_fingerprint(range.rel))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for table %s",
						RelationGetRelationName(range.rel)),
				 errdetail("Computing a fingerprint requires the SELECT privilege on all columns.")));
	/* allocated in the context of this call, which the caller resets */
	fingerprint = range_fingerprint_new(&key, range.start);
	check = range_check(&range, GetActiveSnapshot(), fingerprint, expected);
	values[0] = PointerGetDatum(check.fingerprint);
	nulls[0] = check.fingerprint == NULL;
	values[1] = PointerGetDatum(check.first);
	values[2] = Int64GetDatum((int64) check.rows);
	relation_close(range.rel, NoLock);
	PG_RETURN_DATUM(result_row(fcinfo, values, nulls));
}

/*
 * pg_pardump_definition(relation regclass, columns name[],
 *						 OUT definition bytea, OUT reason text)
 */
Datum
pg_pardump_definition(PG_FUNCTION_ARGS)
{
	HeapRange	argument;
	const char *reason;
	bytea	   *definition;
	Datum		values[2];
	bool		nulls[2] = {0};

	column_argument_open(fcinfo, &argument);
	definition = table_definition(&argument, &reason);
	nulls[0] = definition == NULL;
	nulls[1] = definition != NULL;
	values[0] = PointerGetDatum(definition);
	values[1] = definition ? (Datum) 0 : CStringGetTextDatum(reason);
	relation_close(argument.rel, NoLock);
	PG_RETURN_DATUM(result_row(fcinfo, values, nulls));
}

/* ----------
 * The SQL functions pg_pardump_fingerprint_reads(), with which a session
 * requests fingerprints, and pg_pardump_last_fingerprint().
 *
 * The key is stored in the session, and is not an argument of
 * pg_pardump_read().  That function is called in a COPY, which has no
 * parameters, so the key would be visible in logs of statements and in
 * pg_stat_activity.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_fingerprint_reads);
PG_FUNCTION_INFO_V1(pg_pardump_last_fingerprint);

/* The key of the session.  A rollback does not change it. */
static bool has_session_key;
static FingerprintKey session_key;

/* The fingerprint, first fingerprint and definition of the last read. */
static KeptResult last_fingerprint = {.n_values = 3,.typlen = -1};

/* The state of pg_pardump_read(), in the function's multi-call context. */
typedef struct ReadCall
{
	Oid			role;			/* the current user of the first call */
	HeapRange	range;
	Snapshot	snapshot;
	ChunkReader *reader;
	RangeFingerprint *fingerprint;	/* NULL if none is computed */
	bytea	   *definition;		/* before the first row; NULL like it */
} ReadCall;

/*
 * Begin the fingerprint of a read in text format, and compute the current
 * definition.  This must be called before the reader looks up the types of
 * the columns.  No fingerprint is computed if the session has no key, if the
 * columns have no definition, or if the current user may only read some of
 * the table's columns.
 */
static void
begin_fingerprint(ReadCall *call)
{
	const char *reason;

	if (!has_session_key || !relation_may_fingerprint(call->range.rel))
		return;
	call->definition = table_definition(&call->range, &reason);
	if (call->definition != NULL)
		call->fingerprint = range_fingerprint_new(&session_key,
												  call->range.start);
}

/*
 * Keep the fingerprint for pg_pardump_last_fingerprint() and this role, after
 * all rows have been read.  Nothing is kept if the definition has changed
 * since the read began, which is possible as types are not locked.
 */
static void
keep_fingerprint(ReadCall *call)
{
	const char *reason;
	bytea	   *definition = table_definition(&call->range, &reason);
	const bytea *first;
	Datum		values[3];

	if (definition == NULL ||
		!datum_image_eq(PointerGetDatum(definition),
						PointerGetDatum(call->definition), false, -1))
		return;
	values[0] = PointerGetDatum(range_fingerprint_end(call->fingerprint,
													  &first));
	values[1] = PointerGetDatum(first);
	values[2] = PointerGetDatum(definition);
	kept_result_set(&last_fingerprint, call->role, values);
}

/*
 * pg_pardump_fingerprint_reads(key bytea, algorithm text)
 *
 * Reads compute fingerprints from now on, or no longer if the key is NULL.
 */
Datum
pg_pardump_fingerprint_reads(PG_FUNCTION_ARGS)
{
	/* if the new key is invalid, the session has no key */
	has_session_key = false;
	if (PG_ARGISNULL(0))
		PG_RETURN_VOID();
	key_argument_read(fcinfo, 0, 1, &session_key);
	has_session_key = true;
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
	PG_RETURN_DATUM(kept_result_row(fcinfo, &last_fingerprint));
}

/* ----------
 * The SQL functions pg_pardump_read(), which returns the rows of a chunk as
 * bytea values, and pg_pardump_last_read(), which returns their number.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_read);
PG_FUNCTION_INFO_V1(pg_pardump_last_read);

/* The rows and bytes of the last read, after it is complete. */
static KeptResult last_read = {
	.n_values = 2,.typlen = sizeof(int64),.typbyval = FLOAT8PASSBYVAL
};

/*
 * Release the resources that are not freed with the memory context.  This is
 * also called if a query does not fetch all rows.
 */
static void
end_read_call(Datum arg)
{
	ReadCall   *call = (ReadCall *) DatumGetPointer(arg);

	/*
	 * The order is the reverse of that in begin_read_call().  The lock on the
	 * table is kept up to the end of the transaction, so that block ranges
	 * that the client will read contain the same rows.
	 */
	chunk_reader_free(call->reader);
	UnregisterSnapshot(call->snapshot);
	relation_close(call->range.rel, NoLock);
}

/*
 * Read the argument for compression.  "auto", which is only allowed for raw
 * tuples, compresses a block if this makes it much smaller.
 */
static void
read_compression(text * arg, ChunkFormat *format)
{
	char	   *name = text_to_cstring(arg);
	bool		is_raw = format->format == ROW_RAW;

	format->chooses_blocks = is_raw && strcmp(name, "auto") == 0;
	format->compress = read_compress_spec(format->chooses_blocks ? "lz4"
										  : name);
	if (is_raw && format->compress.method == COMPRESS_GZIP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("raw format cannot be compressed with \"gzip\""),
				 errhint("Supported compression methods are none, lz4, zstd and auto.")));
}

/*
 * Read the argument for the format.  "text" and "binary" are the formats of
 * COPY; "raw" is described in read/raw_block.h.
 */
static RowFormat
read_format(text * arg)
{
	char	   *name = text_to_cstring(arg);

	if (strcmp(name, "text") == 0)
		return ROW_TEXT;
	if (strcmp(name, "binary") == 0)
		return ROW_BINARY;
	if (strcmp(name, "raw") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("format \"%s\" not recognized", name),
				 errhint("The formats are text, binary and raw.")));
	return ROW_RAW;
}

/* Check all arguments, and open the table and its reader. */
static ReadCall *
begin_read_call(FunctionCallInfo fcinfo)
{
	ReadCall   *call = palloc0(sizeof(ReadCall));
	HeapRange  *range = &call->range;
	ChunkFormat format;

	check_not_null(fcinfo, 4, "compression");
	check_not_null(fcinfo, 5, "format");
	format.format = read_format(PG_GETARG_TEXT_PP(5));
	read_compression(PG_GETARG_TEXT_PP(4), &format);

	call->role = GetUserId();
	range_argument_open(fcinfo, range);
	/* a row in binary format contains the number of columns in 16 bits */
	if (format.format == ROW_BINARY && range->n_attnums > PG_INT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot read more than %d columns in binary format",
						PG_INT16_MAX)));

	/* the active snapshot may be popped between two calls */
	call->snapshot = RegisterSnapshot(GetActiveSnapshot());
	/* before the reader is created, which stores properties of types */
	if (format.format == ROW_TEXT)
		begin_fingerprint(call);
	call->reader = chunk_reader_new(range, call->snapshot, &format,
									call->fingerprint);
	return call;
}

/*
 * pg_pardump_read(relation regclass, columns name[], start_block bigint,
 *				   end_block bigint, compression text, format text)
 *
 * Returns one value in each call, so that the server need not store all of
 * them.
 */
Datum
pg_pardump_read(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	FuncCallContext *funcctx;
	ReadCall   *call;
	bytea	   *value;
	uint64		rows;
	uint64		bytes;
	Datum		counted[2];
	MemoryContext old_context;

	if (SRF_IS_FIRSTCALL())
	{
		funcctx = SRF_FIRSTCALL_INIT();
		old_context = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		/* results of an earlier read must not seem to be those of this one */
		kept_result_forget(&last_read);
		kept_result_forget(&last_fingerprint);
		kept_memory_begin();
		call = begin_read_call(fcinfo);
		funcctx->user_fctx = call;

		/*
		 * ShutdownExprContext() calls the last callback first, so this one is
		 * called before that of SRF_FIRSTCALL_INIT(), which deletes the
		 * context.
		 */
		RegisterExprContextCallback(rsinfo->econtext, end_read_call,
									PointerGetDatum(call));
		MemoryContextSwitchTo(old_context);
	}

	funcctx = SRF_PERCALL_SETUP();
	call = funcctx->user_fctx;

	/* the reader needs the multi-call context; it resets that of rows */
	old_context = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
	value = chunk_reader_next(call->reader);
	MemoryContextSwitchTo(old_context);
	if (value)
		SRF_RETURN_NEXT(funcctx, PointerGetDatum(value));

	if (call->fingerprint)
		keep_fingerprint(call);
	chunk_reader_count(call->reader, &rows, &bytes);
	counted[0] = Int64GetDatum((int64) rows);
	counted[1] = Int64GetDatum((int64) bytes);
	kept_result_set(&last_read, call->role, counted);

	/*
	 * Release all resources now: if a query calls the function for each of
	 * its rows, the expression context is shut down only at its end.
	 */
	UnregisterExprContextCallback(rsinfo->econtext, end_read_call,
								  PointerGetDatum(call));
	end_read_call(PointerGetDatum(call));
	SRF_RETURN_DONE(funcctx);
}

/*
 * pg_pardump_last_read(OUT rows bigint, OUT bytes bigint)
 *
 * This is for clients that receive compressed blocks, and do not decompress
 * them to count their rows.
 */
Datum
pg_pardump_last_read(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(kept_result_row(fcinfo, &last_read));
}
