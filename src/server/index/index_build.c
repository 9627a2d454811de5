/*-------------------------------------------------------------------------
 *
 * index_build.c
 *	  Builds new btree indexes in place of the server.
 *
 * The server calls look_at_new_object() for each new object, and
 * index_build_fast() for each new btree index.  This file only replaces the
 * function that fills a new index with the rows of its table (ambuild), for
 * one index and one call.  The server still does everything else: catalogs,
 * locks, privileges, the switch to the table's owner, statistics and
 * indcheckxmin.
 *
 * The replacement relies on these lines of index_create() and index_build()
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
 * which gives the relcache entry of each index its own IndexAmRoutine.  The
 * entry has this struct only after the CommandCounterIncrement(), as the
 * catalog rows of the index are not visible before.  So the hook calls
 * CommandCounterIncrement() itself, after which the server's call has nothing
 * to do, and sets the pointer in the struct.
 *
 * Other ways were rejected:
 *
 * - A callback on relcache invalidations would see the entry, too.  But it is
 * called for every invalidation, and the server has ten slots for such
 * callbacks in all; if none is left, loading the library ends the session.
 *
 * - To replace the command CREATE INDEX, everything that ALTER TABLE does
 * around the creation of an index would have to be repeated, too.
 *
 * - An access method of the extension would be needed as long as the index
 * exists.
 *
 * Since 19 the structs are constants that all indexes share, so the server
 * builds all indexes there.
 *
 * The changed pointer may still be there after the call for which it was set:
 * REINDEX, TRUNCATE, CLUSTER, ALTER TABLE and ON COMMIT DELETE ROWS rebuild
 * an index that was created in the same transaction.  So the first call
 * restores the pointer before anything else.  It builds the index only if it
 * is the call that the hook has prepared, with nothing written to the
 * catalogs since then.
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
#include "index/parallel_build.h"
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
	ParallelBuild *parallel;	/* NULL without workers */
	EntryStore *store;
	HeapEntries read;
} FastBuild;

/* Report at DEBUG1 who builds an index, and why if that is the server. */
static void
report_build(Relation index, const char *reason)
{
	if (reason == NULL)
		ereport(DEBUG1,
				(errmsg_internal("index \"%s\" is built by pg_pardump",
								 RelationGetRelationName(index))));
	else
		ereport(DEBUG1,
				(errmsg_internal("index \"%s\" is built by the server: %s",
								 RelationGetRelationName(index), reason)));
}

/*
 * Read the table.  Returns NULL, or why the server has to build the index.
 * This is still possible, as nothing has been written up to the end of this
 * function.
 */
static const char *
read_table(FastBuild *build)
{
	const char *reason = index_key_init(&build->key, build->heap,
										build->index, build->info);
	int			n_workers = build->info->ii_ParallelWorkers;

	if (reason != NULL)
		return reason;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);
	if (n_workers > 0)
		build->parallel = parallel_build_begin(build->heap, &build->key,
											   n_workers);
	if (build->parallel == NULL)
	{
		build->store = entry_store_new(&build->key, maintenance_work_mem);
		return heap_entries_read(build->heap, &build->key, build->store, NULL,
								 &build->read);
	}

	/* all processes share the memory, as in the server's builds */
	n_workers = parallel_build_workers(build->parallel);
	build->store = entry_store_new(&build->key,
								   maintenance_work_mem / (n_workers + 1));
	return parallel_build_read(build->parallel, build->store, &build->read);
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
 * Build the index and set the number of its rows.  Returns false if the
 * server has to build it.
 */
static bool
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
	report_build(index, reason);
	if (build->parallel != NULL)
		parallel_build_end(build->parallel);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return reason == NULL;
}

/* ----------
 * Takes the build of a new index over from the server.
 * ----------
 */

/*
 * A new index whose build is about to begin, and the state of the session at
 * that moment, by which is_expected() recognizes the call.
 */
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

/*
 * Is this the call that the hook has prepared?
 *
 * The index, its file and its relcache entry must be the same: TRUNCATE and
 * CLUSTER, for example, build the index in a new file.  The command ID must
 * be the same, so that nothing was written to the catalogs since then.  A
 * REINDEX of the index is another call, too.
 */
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

/*
 * The ambuild function of a new index.  It restores the access method's own
 * function and then builds the index, or lets that function build it.
 */
static IndexBuildResult *
index_build_fast(Relation heap, Relation index, IndexInfo *info)
{
	ExpectedBuild build = expected;
	IndexBuildResult *result;
	const char *reason = NULL;
	double		n_rows = 0;

	/* each replacement is for one build only */
	expected.index = InvalidOid;
	if (index->rd_indam->ambuild == index_build_fast)
		index->rd_indam->ambuild = btbuild;
	else
		reason = "another library builds it";

	if (reason == NULL && !is_expected(&build, index))
		reason = "it was not created by this command";
	if (reason == NULL && ask_mode(&reason) == INDEX_BUILD_SERVER)
		reason = "fast index builds are disabled";
	if (reason != NULL)
		report_build(index, reason);
	if (reason != NULL || !build_index(heap, index, info, &n_rows))
		return btbuild(heap, index, info);

	/* all rows are in the index, as it has no predicate */
	n_builds++;
	result = palloc0(sizeof(IndexBuildResult));
	result->heap_tuples = n_rows;
	result->index_tuples = n_rows;
	return result;
}

/*
 * Replace the build function of an index that is being created, if it is a
 * btree index of a user.
 */
static void
expect_build(Relation index)
{
	if (index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_rel->relam != BTREE_AM_OID || IsSystemRelation(index))
		return;
	CommandCounterIncrement();

	/* an index that is created concurrently is not ready, and built later */
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

/* The object access hook, which the server calls for each new object. */
static void
look_at_new_object(ObjectAccessType access, Oid class, Oid object,
				   int sub_object, void *arg)
{
	const char *reason = NULL;
	Relation	rel;

	if (previous_hook != NULL)
		previous_hook(access, class, object, sub_object, arg);

	/*
	 * indexes that the server creates internally, for example to rebuild a
	 * table, are not replaced
	 */
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

/* A build is expected only up to the end of its (sub)transaction. */
static void
end_transaction(XactEvent event, void *arg)
{
	expected.index = InvalidOid;
}

/* The same for a subtransaction, whether it is committed or not. */
static void
end_subtransaction(SubXactEvent event, SubTransactionId id,
				   SubTransactionId parent, void *arg)
{
	expected.index = InvalidOid;
}

void
index_build_install(IndexBuildModeFunction mode)
{
	/* hooks need not be removed, as the server never unloads a library */
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
