/*-------------------------------------------------------------------------
 *
 * read_function.c
 *	  The SQL function pg_pardump_read(): a chunk as a set of bytea values,
 *	  and pg_pardump_last_read(), which tells how much that was.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/server_compat.h"
#include "bytes/kept_memory.h"
#include "function/argument.h"
#include "function/relation_access.h"
#include "read/chunk_reader.h"

PG_FUNCTION_INFO_V1(pg_pardump_read);
PG_FUNCTION_INFO_V1(pg_pardump_last_read);

/* Of the session: what its last call of pg_pardump_read() came to. */
static struct
{
	bool		complete;
	uint64		rows;
	uint64		bytes;
}			last_read;

/* One call's state, in the function's multi-call context. */
typedef struct ReadCall
{
	Relation	rel;
	Snapshot	snapshot;
	ChunkReader *reader;
} ReadCall;

/* Release what outlives the memory context: also when a query stops early. */
static void
end_read_call(Datum arg)
{
	ReadCall   *call = (ReadCall *) DatumGetPointer(arg);

	chunk_reader_free(call->reader);
	UnregisterSnapshot(call->snapshot);
	relation_close(call->rel, NoLock);
}

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

/* "auto", which is for raw tuples alone: compress what is worth it. */
static CompressSpec
read_compression(text * arg, RowFormat format, bool *chooses_blocks)
{
	char	   *name = text_to_cstring(arg);
	CompressSpec spec;
	char		error[COMPRESS_SPEC_ERROR_BYTES];

	*chooses_blocks = format == ROW_RAW && strcmp(name, "auto") == 0;
	if (!compress_spec_parse(*chooses_blocks ? "lz4" : name, &spec, error))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid compression specification: %s", error)));
	if (format == ROW_RAW && spec.method == COMPRESS_GZIP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("raw format cannot be compressed with \"gzip\""),
				 errhint("Its compressions are none, lz4, zstd and auto.")));
	return spec;
}

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
	BlockNumber start;
	BlockNumber end = InvalidBlockNumber;
	CompressSpec compress;
	bool		chooses_blocks;
	RowFormat	format;
	AttrNumber *attnums;
	int			n_attnums;

	check_not_null(fcinfo, 0, "relation");
	check_not_null(fcinfo, 1, "columns");
	check_not_null(fcinfo, 2, "start block");
	check_not_null(fcinfo, 4, "compression");
	check_not_null(fcinfo, 5, "format");
	start = check_block(PG_GETARG_INT64(2), "start block");
	if (!PG_ARGISNULL(3))
		end = check_block(PG_GETARG_INT64(3), "end block");
	format = read_format(PG_GETARG_TEXT_PP(5));
	compress = read_compression(PG_GETARG_TEXT_PP(4), format, &chooses_blocks);

	/*
	 * Columns are looked up once the relation is locked, so that they stay
	 * what they are, and privileges on them once they are known.
	 */
	call->rel = relation_open_for_reading(PG_GETARG_OID(0));
	if (call->rel->rd_tableam != GetHeapamTableAmRoutine())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the access method of table \"%s\" is not heap",
						RelationGetRelationName(call->rel)),
				 errhint("Read the table by COPY.")));
	attnums = read_columns(call->rel, PG_GETARG_ARRAYTYPE_P(1), &n_attnums);
	relation_check_readable(call->rel, attnums, n_attnums);
	/* a row of the binary format has their number in 16 bits */
	if (format == ROW_BINARY && n_attnums > PG_INT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot read more than %d columns in binary format",
						PG_INT16_MAX)));

	/* the active snapshot may be popped between two calls */
	call->snapshot = RegisterSnapshot(GetActiveSnapshot());
	call->reader = chunk_reader_new(call->rel, call->snapshot, attnums,
									n_attnums, start, end, format, &compress);
	if (chooses_blocks)
		chunk_reader_choose_blocks(call->reader);
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
	MemoryContext old_context;

	if (SRF_IS_FIRSTCALL())
	{
		funcctx = SRF_FIRSTCALL_INIT();
		old_context = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		last_read.complete = false;
		kept_memory_begin();
		call = begin_read_call(fcinfo);
		funcctx->user_fctx = call;
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

	chunk_reader_count(call->reader, &last_read.rows, &last_read.bytes);
	last_read.complete = true;
	UnregisterExprContextCallback(rsinfo->econtext, end_read_call,
								  PointerGetDatum(call));
	end_read_call(PointerGetDatum(call));
	SRF_RETURN_DONE(funcctx);
}

/*
 * pg_pardump_last_read(OUT rows bigint, OUT bytes bigint)
 *
 * Who reads compressed blocks cannot count rows in them.
 */
Datum
pg_pardump_last_read(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc;
	Datum		values[2];
	bool		nulls[2];

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum((int64) last_read.rows);
	values[1] = Int64GetDatum((int64) last_read.bytes);
	nulls[0] = nulls[1] = !last_read.complete;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}
