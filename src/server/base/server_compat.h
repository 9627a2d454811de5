/*-------------------------------------------------------------------------
 *
 * server_compat.h
 *	  Hides the differences between the PostgreSQL majors (15 to 19) for which
 *	  the extension is built.
 *
 * All files of the extension that need one of these functions include this
 * header.  No other file of src/server tests the version, so everything that
 * a new major version may change is found here.
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
 * The extension reads pages and forms tuples with its own code.  A major
 * version is added here only after its heap has been compared with that code.
 */
#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "pg_pardump's extension is for PostgreSQL 15 to 19"
#endif

/* Read streams, which read blocks ahead, came with 17. */
#if PG_VERSION_NUM >= 170000
#define PARDUMP_READ_STREAMS
#include "storage/read_stream.h"
#endif

/* The bulk writer for the pages of new relations came with 17. */
#if PG_VERSION_NUM >= 170000
#define PARDUMP_BULK_WRITE
#include "storage/bulk_write.h"
#endif

/*
 * The extension builds indexes up to 18.  To do so, it replaces a function in
 * the IndexAmRoutine of one index.  Since 19 these structs are constants that
 * all indexes share, so the server builds all indexes there.
 */
#if PG_VERSION_NUM < 190000
#define PARDUMP_FAST_INDEX
#endif

/*
 * Up to 16, the setting old_snapshot_threshold let VACUUM and pruning remove
 * rows that an old snapshot still sees.  TestForOldSnapshot() raises an error
 * if this may have happened to a page.
 */
#if PG_VERSION_NUM >= 170000
#define TestForOldSnapshot(snapshot, relation, page) ((void) 0)
#define old_snapshot_threshold (-1)
#endif

/*
 * Return the snapshot with which TOAST tables are read.  Up to 17 it is made
 * in memory of the caller; since 18 it is a constant of the server.  All
 * majors raise an error unless a snapshot is registered or active, as nothing
 * else would keep VACUUM from removing the values.
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
 * Begin an index scan without ORDER BY operators.  18 added an argument for
 * statistics, and 19 added flags; neither is used.
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

/* Since 16, one function checks the privileges on all kinds of objects. */
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
 * (src/backend/commands/copy.c).  Since 16 a node of its own contains the
 * required privileges; before, the range table entry does.
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
 * Return the default expression of the n-th of the columns that a COPY leaves
 * out and that have a default.  The column is defmap[n], which is the index
 * of the expression since 16; before, the index is n.
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

/*
 * Initialize the range table of COPY, which has one relation.  Since 18 the
 * executor must be given the set of relations that were not pruned.
 */
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
 * Allocate a ResultRelInfo that the server will fill in.  The struct may be
 * larger in the running server than in the headers that this was built with,
 * as minor releases have changed it: 17.1 added a field, and 17.2 moved it.
 * So twice the size is allocated.
 */
static inline ResultRelInfo *
new_result_rel_info(void)
{
	ResultRelInfo *target = palloc0(2 * sizeof(ResultRelInfo));

	NodeSetTag(target, T_ResultRelInfo);
	return target;
}

/*
 * Insert the entries of a new row into all indexes.  Since 16 the server can
 * leave out some indexes, and 19 has flags for that; none is left out here.
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
 * client_data_is_there(): Does libpq's buffer contain bytes that the client
 * has sent and that have not been read yet?
 *
 * bytes_in_buffer(): How many of the next "len" bytes may be in that buffer?
 * Only pq_getbytes() can read these bytes.  Up to 16 libpq does not report
 * their number, so all of the bytes may be there.
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
 * and the number of pages that it has added.  Since 16 it adds many pages at
 * a time, and keeps these numbers in the BulkInsertState.  15 adds one page,
 * or enters any further ones into the free space map.
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

/* Up to 15 the identity of a relation's file was named relfilenode. */
#if PG_VERSION_NUM < 160000
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#endif

/* Was the relation, or its file, created in this transaction? */
static inline bool
relation_is_new(Relation rel)
{
	return rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
}

/*
 * Was the relation, or its current file, created in the current
 * subtransaction, or in one that has been committed into it?
 */
static inline bool
relation_is_of_subtransaction(Relation rel)
{
	SubTransactionId current = GetCurrentSubTransactionId();

	return rel->rd_createSubid == current ||
		rel->rd_newRelfilelocatorSubid == current;
}

/*
 * Would a rollback of a subtransaction that is open now remove the relation's
 * file?  The server may forget in which subtransaction the last file was
 * created (utils/rel.h).  In doubt, the result is true.
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
 * Complete a tuple descriptor whose attributes have been filled in.  Since 19
 * this is required before tuples are formed or deformed with it.
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

/* The builtin collation provider came with 17. */
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

/* Return the identity of a relation's file. */
#if PG_VERSION_NUM >= 160000
#define rel_file_of(rel) ((rel)->rd_locator)
#else
#define rel_file_of(rel) ((rel)->rd_node)
#endif

/*
 * Allocate memory for a page that will be written.  Since 16 it must be
 * aligned, as the server may use direct I/O (debug_io_direct).
 */
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
 * Execute a CREATE INDEX on a table of this session, with checks of
 * privileges.  16 added the number of partitions, and 19 the state of the
 * parser; neither is needed for such a table.
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

/*
 * Read this many bytes of a temporary file, and raise an error if fewer are
 * left.  Since 16 a function of the server does this.
 */
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
