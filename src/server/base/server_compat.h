/*-------------------------------------------------------------------------
 *
 * server_compat.h
 *	  What differs between the PostgreSQL majors (15 to 19) that the server
 *	  extension is built for; no other server file tests a version.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_SERVER_COMPAT_H
#define PARDUMP_SERVER_COMPAT_H

#include "access/genam.h"
#include "access/heapam.h"
#include "access/hio.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace.h"
#include "commands/copyfrom_internal.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "storage/buffile.h"
#include "storage/bufpage.h"
#include "utils/acl.h"
#include "utils/rel.h"

/*
 * Pages are read, and tuples written, by code of ours: a major is listed here
 * only after its heap was examined for that.
 */
#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "pg_pardump's extension is for PostgreSQL 15 to 19"
#endif

/* Streams of blocks that are read ahead came with 17. */
#if PG_VERSION_NUM >= 170000
#define PARDUMP_READ_STREAMS
#include "storage/read_stream.h"
#endif

/* A writer for the pages of new relations came with 17. */
#if PG_VERSION_NUM >= 170000
#define PARDUMP_BULK_WRITE
#endif

/*
 * Index builds of ours: since 19 the routines of an access method are shared
 * and constant, so that builds are left to the server there.
 */
#if PG_VERSION_NUM < 190000
#define PARDUMP_FAST_INDEX
#endif

/* Until 16 pages could be pruned of what an old snapshot sees. */
#if PG_VERSION_NUM >= 170000
#define TestForOldSnapshot(snapshot, relation, page) ((void) 0)
#define old_snapshot_threshold (-1)
#endif

/*
 * The snapshot that TOAST tables are read with.  Up to 17 the caller has the
 * memory for it, since 18 it is a constant of the server.  Both majors raise
 * an error unless a snapshot is registered or active, as nothing else would
 * keep VACUUM from removing the values.
 */
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

/*
 * Add a table to a statement's range table, and raise an error unless the
 * current user may insert these columns into it, as DoCopy() does
 * (src/backend/commands/copy.c).  What is needed stands in a node of its own
 * since 16.
 */
static inline void
check_insert_permissions(ParseState *pstate, Relation rel, List *attnums)
{
	ParseNamespaceItem *item = addRangeTableEntryForRelation(pstate, rel,
															 RowExclusiveLock,
															 NULL, false,
															 false);
#if PG_VERSION_NUM >= 160000
	RTEPermissionInfo *needed = item->p_perminfo;
#else
	RangeTblEntry *needed = item->p_rte;
#endif
	ListCell   *cell;

	needed->requiredPerms = ACL_INSERT;
	foreach(cell, attnums)
		needed->insertedCols =
		bms_add_member(needed->insertedCols,
					   lfirst_int(cell) - FirstLowInvalidHeapAttributeNumber);
#if PG_VERSION_NUM >= 160000
	ExecCheckPermissions(pstate->p_rtable, list_make1(needed), true);
#else
	ExecCheckRTPerms(pstate->p_rtable, true);
#endif
}

/*
 * The expression of the n-th missing column of a COPY that has a default,
 * which is column defmap[n]: they stand by column since 16.
 */
static inline ExprState *
copy_default(CopyFromState cstate, int n)
{
#if PG_VERSION_NUM >= 160000
	return cstate->defexprs[cstate->defmap[n]];
#else
	return cstate->defexprs[n];
#endif
}

/* The range table of COPY, whose only relation nothing can prune (18). */
static inline void
init_copy_range_table(EState *estate, CopyFromState cstate)
{
#if PG_VERSION_NUM >= 180000
	ExecInitRangeTable(estate, cstate->range_table, cstate->rteperminfos,
					   bms_make_singleton(1));
#elif PG_VERSION_NUM >= 160000
	ExecInitRangeTable(estate, cstate->range_table, cstate->rteperminfos);
#else
	ExecInitRangeTable(estate, cstate->range_table);
#endif
}

/*
 * Memory for what the server writes as a ResultRelInfo, of the size that it
 * has there: minor releases have changed that (17.1 had one more field, 17.2
 * put it elsewhere), and ours is that of the headers we were built with.
 */
static inline ResultRelInfo *
new_result_rel_info(void)
{
	ResultRelInfo *target = palloc0(2 * sizeof(ResultRelInfo));

	NodeSetTag(target, T_ResultRelInfo);
	return target;
}

/*
 * Index entries of a new row, in all indexes: 16 can leave out some, 19 has
 * flags for that.
 */
static inline List *
insert_index_entries(ResultRelInfo *target, TupleTableSlot *slot,
					 EState *estate)
{
#if PG_VERSION_NUM >= 190000
	return ExecInsertIndexTuples(target, estate, 0, slot, NIL, NULL);
#elif PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(target, slot, estate, false, false, NULL,
								 NIL, false);
#else
	return ExecInsertIndexTuples(target, slot, estate, false, false, NULL,
								 NIL);
#endif
}

/*
 * client_data_is_there(): Does libpq's buffer hold bytes that the client has
 * sent and that were not read yet?
 *
 * bytes_in_buffer(): How many of the next "len" bytes may be in that buffer?
 * Only pq_getbytes() can read those.  Up to 16 libpq does not reveal how many
 * it holds.
 *
 * These are macros because libpq/libpq.h includes headers that an
 * installation may lack.
 */
