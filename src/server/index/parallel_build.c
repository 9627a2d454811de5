/*-------------------------------------------------------------------------
 *
 * parallel_build.c
 *	  Reads the table of a new index with parallel workers.
 *
 * index_build.c calls this if the server would build the index with workers.
 * The number of workers is the server's as well, so its settings, its limits
 * of memory and its rules for small tables apply.
 *
 * The leader and the workers take ranges of blocks until all are taken.  Each
 * of them makes entries of its rows and sorts them in a store of its own.  A
 * worker writes its sorted entries to temporary files and ends.  The leader
 * then merges these files with its own entries and writes all pages, as in a
 * build without workers.  The server's own builds work in the same way
 * (_bt_begin_parallel() in src/backend/access/nbtree/nbtsort.c).
 *
 * The processes take blocks from a counter and not from the server's parallel
 * scan, because that scan may begin in the middle of a table.  Blocks are
 * taken in ascending order, so rows that are in the order of the index are in
 * this order in each process, and are not sorted.
 *
 * Entries are handed over in files and not in shared memory, whose size is
 * limited on many systems: a build must not fail for lack of it.  A file
 * costs little: 16 bytes per row of an int8 column, which usually remain in
 * the kernel's cache.  The leader also reads and sorts until no blocks are
 * left, and its part of the rows is merged from memory, without a file.  So
 * with one worker, only half of the entries are written, and each entry is
 * compared with one other in the merge.  On two processors, a build with one
 * worker takes less time than one without, and about 10 % more CPU time.
 *
 * If a process finds a row that the server has to index, it lets no process
 * take further blocks, and the leader returns the reason.  No page has been
 * written then.  The leader detects everything else: duplicate keys in the
 * merge, and lost or changed entries in tree_writer.c, as the sums of all
 * processes are added.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/server_compat.h"
#include "index/parallel_build.h"

#ifdef PARDUMP_FAST_INDEX

#include <dlfcn.h>

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/sharedfileset.h"
#include "tcop/tcopprot.h"

#define WORKER_MAIN "pg_pardump_build_worker"

/* Keys of the shared memory; the server's own have high numbers. */
#define KEY_BUILD 1
#define KEY_QUERY 2

#define REASON_BYTES 128

/*
 * A worker loads the library from its file.  An upgrade may have replaced
 * that file since the leader loaded it, so both compare these numbers.
 * Increment the version with each change of the shared memory, of the
 * entries, or of their files, unless the sizes change.
 */
#define FORMAT_VERSION 1
#define FORMAT_SIZES (sizeof(SharedBuild) + sizeof(WorkerResult) + \
					  sizeof(IndexKey))

/* The result of a worker. */
typedef struct WorkerResult
{
	HeapEntries read;
	SharedRuns	runs;
	char		reason[REASON_BYTES];	/* empty for none */
	WalUsage	wal_usage;
	BufferUsage buffer_usage;
} WorkerResult;

/*
 * The shared memory of a build.  Each worker writes only to its result, and
 * to the counter of blocks, so no lock is needed.
 */
typedef struct SharedBuild
{
	uint32		version;		/* FORMAT_VERSION */
	uint32		sizes;			/* FORMAT_SIZES */
	Oid			heap;
	Oid			index;
	SharedKey	key;
	int			worker_kb;		/* memory of a worker */
	int			worker_runs;	/* files of a worker at most */
	SharedFileSet files;
	SharedBlocks blocks;
	WorkerResult results[FLEXIBLE_ARRAY_MEMBER];
} SharedBuild;

struct ParallelBuild
{
	Relation	heap;			/* borrowed */
	const IndexKey *key;		/* borrowed */
	ParallelContext *context;
	SharedBuild *shared;		/* NULL if there is no shared memory */
};

/* ----------
 * Workers
 * ----------
 */

/* The function that the server calls in each worker. */
PGDLLEXPORT void pg_pardump_build_worker(dsm_segment *segment, shm_toc *toc);

/*
 * Read a part of the table and hand the sorted entries over.  Returns as
 * heap_entries_read().
 */
static const char *
read_part(SharedBuild *shared, Relation heap, Relation index,
		  WorkerResult *result)
{
	IndexKey   *key = palloc(sizeof(IndexKey));
	const char *reason = index_key_init(key, heap, index,
										BuildIndexInfo(index));
	EntryStore *store;

	if (reason != NULL)
		return reason;
	if (!index_key_attach(key, &shared->key))
		return "its table or an enum type has changed";
	store = entry_store_new(key, shared->worker_kb);
	entry_store_share(store, &shared->files.fs, ParallelWorkerNumber);
	reason = heap_entries_read(heap, key, store, &shared->blocks,
							   &result->read);
	if (reason == NULL && !shared_blocks_stopped(&shared->blocks))
		entry_store_hand_over(store, shared->worker_runs, &result->runs);
	entry_store_free(store);
	return reason;
}

void
pg_pardump_build_worker(dsm_segment *segment, shm_toc *toc)
{
	SharedBuild *shared = shm_toc_lookup(toc, KEY_BUILD, false);
	WorkerResult *result = &shared->results[ParallelWorkerNumber];
	const char *reason;
	Relation	heap;
	Relation	index;

	/* with another library, the leader reads all blocks itself */
	if (shared->version != FORMAT_VERSION || shared->sizes != FORMAT_SIZES)
		return;
	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	SharedFileSetAttach(&shared->files, segment);

	/* the leader holds these locks, or stronger ones */
	heap = table_open(shared->heap, ShareLock);
	index = index_open(shared->index, AccessExclusiveLock);
	InstrStartParallelQuery();
	reason = read_part(shared, heap, index, result);
	InstrEndParallelQuery(&result->buffer_usage, &result->wal_usage);
	if (reason != NULL)
	{
		ereport(DEBUG1,
				(errmsg_internal("parallel worker cannot build index \"%s\": %s",
								 RelationGetRelationName(index), reason)));
		strlcpy(result->reason, reason, sizeof(result->reason));
		shared_blocks_stop(&shared->blocks);
	}
	index_close(index, AccessExclusiveLock);
	table_close(heap, ShareLock);
}

