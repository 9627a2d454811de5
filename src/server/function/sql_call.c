/*-------------------------------------------------------------------------
 *
 * sql_call.c
 *	  Arguments and results of the SQL functions, and memory that is kept
 *	  between their calls.
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
 * A block is a MiB, and lies in several places at a time: in the buffer it is
 * made in, as a value, as a message.  The server frees these after each
 * block, and the C library then returns memory to the kernel only to ask for
 * fresh pages at once, each of which costs a fault.
 *
 * Longer values are the kernel's again when they are freed.
 */
#define KEPT_ALLOCATION_BYTES	(8 * 1024 * 1024)

/* As much may be free at the heap's end. */
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

	/* OUT parameters: get_call_result_type() has blessed the row type */
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

	/* another cursor may have ended since the one of these values began */
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
	/* GetUserId(): a SECURITY DEFINER function asks as its owner */
	bool		is_hidden = !kept->is_set || kept->role != GetUserId();
	bool		nulls[MAX_KEPT_VALUES] = {is_hidden, is_hidden, is_hidden};

	return result_row(fcinfo, kept->values, nulls);
}
