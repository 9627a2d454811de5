/*-------------------------------------------------------------------------
 *
 * load_function.c
 *	  The SQL functions that insert: pg_pardump_fast_copy(), which switches
 *	  COPY FROM on and off, pg_pardump_load_tuples(), which inserts what
 *	  pg_pardump_read() has read in raw format, and pg_pardump_raw_reason(),
 *	  which returns for which tables that cannot be done.  And the module's
 *	  entry point.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "function/sql_call.h"
#include "index/index_command.h"
#include "load/load_copy.h"
#include "load/raw_loader.h"

/* ----------
 * The SQL function pg_pardump_fast_copy(), which loads the library by
 * being called, and switches its COPY FROM on or off.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_fast_copy);

/*
 * pg_pardump_fast_copy(enable boolean)
 *
 * As SET pg_pardump.fast_copy: for the session, and undone if the transaction
 * is.
 */
Datum
pg_pardump_fast_copy(PG_FUNCTION_ARGS)
{
	/* as SET does it, so that a rollback and RESET work as for any setting */
	check_not_null(fcinfo, 0, "enable");
	SetConfigOption(FAST_COPY_SETTING, PG_GETARG_BOOL(0) ? "on" : "off",
					PGC_USERSET, PGC_S_SESSION);
	PG_RETURN_VOID();
}

/* ----------
 * The mark of a module, by which the server refuses one that was built for
 * another major, and the function that it calls after loading the module.
 * ----------
 */

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	load_hook_install();
	index_hook_install();
}

/* ----------
 * The SQL functions pg_pardump_load_tuples(), which inserts what
 * pg_pardump_read() has read in raw format, and pg_pardump_raw_reason(),
 * which says for which tables that can be done.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_load_tuples);
PG_FUNCTION_INFO_V1(pg_pardump_raw_reason);

/* Open and lock a relation, which may be dropped while we wait for it. */
static Relation
open_relation(Oid relid, LOCKMODE lockmode)
{
	Relation	rel = try_relation_open(relid, lockmode);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return rel;
}

/* Open and lock a table that raw tuples can be inserted into. */
static Relation
open_to_load(Oid relid)
{
	Relation	rel = open_relation(relid, RowExclusiveLock);
	const char *reason = raw_loader_reason(rel);

	if (reason != NULL)
		ereport(ERROR,
				(errcode(rel->rd_rel->relkind == RELKIND_RELATION
						 ? ERRCODE_FEATURE_NOT_SUPPORTED
						 : ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot load raw tuples into \"%s\": %s",
						RelationGetRelationName(rel), reason)));
	return rel;
}

/*
 * pg_pardump_load_tuples(relation regclass, block bytea,
 *						  OUT rows bigint, OUT bytes bigint)
 *
 * For superusers alone, even if EXECUTE was granted to others: the values are
 * not checked.
 */
Datum
pg_pardump_load_tuples(PG_FUNCTION_ARGS)
{
	Datum		values[2];
	bool		nulls[2] = {false, false};
	uint64		n_rows;
	uint64		n_bytes;
	Relation	rel;

	/* a forged value could crash the server, or read its memory */
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to load raw tuples")));
	check_not_null(fcinfo, 0, "relation");
	check_not_null(fcinfo, 1, "block");
	PreventCommandIfReadOnly("pg_pardump_load_tuples()");
	PreventCommandIfParallelMode("pg_pardump_load_tuples()");

	kept_memory_begin();
	rel = open_to_load(PG_GETARG_OID(0));
	raw_loader_insert(rel, PG_GETARG_BYTEA_P(1), &n_rows, &n_bytes);
	relation_close(rel, NoLock);

	values[0] = Int64GetDatum((int64) n_rows);
	values[1] = Int64GetDatum((int64) n_bytes);
	PG_RETURN_DATUM(result_row(fcinfo, values, nulls));
}

/* Why a relation cannot be read in raw format, as raw_loader_reason(). */
static const char *
why_not_read(Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_MATVIEW)
		return "it is not a table or materialized view";
	if (rel->rd_tableam != GetHeapamTableAmRoutine())
		return "its access method is not heap";
	return raw_columns_reason(RelationGetDescr(rel));
}

/*
 * pg_pardump_raw_reason(relation regclass, loading boolean)
 *
 * Why it cannot be read in raw format, or raw tuples not be loaded into it:
 * half a sentence; NULL if no reason is found on this server.
 */
Datum
pg_pardump_raw_reason(PG_FUNCTION_ARGS)
{
	Relation	rel;
	const char *reason;

	check_not_null(fcinfo, 0, "relation");
	check_not_null(fcinfo, 1, "loading");
	rel = open_relation(PG_GETARG_OID(0), AccessShareLock);
	reason = PG_GETARG_BOOL(1) ? raw_loader_reason(rel) : why_not_read(rel);
	relation_close(rel, AccessShareLock);
	if (reason == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(reason));
}