/* ----------
 * The leader
 * ----------
 */

/*
 * Return the path from which this library was loaded, or NULL.  A worker
 * first loads the leader's libraries by their paths.  It would not find this
 * one by its name, or find another file, if it was loaded from
 * $libdir/plugins.
 */
static const char *
library_path(void)
{
	static const char symbol = 0;
	Dl_info		info;

	return dladdr(&symbol, &info) != 0 ? info.dli_fname : NULL;
}

/* Allocate and initialize the shared memory, which has been estimated. */
static SharedBuild *
init_shared(ParallelContext *context, Size size, Relation heap,
			const IndexKey *key)
{
	int			n_processes = context->nworkers + 1;
	SharedBuild *shared = shm_toc_allocate(context->toc, size);

	memset(shared, 0, size);
	shared->version = FORMAT_VERSION;
	shared->sizes = FORMAT_SIZES;
	shared->heap = RelationGetRelid(heap);
	shared->index = RelationGetRelid(key->index);
	index_key_share(key, &shared->key);
	shared->worker_kb = maintenance_work_mem / n_processes;
	shared->worker_runs = entry_store_runs_for(shared->worker_kb, n_processes);
	SharedFileSetInit(&shared->files, context->seg);
	shared_blocks_init(&shared->blocks, heap);
	shm_toc_insert(context->toc, KEY_BUILD, shared);
	if (debug_query_string != NULL)
	{
		Size		length = strlen(debug_query_string) + 1;
		char	   *query = shm_toc_allocate(context->toc, length);

		memcpy(query, debug_query_string, length);
		shm_toc_insert(context->toc, KEY_QUERY, query);
	}
	return shared;
}

ParallelBuild *
parallel_build_begin(Relation heap, const IndexKey *key, int n_workers)
{
	const char *path = library_path();
	Size		size = add_size(offsetof(SharedBuild, results),
								mul_size(sizeof(WorkerResult), n_workers));
	ParallelContext *context;
	ParallelBuild *build;

	if (path == NULL)
		return NULL;
	EnterParallelMode();
	context = CreateParallelContext(path, WORKER_MAIN, n_workers);
	shm_toc_estimate_chunk(&context->estimator, size);
	shm_toc_estimate_keys(&context->estimator, 1);
	if (debug_query_string != NULL)
	{
		shm_toc_estimate_chunk(&context->estimator,
							   strlen(debug_query_string) + 1);
		shm_toc_estimate_keys(&context->estimator, 1);
	}
	InitializeParallelDSM(context);

	build = palloc0(sizeof(ParallelBuild));
	build->heap = heap;
	build->key = key;
	build->context = context;

	/* without shared memory, no worker can be started */
	if (context->seg != NULL)
	{
		build->shared = init_shared(context, size, heap, key);
		LaunchParallelWorkers(context);
	}
	if (context->nworkers_launched == 0)
	{
		parallel_build_end(build);
		return NULL;
	}
	return build;
}

int
parallel_build_workers(const ParallelBuild *build)
{
	return build->context->nworkers_launched;
}

/*
 * Add the results of all workers to those of the leader.  Returns NULL, or
 * why the server has to build the index.
 */
static const char *
add_results(ParallelBuild *build, EntryStore *store, HeapEntries *read)
{
	SharedBuild *shared = build->shared;
	uint64		n_leader = read->n;

	for (int i = 0; i < build->context->nworkers_launched; i++)
	{
		WorkerResult *result = &shared->results[i];

		if (*result->reason != '\0')
			return pstrdup(result->reason);
		read->n += result->read.n;
		read->sum += result->read.sum;
		read->n_blocks += result->read.n_blocks;
	}
	if (read->n_blocks != shared->blocks.end)
		return "its blocks were not all read";
	for (int i = 0; i < build->context->nworkers_launched; i++)
		entry_store_add_runs(store, &shared->files.fs,
							 &shared->results[i].runs);
	ereport(DEBUG1,
			(errmsg_internal("%d parallel workers have read " UINT64_FORMAT " rows for index \"%s\"",
							 build->context->nworkers_launched,
							 read->n - n_leader,
							 RelationGetRelationName(build->key->index))));
	return NULL;
}

const char *
parallel_build_read(ParallelBuild *build, EntryStore *store,
					HeapEntries *read)
{
	SharedBuild *shared = build->shared;
	const char *reason = heap_entries_read(build->heap, build->key, store,
										   &shared->blocks, read);

	if (reason != NULL)
		shared_blocks_stop(&shared->blocks);
	else if (!shared_blocks_stopped(&shared->blocks))
	{
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
									 PROGRESS_BTREE_PHASE_PERFORMSORT_1);
		entry_store_presort(store);
	}

	/* this also raises an error if a worker could not start, or was killed */
	WaitForParallelWorkersToFinish(build->context);
	for (int i = 0; i < build->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&shared->results[i].buffer_usage,
								&shared->results[i].wal_usage);
	return reason != NULL ? reason : add_results(build, store, read);
}

void
parallel_build_end(ParallelBuild *build)
{
	DestroyParallelContext(build->context);
	ExitParallelMode();
	pfree(build);
}

#endif							/* PARDUMP_FAST_INDEX */
