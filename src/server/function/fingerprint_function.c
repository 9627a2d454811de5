/*-------------------------------------------------------------------------
 *
 * fingerprint_function.c
 *	  The SQL functions pg_pardump_fingerprint() and pg_pardump_definition():
 *	  whether a chunk would be dumped as it was before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "fingerprint/definition.h"
#include "fingerprint/range_check.h"
#include "function/argument.h"
#include "function/key_argument.h"
#include "function/range_argument.h"
#include "function/relation_access.h"

PG_FUNCTION_INFO_V1(pg_pardump_fingerprint);
PG_FUNCTION_INFO_V1(pg_pardump_definition);

void
key_argument_read(FunctionCallInfo fcinfo, int key_no, int algorithm_no,
				  KeyArgument *argument)
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
	if (!keyed_hash_parse(name, &argument->algorithm))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fingerprint algorithm \"%s\" not recognized", name),
				 errhint("The algorithms are poly1305 and sha256.")));
	argument->key = (const unsigned char *) VARDATA_ANY(key);
}

static HeapTuple
result_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return heap_form_tuple(tupdesc, values, nulls);
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
	RangeArgument range;
	KeyArgument key;
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
	fingerprint = range_fingerprint_new(key.algorithm, key.key, range.start);
	check = range_check(range.rel, GetActiveSnapshot(), range.attnums,
						range.n_attnums, range.start, range.end, fingerprint,
						expected);
	values[0] = PointerGetDatum(check.fingerprint);
	nulls[0] = check.fingerprint == NULL;
	values[1] = PointerGetDatum(check.first);
	values[2] = Int64GetDatum((int64) check.rows);
	range_fingerprint_free(fingerprint);
	relation_close(range.rel, NoLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(result_row(fcinfo, values, nulls)));
}

/*
 * pg_pardump_definition(relation regclass, columns name[],
 *						 OUT definition bytea, OUT reason text)
 */
Datum
pg_pardump_definition(PG_FUNCTION_ARGS)
{
	RangeArgument argument;
	const char *reason;
	bytea	   *definition;
	Datum		values[2];
	bool		nulls[2] = {0};

	column_argument_open(fcinfo, &argument);
	definition = table_definition(argument.rel, argument.attnums,
								  argument.n_attnums, &reason);
	nulls[0] = definition == NULL;
	nulls[1] = definition != NULL;
	values[0] = PointerGetDatum(definition);
	values[1] = definition ? (Datum) 0 : CStringGetTextDatum(reason);
	relation_close(argument.rel, NoLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(result_row(fcinfo, values, nulls)));
}
