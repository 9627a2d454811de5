/*-------------------------------------------------------------------------
 *
 * range_argument.c
 *	  Looks at which columns and blocks of which table a function is to read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/server_compat.h"
#include "function/argument.h"
#include "function/range_argument.h"
#include "function/relation_access.h"

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

void
column_argument_open(FunctionCallInfo fcinfo, RangeArgument *argument)
{
	check_not_null(fcinfo, 0, "relation");
	check_not_null(fcinfo, 1, "columns");

	/*
	 * Columns are looked up once the relation is locked, so that they stay
	 * what they are, and privileges on them once they are known.
	 */
	argument->rel = relation_open_for_reading(PG_GETARG_OID(0));
	if (argument->rel->rd_tableam != GetHeapamTableAmRoutine())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the access method of table \"%s\" is not heap",
						RelationGetRelationName(argument->rel)),
				 errhint("Read the table by COPY.")));
	argument->attnums = read_columns(argument->rel, PG_GETARG_ARRAYTYPE_P(1),
									 &argument->n_attnums);
	relation_check_readable(argument->rel, argument->attnums,
							argument->n_attnums);
}

void
range_argument_open(FunctionCallInfo fcinfo, RangeArgument *argument)
{
	check_not_null(fcinfo, 2, "start block");
	argument->start = check_block(PG_GETARG_INT64(2), "start block");
	argument->end = PG_ARGISNULL(3) ? InvalidBlockNumber :
		check_block(PG_GETARG_INT64(3), "end block");
	column_argument_open(fcinfo, argument);
}
