/*-------------------------------------------------------------------------
 *
 * index_build.c
 *	  Builds new btree indexes in place of the server.
 *
 * Only the function that fills a new index with its table's rows is replaced,
 * for one index and one call.  Catalogs, locks, privileges, the identity of
 * the table's owner, statistics and indcheckxmin stay the server's.
 *
 * It relies on these lines of index_create() and index_build()
 * (src/backend/catalog/index.c), which are the same in 15 to 18:
 *
 *		InvokeObjectPostCreateHookArg(RelationRelationId,
 *									  indexRelationId, 0, is_internal);
 *		CommandCounterIncrement();
 *		...
 *		stats = indexRelation->rd_indam->ambuild(heapRelation,
 *												 indexRelation, indexInfo);
 *
 * and on RelationInitIndexAccessInfo() (src/backend/utils/cache/relcache.c),
 * which gives each index's entry an IndexAmRoutine of its own.  The entry has
 * that only after the CommandCounterIncrement(), as the catalog rows of the
 * index are not visible before.  So the hook calls that function itself,
 * which leaves nothing to do for the server's call, and sets the pointer.
 *
 * A callback on relcache invalidations would see the entry, too, but it is
 * called for every invalidation, and the server has places for ten in all,
 * beyond which loading a library ends the session.  To replace CREATE INDEX
 * itself would mean to repeat what ALTER TABLE does around it, and an access
 * method of ours would be needed as long as the index exists.  Since 19 the
 * routines are shared and constant: builds are the server's there.
 *
 * The pointer may outlive the call that it was set for: REINDEX, TRUNCATE,
 * CLUSTER, ALTER TABLE and ON COMMIT DELETE ROWS rebuild an index of the same
 * transaction.  So it is restored at the first call, before anything else,
 * and a call is only taken if it is the one that the hook waits for: nothing
 * may have been written to the catalogs since.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/server_compat.h"
#include "index/index_build.h"

static uint64 n_builds = 0;

uint64
index_build_count(void)
{
	return n_builds;
}

#ifdef PARDUMP_FAST_INDEX

#include "access/nbtree.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "index/entry_store.h"
#include "index/heap_entries.h"
#include "index/index_key.h"
#include "index/tree_writer.h"

const char *
index_build_unsupported(void)
{
	return NULL;
}

/* ----------
 * Builds an index.
 * ----------
 */

typedef struct FastBuild
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	IndexKey	key;
	EntryStore *store;
	HeapEntries read;
} FastBuild;

/* Say, at DEBUG1, who has built an index, for those who wonder. */
static void
report_build(Relation index, const char *reason)
{
	if (reason == NULL)
		ereport(DEBUG1,
				(errmsg_internal("index \"%s\" is built by pg_pardump",
								 RelationGetRelationName(index))));
	else
		ereport(DEBUG1,
				(errmsg_internal("index \"%s\" is left to the server: %s",
								 RelationGetRelationName(index), reason)));
}

/*
 * Read the table.  Up to the end of this nothing has been written, so that
 * the server can still build the index, if a reason is returned.
 */
static const char *
read_table(FastBuild *build)
{
	const char *reason = index_key_init(&build->key, build->heap,
										build->index, build->info);

	if (reason != NULL)
		return reason;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);
	build->store = entry_store_new(&build->key, maintenance_work_mem);
	return heap_entries_read(build->heap, &build->key, build->store,
							 &build->read);
}

/* Sort the entries and write the index. */
static void
write_index(FastBuild *build)
{
	const int	counts[] = {PROGRESS_CREATEIDX_TUPLES_TOTAL,
	PROGRESS_SCAN_BLOCKS_TOTAL, PROGRESS_SCAN_BLOCKS_DONE};
	const int64 values[] = {build->read.n, 0, 0};
	TreeWriter *writer;
	const uint64 *entry;

	pgstat_progress_update_multi_param(3, counts, values);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_PERFORMSORT_1);
	entry_store_sort(build->store);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_LEAF_LOAD);
	writer = tree_writer_new(build->heap, build->index, build->info,
							 &build->key);
	while ((entry = entry_store_next(build->store)) != NULL)
		tree_writer_add(writer, entry);
	tree_writer_finish(writer, &build->read);
}

/*
 * Build the index, or return why the server has to.  Sets the number of rows.
 */
static const char *
build_index(Relation heap, Relation index, IndexInfo *info, double *n_rows)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_pardump index build",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	FastBuild  *build = palloc0(sizeof(FastBuild));
	const char *reason;

	build->heap = heap;
	build->index = index;
	build->info = info;
	reason = read_table(build);
	if (reason == NULL)
		write_index(build);
	*n_rows = build->read.n;
	if (build->store != NULL)
		entry_store_free(build->store);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return reason;
}

