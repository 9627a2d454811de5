/*-------------------------------------------------------------------------
 *
 * sql_call.c
 *	  Common parts of the SQL functions: arguments, results, and memory that
 *	  is kept between calls.
 *
 * sql_call.h describes the functions, which all files of function/ use.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "function/sql_call.h"

void
check_not_null(FunctionCallInfo fcinfo, int no, const char *what)
{
	if (PG_ARGISNULL(no))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", what)));
}

/*
 * The largest allocation that the C library keeps after it is freed.
 *
 * A block has about 1 MiB, and there are several copies of it at the same
 * time: the buffer in which it is made, a value, and a message.  The server
 * frees these after each block.  By default, the C library then returns their
 * memory to the kernel, and soon needs new pages, each of which takes a page
 * fault.  Longer values are still returned to the kernel.
 */
#define KEPT_ALLOCATION_BYTES	(8 * 1024 * 1024)

/* The free memory that the C library keeps at the end of the heap. */
#define KEPT_BYTES				(16 * 1024 * 1024)

void
kept_memory_begin(void)
{
#ifdef __GLIBC__
	(void) mallopt(M_MMAP_THRESHOLD, KEPT_ALLOCATION_BYTES);
	(void) mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#endif
}

CompressSpec
read_compress_spec(const char *name)
{
	CompressSpec spec;
	char		error[COMPRESS_SPEC_ERROR_BYTES];

	if (!compress_spec_parse(name, &spec, error))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid compression specification: %s", error)));
	return spec;
}

Datum
result_row(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	TupleDesc	tupdesc;

	/* for OUT parameters, get_call_result_type() returns a blessed type */
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(tupdesc, (Datum *) values,
											 (bool *) nulls));
}

void
kept_result_forget(KeptResult *kept)
{
	if (!kept->is_set)
		return;
	kept->is_set = false;
	for (int i = 0; i < kept->n_values && !kept->typbyval; i++)
		pfree(DatumGetPointer(kept->values[i]));
}

void
kept_result_set(KeptResult *kept, Oid role, const Datum *values)
{
	MemoryContext old_context;

	/* another cursor may have set values since the call began */
	kept_result_forget(kept);
	old_context = MemoryContextSwitchTo(TopMemoryContext);
	for (int i = 0; i < kept->n_values; i++)
		kept->values[i] = datumCopy(values[i], kept->typbyval, kept->typlen);
	MemoryContextSwitchTo(old_context);
	kept->role = role;
	kept->is_set = true;
}

Datum
kept_result_row(FunctionCallInfo fcinfo, const KeptResult *kept)
{
	/* in a SECURITY DEFINER function, GetUserId() is its owner */
	bool		is_hidden = !kept->is_set || kept->role != GetUserId();
	bool		nulls[MAX_KEPT_VALUES] = {is_hidden, is_hidden, is_hidden};

	return result_row(fcinfo, kept->values, nulls);
}
