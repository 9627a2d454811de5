/*-------------------------------------------------------------------------
 *
 * load_function.c
 *	  The entry point of the module, and the SQL functions for loading:
 *	  pg_pardump_fast_copy(), pg_pardump_load_tuples() and
 *	  pg_pardump_raw_reason().
 *
 * load/load_copy.c and index/index_compare.c contain the hooks that the entry
 * point installs, and load/raw_loader.c inserts raw tuples; this file checks
 * arguments and privileges.
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
#include "index/index_compare.h"
#include "load/load_copy.h"
#include "load/raw_loader.h"

/* ----------
 * The SQL function pg_pardump_fast_copy(), which lets the extension execute
 * COPY FROM in this session.  Calling it loads the library, too.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_fast_copy);

/*
 * pg_pardump_fast_copy(enable boolean)
 *
 * Does the same as SET pg_pardump.fast_copy: the setting is changed for the
 * session, and a rollback of the transaction restores it.
 */
Datum
pg_pardump_fast_copy(PG_FUNCTION_ARGS)
{
	/* like SET, so that rollback and RESET work as for every setting */
	check_not_null(fcinfo, 0, "enable");
	SetConfigOption(FAST_COPY_SETTING, PG_GETARG_BOOL(0) ? "on" : "off",
					PGC_USERSET, PGC_S_SESSION);
	PG_RETURN_VOID();
}

/* ----------
 * The magic block, by which the server recognizes modules for another major
 * version, and the function that it calls after it has loaded the module.
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
 * The SQL functions pg_pardump_load_tuples(), which inserts raw tuples that
 * pg_pardump_read() has read, and pg_pardump_raw_reason(), which returns why
 * this is not possible for a table.
 * ----------
 */

PG_FUNCTION_INFO_V1(pg_pardump_load_tuples);
PG_FUNCTION_INFO_V1(pg_pardump_raw_reason);

/*
 * Open and lock a relation.  It may be dropped while this waits for the lock,
 * which is an error.
 */
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

/* Open and lock a table into which raw tuples can be inserted. */
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
 * Only superusers can call this, even if EXECUTE was granted to others, as
 * the contents of values are not checked.
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

/*
 * Return why a relation cannot be read in raw format, or NULL, as
 * raw_loader_reason() does for loading.
 */
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
 * Returns why the relation cannot be read in raw format, or why raw tuples
 * cannot be loaded into it: half a sentence, or NULL if there is no reason on
 * this server.
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
