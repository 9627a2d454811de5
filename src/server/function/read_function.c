/*-------------------------------------------------------------------------
 *
 * read_function.c
 *	  The SQL functions that read columns of a block range: pg_pardump_read(),
 *	  a chunk as a set of bytea values, and those for fingerprints.
 *
 * Their first arguments are the same: a relation, columns, and mostly a range
 * of blocks.  pg_pardump_fingerprint() and pg_pardump_definition() show
 * whether a chunk would be dumped as it was before.  A session that has
 * called pg_pardump_fingerprint_reads() gets fingerprints of what it reads,
 * too.  pg_pardump_last_read() and pg_pardump_last_fingerprint() return what
 * the last read came to.
 *
 * Between its calls pg_pardump_read() holds:
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
 * What happens to them:
 *
 * event								| effect
 * -------------------------------------+-----------------------------------
 * a subtransaction that is younger		| none, since the portal is older;
 *	 than the portal is rolled back		| heap_check_lasts() refuses a file
 *										| that would be removed
 * an older one is rolled back			| the portal is dropped: see below
 * the portal is dropped in an aborted	| the callback frees the codec, the
 *	 transaction						| resource owner releases the rest
 * commit, the cursor is WITH HOLD		| the server reads all rows first
 * 1,000 cursors are open				| 1,000 times the above; too many pins
 *										| are an error of the session ("no
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
 * The first arguments of the functions: columns and blocks of a table.
 * ----------
 */

/* Look the columns up; their number goes to *n_attnums. */
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

		/*
		 * zero for a dropped or missing column, negative for a system column
		 */
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

/* A block number, or the one behind the last that there can be. */
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
 * From arguments 0 and 1: relation regclass, columns name[].  Opens and locks
 * (ACCESS SHARE) the relation; raises an error unless it is a table of heap,
 * has these columns, stored ones, and the current user may read them in all
 * rows.  Blocks are left as they are.  Allocates in CurrentMemoryContext.
 */
static void
column_argument_open(FunctionCallInfo fcinfo, HeapRange *argument)
{
	check_not_null(fcinfo, 0, "relation");
	check_not_null(fcinfo, 1, "columns");

	/*
	 * Columns are looked up once the relation is locked, so that they stay
	 * what they are, and privileges on them once they are known.
	 */
	argument->rel = relation_open_for_reading(PG_GETARG_OID(0));
	/* pages of another access method have another form */
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

/* With arguments 2 and 3: start_block bigint, end_block bigint or NULL. */
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
 * The SQL functions pg_pardump_fingerprint() and pg_pardump_definition():
 * whether a chunk would be dumped as it was before.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_fingerprint);
PG_FUNCTION_INFO_V1(pg_pardump_definition);

/*
 * From arguments "key_no" (bytea) and "algorithm_no" (text), which must not
 * be NULL; another length or name is an error (22023).
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
 * No fingerprint if the first part's is not the one expected.
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
				 errdetail("A fingerprint takes the SELECT privilege on all columns.")));
	/* memory of this call, which the caller resets for the next row */
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
 * The SQL functions pg_pardump_fingerprint_reads(), by which a session
 * wants fingerprints, and pg_pardump_last_fingerprint().
 *
 * The key is the session's rather than an argument of pg_pardump_read(),
 * which is called by COPY, without parameters: the key would be visible in
 * logs of statements and in pg_stat_activity.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_fingerprint_reads);
PG_FUNCTION_INFO_V1(pg_pardump_last_fingerprint);

/* Of the session, and not of a transaction: a rollback leaves them. */
static bool has_session_key;
static FingerprintKey session_key;

/* Of the last read: fingerprint, first fingerprint, definition. */
static KeptResult last_fingerprint = {.n_values = 3,.typlen = -1};

/* One call of pg_pardump_read(), in the function's multi-call context. */
typedef struct ReadCall
{
	Oid			role;			/* that may read the table */
	HeapRange	range;
	Snapshot	snapshot;
	ChunkReader *reader;
	RangeFingerprint *fingerprint;	/* NULL if there is none */
	bytea	   *definition;		/* before the first row; with the former */
} ReadCall;

/*
 * Begin a fingerprint, of no rows yet, for a read as text, with the
 * definition of now: to be called before anything is learned of the columns'
 * types.  There is none if the session has given no key, the columns have no
 * definition, or the current user may read some columns only.
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
 * All rows were read: keep the fingerprint for pg_pardump_last_fingerprint()
 * and this role, unless the definition has changed since they began, as types
 * may, which are not locked.
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
 * From now on, or no more if the key is NULL.
 */
Datum
pg_pardump_fingerprint_reads(PG_FUNCTION_ARGS)
{
	/* if the new key is an error, there is none */
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
 * The SQL function pg_pardump_read(): a chunk as a set of bytea values,
 * and pg_pardump_last_read(), which returns how much that was.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_read);
PG_FUNCTION_INFO_V1(pg_pardump_last_read);

/* Of the last read, once it was complete: rows and bytes. */
static KeptResult last_read = {
	.n_values = 2,.typlen = sizeof(int64),.typbyval = FLOAT8PASSBYVAL
};

/* Release what outlives the memory context: also when a query stops early. */
static void
end_read_call(Datum arg)
{
	ReadCall   *call = (ReadCall *) DatumGetPointer(arg);

	/*
	 * In the reverse order of begin_read_call().  The lock on the table is
	 * kept up to the end of the transaction, so that the ranges that the
	 * client has yet to read stay what they are.
	 */
	chunk_reader_free(call->reader);
	UnregisterSnapshot(call->snapshot);
	relation_close(call->range.rel, NoLock);
}

/* "auto", which is for raw tuples alone: compress what is worth it. */
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
				 errhint("Its compressions are none, lz4, zstd and auto.")));
}

/* "text" and "binary" are COPY's formats, "raw" that of read/raw_block.h. */
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

/* Check all arguments and open what is to be read. */
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
	/* a row of the binary format has their number in 16 bits */
	if (format.format == ROW_BINARY && range->n_attnums > PG_INT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot read more than %d columns in binary format",
						PG_INT16_MAX)));

	/* the active snapshot may be popped between two calls */
	call->snapshot = RegisterSnapshot(GetActiveSnapshot());
	/* before the reader, which keeps properties of types */
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
 * One value a call: nothing is gathered.
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
		/* what is kept of an earlier read must not be taken for this one's */
		kept_result_forget(&last_read);
		kept_result_forget(&last_fingerprint);
		kept_memory_begin();
		call = begin_read_call(fcinfo);
		funcctx->user_fctx = call;

		/*
		 * Called before the callback of SRF_FIRSTCALL_INIT(), which deletes
		 * the context: ShutdownExprContext() calls the last one first.
		 */
		RegisterExprContextCallback(rsinfo->econtext, end_read_call,
									PointerGetDatum(call));
		MemoryContextSwitchTo(old_context);
	}

	funcctx = SRF_PERCALL_SETUP();
	call = funcctx->user_fctx;

	/* the reader lives in the multi-call context, its rows in their own */
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
	 * The expression context may live on, for a query that calls the function
	 * for each of its rows; what the call holds must not.
	 */
	UnregisterExprContextCallback(rsinfo->econtext, end_read_call,
								  PointerGetDatum(call));
	end_read_call(PointerGetDatum(call));
	SRF_RETURN_DONE(funcctx);
}

/*
 * pg_pardump_last_read(OUT rows bigint, OUT bytes bigint)
 *
 * A client that receives compressed blocks cannot count the rows in them.
 */
Datum
pg_pardump_last_read(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(kept_result_row(fcinfo, &last_read));
}