/* ----------
 * Takes the build of a new index over from the server.
 * ----------
 */

/* A new index whose build is about to begin. */
typedef struct ExpectedBuild
{
	Oid			index;			/* InvalidOid for none */
	Oid			file;			/* its relfilenode */
	const IndexAmRoutine *routines;
	SubTransactionId subtransaction;
	CommandId	command;
} ExpectedBuild;

static ExpectedBuild expected;
static IndexBuildModeFunction ask_mode;
static object_access_hook_type previous_hook = NULL;

/* Is this the very call that the hook has prepared? */
static bool
is_expected(const ExpectedBuild *build, Relation index)
{
	return build->index == RelationGetRelid(index) &&
		build->file == index->rd_rel->relfilenode &&
		build->routines == index->rd_indam &&
		build->subtransaction == GetCurrentSubTransactionId() &&
		build->command == GetCurrentCommandId(false) &&
		index->rd_createSubid == build->subtransaction &&
		!ReindexIsProcessingIndex(RelationGetRelid(index)) &&
		RelationGetNumberOfBlocks(index) == 0;
}

/* An access method's ambuild. */
static IndexBuildResult *
index_build_fast(Relation heap, Relation index, IndexInfo *info)
{
	ExpectedBuild build = expected;
	IndexBuildResult *result;
	const char *reason = NULL;
	double		n_rows = 0;

	/* one replacement serves one build */
	expected.index = InvalidOid;
	if (index->rd_indam->ambuild == index_build_fast)
		index->rd_indam->ambuild = btbuild;
	else
		reason = "another library builds it";

	if (reason == NULL && !is_expected(&build, index))
		reason = "it was not created by this command";
	if (reason == NULL && ask_mode(&reason) == INDEX_BUILD_SERVER)
		reason = "it is switched off";
	if (reason == NULL)
		reason = build_index(heap, index, info, &n_rows);
	report_build(index, reason);
	if (reason != NULL)
		return btbuild(heap, index, info);

	n_builds++;
	result = palloc0(sizeof(IndexBuildResult));
	result->heap_tuples = n_rows;
	result->index_tuples = n_rows;
	return result;
}

/* Have us build an index that is being created, if it is a btree. */
static void
expect_build(Relation index)
{
	if (index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_rel->relam != BTREE_AM_OID || IsSystemRelation(index))
		return;
	CommandCounterIncrement();

	/* one that is built concurrently is not ready, and is not built now */
	if (index->rd_indam == NULL || index->rd_indam->ambuild != btbuild ||
		!index->rd_index->indisready)
		return;
	expected.index = RelationGetRelid(index);
	expected.file = index->rd_rel->relfilenode;
	expected.routines = index->rd_indam;
	expected.subtransaction = GetCurrentSubTransactionId();
	expected.command = GetCurrentCommandId(false);
	index->rd_indam->ambuild = index_build_fast;
}

static void
look_at_new_object(ObjectAccessType access, Oid class, Oid object,
				   int sub_object, void *arg)
{
	const char *reason = NULL;
	Relation	rel;

	if (previous_hook != NULL)
		previous_hook(access, class, object, sub_object, arg);

	/* indexes of the server's own, as when it rebuilds a table, are left */
	if (access != OAT_POST_CREATE || class != RelationRelationId ||
		sub_object != 0 ||
		(arg != NULL && ((ObjectAccessPostCreate *) arg)->is_internal) ||
		!IsNormalProcessingMode() || IsInParallelMode() ||
		ask_mode(&reason) == INDEX_BUILD_SERVER)
		return;
	rel = RelationIdGetRelation(object);
	if (rel == NULL)
		return;
	expect_build(rel);
	RelationClose(rel);
}

/* What was expected in a transaction or subtransaction ends with it. */
static void
end_transaction(XactEvent event, void *arg)
{
	expected.index = InvalidOid;
}

static void
end_subtransaction(SubXactEvent event, SubTransactionId id,
				   SubTransactionId parent, void *arg)
{
	expected.index = InvalidOid;
}

void
index_build_install(IndexBuildModeFunction mode)
{
	/* hooks cannot be removed: the library stays loaded */
	ask_mode = mode;
	previous_hook = object_access_hook;
	object_access_hook = look_at_new_object;
	RegisterXactCallback(end_transaction, NULL);
	RegisterSubXactCallback(end_subtransaction, NULL);
}

#else							/* PARDUMP_FAST_INDEX */

const char *
index_build_unsupported(void)
{
	return "this release's access methods cannot be replaced";
}

void
index_build_install(IndexBuildModeFunction mode)
{
}

#endif							/* PARDUMP_FAST_INDEX */