#if PG_VERSION_NUM >= 170000
#define client_data_is_there() (pq_buffer_remaining_data() > 0)
#define bytes_in_buffer(len) Min((len), (Size) pq_buffer_remaining_data())
#else
#define client_data_is_there() pq_buffer_has_data()
#define bytes_in_buffer(len) (len)
#endif

/*
 * The pages that a bulk insertion has added to a table and has not used yet,
 * and the number of pages that it has added.  Since 16 it adds many at a
 * time. Up to 15 it adds one, or leaves the rest to the free space map.
 */
typedef struct BulkSpace
{
	BlockNumber next_free;		/* InvalidBlockNumber for none */
	BlockNumber last_free;
	uint32		extended_by;
} BulkSpace;

static inline void
get_bulk_space(BulkInsertState bulk, BulkSpace *space)
{
#if PG_VERSION_NUM >= 160000
	space->next_free = bulk->next_free;
	space->last_free = bulk->last_free;
	space->extended_by = bulk->already_extended_by;
#else
	space->next_free = space->last_free = InvalidBlockNumber;
	space->extended_by = 0;
#endif
}

static inline void
set_bulk_space(BulkInsertState bulk, const BulkSpace *space)
{
#if PG_VERSION_NUM >= 160000
	bulk->next_free = space->next_free;
	bulk->last_free = space->last_free;
	bulk->already_extended_by = space->extended_by;
#endif
}

/* A relation's file was identified by its relfilenode up to 15. */
#if PG_VERSION_NUM < 160000
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#endif

/* Was the relation, or its file, made in this transaction? */
static inline bool
relation_is_new(Relation rel)
{
	return rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
}

/*
 * Was the relation, or the file that it has now, made in the current
 * subtransaction, or in one that has become part of it?
 */
static inline bool
relation_is_of_subtransaction(Relation rel)
{
	SubTransactionId current = GetCurrentSubTransactionId();

	return rel->rd_createSubid == current ||
		rel->rd_newRelfilelocatorSubid == current;
}

/*
 * Would the end of a subtransaction that is open now remove the relation's
 * file, if it is rolled back?  The subtransaction of the last file may be
 * forgotten (utils/rel.h), so in doubt it would.
 */
static inline bool
relation_may_be_rolled_back(Relation rel)
{
	if (GetCurrentTransactionNestLevel() == 1)
		return false;
	return rel->rd_createSubid > TopSubTransactionId ||
		(rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId &&
		 rel->rd_newRelfilelocatorSubid != TopSubTransactionId);
}

/*
 * A descriptor that was put together is complete.  Since 19 it must be said,
 * before tuples are formed or taken apart.
 */
static inline void
finish_tuple_desc(TupleDesc tupdesc)
{
#if PG_VERSION_NUM >= 190000
	TupleDescFinalize(tupdesc);
#endif
}

/* Does the table have generated columns?  Virtual ones came with 18. */
static inline bool
has_generated_columns(const TupleConstr *constr)
{
#if PG_VERSION_NUM >= 180000
	if (constr->has_generated_virtual)
		return true;
#endif
	return constr->has_generated_stored;
}

/* The builtin provider of collations came with 17. */
#ifndef COLLPROVIDER_BUILTIN
#define COLLPROVIDER_BUILTIN 'b'
#endif

/* Virtual generated columns came with 18. */
#ifndef ATTRIBUTE_GENERATED_VIRTUAL
#define ATTRIBUTE_GENERATED_VIRTUAL 'v'
#endif

/*
 * InitMaterializedSRF() came with 15.1.  15.0 has the function under the name
 * SetSingleFuncCall(), which later minor releases of 15 keep for extensions
 * that were built for it.
 */
#if PG_VERSION_NUM < 160000
#define InitMaterializedSRF(fcinfo, flags) SetSingleFuncCall(fcinfo, flags)
#endif

/* What identifies a relation's file on the disk. */
#if PG_VERSION_NUM >= 160000
#define rel_file_of(rel) ((rel)->rd_locator)
#else
#define rel_file_of(rel) ((rel)->rd_node)
#endif

/* Memory for a page to be written: 16 can bypass the kernel's cache. */
static inline Page
new_io_page(void)
{
#if PG_VERSION_NUM >= 160000
	return (Page) palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0);
#else
	return (Page) palloc(BLCKSZ);
#endif
}

/*
 * CREATE INDEX on a table of this session, without a log line, with checks of
 * privileges.  16 counts partitions, 19 has the state of the parser.
 */
static inline Oid
define_index(Oid relid, IndexStmt *statement)
{
#if PG_VERSION_NUM >= 190000
	return DefineIndex(NULL, relid, statement, InvalidOid, InvalidOid,
					   InvalidOid, -1, false, true, true, false,
					   true).objectId;
#elif PG_VERSION_NUM >= 160000
	return DefineIndex(relid, statement, InvalidOid, InvalidOid, InvalidOid,
					   -1, false, true, true, false, true).objectId;
#else
	return DefineIndex(relid, statement, InvalidOid, InvalidOid, InvalidOid,
					   false, true, true, false, true).objectId;
#endif
}

/* Read bytes of a temporary file, and raise an error if it has fewer. */
static inline void
read_buf_file(BufFile *file, void *to, size_t bytes)
{
#if PG_VERSION_NUM >= 160000
	BufFileReadExact(file, to, bytes);
#else
	if (BufFileRead(file, to, bytes) != bytes)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from a temporary file")));
#endif
}

#endif							/* PARDUMP_SERVER_COMPAT_H */
