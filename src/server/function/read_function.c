/*-------------------------------------------------------------------------
 *
 * read_function.c
 *	  The SQL function pg_pardump_read(): a chunk as a set of bytea values,
 *	  and pg_pardump_last_read(), which tells how much that was.
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

#include "access/htup_details.h"
#include "access/relation.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "bytes/kept_memory.h"
#include "function/argument.h"
#include "function/range_argument.h"
#include "function/read_fingerprint.h"
#include "read/chunk_reader.h"

PG_FUNCTION_INFO_V1(pg_pardump_read);
PG_FUNCTION_INFO_V1(pg_pardump_last_read);

/*
 * Of the session: what its last call of pg_pardump_read() came to.  Only the
 * role of that call is told: another may not be allowed to read the table.
 */
static struct
{
	bool		complete;
	Oid			role;
	uint64		rows;
	uint64		bytes;
}			last_read;

/* One call's state, in the function's multi-call context. */
typedef struct ReadCall
{
	Oid			role;			/* that may read the table */
	RangeArgument range;
	Snapshot	snapshot;
	ChunkReader *reader;
	ReadFingerprint *fingerprint;	/* NULL if there is none */
} ReadCall;

/* Release what outlives the memory context: also when a query stops early. */
static void
end_read_call(Datum arg)
{
	ReadCall   *call = (ReadCall *) DatumGetPointer(arg);

	chunk_reader_free(call->reader);
	UnregisterSnapshot(call->snapshot);
	relation_close(call->range.rel, NoLock);
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
	RangeArgument *range = &call->range;
	CompressSpec compress;
	bool		chooses_blocks;
	RowFormat	format;

	check_not_null(fcinfo, 4, "compression");
	check_not_null(fcinfo, 5, "format");
	format = read_format(PG_GETARG_TEXT_PP(5));
	compress = read_compression(PG_GETARG_TEXT_PP(4), format, &chooses_blocks);

	call->role = GetUserId();
	range_argument_open(fcinfo, range);
	/* a row of the binary format has their number in 16 bits */
	if (format == ROW_BINARY && range->n_attnums > PG_INT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot read more than %d columns in binary format",
						PG_INT16_MAX)));

	/* the active snapshot may be popped between two calls */
	call->snapshot = RegisterSnapshot(GetActiveSnapshot());
	/* before the reader, which may keep what it is told of types */
	if (format == ROW_TEXT)
		call->fingerprint = read_fingerprint_begin(range);
	call->reader = chunk_reader_new(range->rel, call->snapshot, range->attnums,
									range->n_attnums, range->start, range->end,
									format, &compress);
	if (chooses_blocks)
		chunk_reader_choose_blocks(call->reader);
	if (call->fingerprint)
		read_fingerprint_watch(call->fingerprint, call->reader);
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
		read_fingerprint_forget();
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
	if (call->fingerprint)
		read_fingerprint_keep(call->fingerprint, &call->range, call->role);
	last_read.complete = true;
	last_read.role = call->role;
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
	nulls[0] = nulls[1] = !last_read.complete ||
		last_read.role != GetUserId();
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}
