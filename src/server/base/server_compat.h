/*-------------------------------------------------------------------------
 *
 * server_compat.h
 *	  What differs between the PostgreSQL majors (14 to 19) that the server
 *	  extension is built for; no other server file tests a version.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_SERVER_COMPAT_H
#define PARDUMP_SERVER_COMPAT_H

#include "access/genam.h"
#include "access/toast_internals.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_namespace.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/tuplestore.h"

#if PG_VERSION_NUM < 140000
#error "pg_pardump's extension needs PostgreSQL 14 or later"
#endif

/* Streams of blocks that are read ahead came with 17. */
#if PG_VERSION_NUM >= 170000
#define PARDUMP_READ_STREAMS
#include "storage/read_stream.h"
#endif

/* Until 16 pages could be pruned of what an old snapshot sees. */
#if PG_VERSION_NUM >= 170000
#define TestForOldSnapshot(snapshot, relation, page) ((void) 0)
#endif

/* The snapshot of TOAST tables, which 18 keeps somewhere itself. */
static inline Snapshot
toast_snapshot(SnapshotData *space)
{
#if PG_VERSION_NUM >= 180000
	return get_toast_snapshot();
#else
	init_toast_snapshot(space);
	return space;
#endif
}

/*
 * An index scan without order-bys; 18 has a place for statistics, and 19 has
 * flags, of which none is asked for.
 */
static inline IndexScanDesc
begin_index_scan(Relation heap_rel, Relation index_rel, Snapshot snapshot,
				 int n_keys)
{
#if PG_VERSION_NUM >= 190000
	return index_beginscan(heap_rel, index_rel, snapshot, NULL, n_keys, 0, 0);
#elif PG_VERSION_NUM >= 180000
	return index_beginscan(heap_rel, index_rel, snapshot, NULL, n_keys, 0);
#else
	return index_beginscan(heap_rel, index_rel, snapshot, n_keys, 0);
#endif
}

/* One function checks privileges on all kinds of objects since 16. */
static inline AclResult
schema_aclcheck(Oid schema, Oid role, AclMode mode)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(NamespaceRelationId, schema, role, mode);
#else
	return pg_namespace_aclcheck(schema, role, mode);
#endif
}

/* Virtual generated columns came with 18. */
#ifndef ATTRIBUTE_GENERATED_VIRTUAL
#define ATTRIBUTE_GENERATED_VIRTUAL 'v'
#endif

/*
 * InitMaterializedSRF() came with 15.1.  Its flags are tested rather than the
 * version, because 15.0 had the function under another name.  This is the
 * same work for a function whose result type is declared in its CREATE
 * FUNCTION (src/backend/utils/fmgr/funcapi.c); "flags" must be 0.
 */
#ifndef MAT_SRF_USE_EXPECTED_DESC
static inline void
InitMaterializedSRF(FunctionCallInfo fcinfo, uint32 flags)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext old_context;
	TupleDesc	tupdesc;
	bool		random_access;

	Assert(flags == 0);

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	if (!(rsinfo->allowedModes & SFRM_Materialize))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("materialize mode required, but it is not allowed in this context")));

	old_context = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	random_access = (rsinfo->allowedModes & SFRM_Materialize_Random) != 0;
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setResult = tuplestore_begin_heap(random_access, false, work_mem);
	rsinfo->setDesc = tupdesc;
	MemoryContextSwitchTo(old_context);
}
#endif

#endif							/* PARDUMP_SERVER_COMPAT_H */
