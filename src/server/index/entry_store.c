/*-------------------------------------------------------------------------
 *
 * entry_store.c
 *	  The entries of an index, as they come and then in order.
 *
 * What fits into memory is sorted there.  Else the memory's content is sorted
 * each time it is full and written to a temporary file, as a run, and runs
 * are merged at the end.  Entries that come in order are not sorted, and one
 * run takes all of them, so that nothing is merged either.
 *
 * A run can only be continued by entries behind its last one.  If there are
 * more runs than can be merged within the memory's limit, all of them are
 * merged to one, which begins the next ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "base/server_compat.h"
#include "index/entry_sort.h"
#include "index/entry_store.h"
#include "index/index_key.h"

#define FIRST_ENTRIES 8192

/* Bytes that are read of a run at once, and how many runs are merged. */
#define MIN_READ_BYTES (16 * 1024)
#define MAX_READ_BYTES (256 * 1024)
#define MIN_RUNS 4
#define MAX_RUNS 250

/* A temporary file with entries in order. */
typedef struct SortedRun
{
	BufFile    *file;
	uint64		n;				/* entries */
	uint64		last[INDEX_ENTRY_WORDS];
	/* while it is read */
	uint64		n_left;			/* in the file */
	uint64	   *buffer;
	size_t		n_buffered;
	size_t		next;
} SortedRun;

struct EntryStore
{
	int			n_words;
	size_t		limit_bytes;
	/* in memory */
	uint64	   *entries;
	size_t		n;
	size_t		max;
	size_t		limit;			/* entries, so that there is space to sort */
	bool		in_order;
	size_t		next;
	/* in files */
	SortedRun	runs[MAX_RUNS];
	int			n_runs;
	int			max_runs;
	size_t		read_entries;	/* of a run at once */
	/* of a merge: the runs that have entries, as a heap by their first */
	SortedRun  *heap[MAX_RUNS];
	int			n_heap;
	bool		begun;			/* the first of the heap was returned */
};

EntryStore *
entry_store_new(int n_words, int limit_kb)
{
	EntryStore *store = palloc0(sizeof(EntryStore));
	size_t		entry_bytes = n_words * sizeof(uint64);

	store->n_words = n_words;
	store->limit_bytes = (size_t) limit_kb * 1024;
	store->max_runs = Min(Max(store->limit_bytes / MIN_READ_BYTES / 2,
							  MIN_RUNS), MAX_RUNS);

	/* each run's file has a buffer of a block */
	store->limit_bytes -= Min(store->max_runs * BLCKSZ,
							  store->limit_bytes / 2);
	store->limit = Max(store->limit_bytes / (2 * entry_bytes), 1024);
	store->in_order = true;
	store->read_entries = Min(Max(store->limit_bytes / store->max_runs,
								  MIN_READ_BYTES), MAX_READ_BYTES) / entry_bytes;
	store->max = Min(FIRST_ENTRIES, store->limit);
	store->entries = palloc_extended(store->max * entry_bytes, MCXT_ALLOC_HUGE);
	return store;
}

static inline size_t
bytes_of(const EntryStore *store, size_t n)
{
	return n * store->n_words * sizeof(uint64);
}

static inline const uint64 *
entry_of(const EntryStore *store, const uint64 *entries, size_t i)
{
	return entries + i * store->n_words;
}

/* ----------
 * Runs in files.
 * ----------
 */

static void
append_to_run(EntryStore *store, SortedRun *run, const uint64 *entries, size_t n)
{
	BufFileWrite(run->file, unconstify(uint64 *, entries),
				 bytes_of(store, n));
	run->n += n;
	memcpy(run->last, entry_of(store, entries, n - 1),
		   bytes_of(store, 1));
}

static void
close_runs(EntryStore *store)
{
	for (int i = 0; i < store->n_runs; i++)
	{
		SortedRun  *run = &store->runs[i];

		BufFileClose(run->file);
		if (run->buffer != NULL)
			pfree(run->buffer);
	}
	store->n_runs = 0;
}

/* Read the next entries of a run.  Returns whether it had any. */
static bool
fill_run(EntryStore *store, SortedRun *run)
{
	size_t		n = Min(store->read_entries, run->n_left);

	CHECK_FOR_INTERRUPTS();
	if (n > 0)
		read_buf_file(run->file, run->buffer, bytes_of(store, n));
	run->n_left -= n;
	run->n_buffered = n;
	run->next = 0;
	return n > 0;
}

static inline const uint64 *
first_of_run(const EntryStore *store, const SortedRun *run)
{
	return entry_of(store, run->buffer, run->next);
}

/* Let the run at this place of the heap sink to where it belongs. */
static void
sift_down(EntryStore *store, int place)
{
	SortedRun  *run = store->heap[place];

	for (;;)
	{
		int			child = 2 * place + 1;

		if (child >= store->n_heap)
			break;
		if (child + 1 < store->n_heap &&
			index_entry_less(first_of_run(store, store->heap[child + 1]),
							 first_of_run(store, store->heap[child]),
							 store->n_words))
			child++;
		if (!index_entry_less(first_of_run(store, store->heap[child]),
							  first_of_run(store, run), store->n_words))
			break;
		store->heap[place] = store->heap[child];
		place = child;
	}
	store->heap[place] = run;
}

static void
begin_merge(EntryStore *store)
{
	store->n_heap = 0;
	store->begun = false;
	for (int i = 0; i < store->n_runs; i++)
	{
		SortedRun  *run = &store->runs[i];

		if (BufFileSeek(run->file, 0, 0, SEEK_SET) != 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not rewind a temporary file")));
		run->n_left = run->n;
		run->buffer = palloc(bytes_of(store, store->read_entries));
		if (fill_run(store, run))
			store->heap[store->n_heap++] = run;
	}
	for (int i = store->n_heap / 2 - 1; i >= 0; i--)
		sift_down(store, i);
}

static const uint64 *
next_of_merge(EntryStore *store)
{
	if (store->begun)
	{
		SortedRun  *run = store->heap[0];

		if (++run->next == run->n_buffered && !fill_run(store, run))
			store->heap[0] = store->heap[--store->n_heap];
		if (store->n_heap > 1)
			sift_down(store, 0);
	}
	store->begun = true;
	return store->n_heap > 0 ? first_of_run(store, store->heap[0]) : NULL;
}

/* Merge all runs to one. */
static void
merge_runs(EntryStore *store)
{
	SortedRun	merged = {0};
	size_t		n = 0;
	uint64	   *buffer = palloc(bytes_of(store, store->read_entries));
	const uint64 *entry;

	merged.file = BufFileCreateTemp(false);
	begin_merge(store);
	while ((entry = next_of_merge(store)) != NULL)
	{
		memcpy(buffer + n * store->n_words, entry, bytes_of(store, 1));
		if (++n == store->read_entries)
		{
			append_to_run(store, &merged, buffer, n);
			n = 0;
		}
	}
	if (n > 0)
		append_to_run(store, &merged, buffer, n);
	pfree(buffer);
	close_runs(store);
	store->runs[0] = merged;
	store->n_runs = 1;
}

/* ----------
 * Entries in memory.
 * ----------
 */

/* Sort the entries in memory, unless they came in order. */
static void
sort_memory(EntryStore *store)
{
	uint64	   *space;

	if (store->in_order)
		return;
	space = palloc_extended(bytes_of(store, store->n), MCXT_ALLOC_HUGE);
	entry_sort(store->entries, space, store->n, store->n_words);
	pfree(space);
	store->in_order = true;
}

/* Write the entries in memory to a run. */
static void
write_memory(EntryStore *store)
{
	SortedRun  *last;

	CHECK_FOR_INTERRUPTS();
	sort_memory(store);
	last = store->n_runs > 0 ? &store->runs[store->n_runs - 1] : NULL;
	if (last == NULL ||
		!index_entry_less(last->last, store->entries, store->n_words))
	{
		if (store->n_runs == store->max_runs)
		{
			/* the memory is needed to merge */
			SortedRun	run = {0};

			run.file = BufFileCreateTemp(false);
			append_to_run(store, &run, store->entries, store->n);
			pfree(store->entries);
			merge_runs(store);
			store->runs[store->n_runs++] = run;
			store->entries = palloc_extended(bytes_of(store, store->max),
											 MCXT_ALLOC_HUGE);
			store->n = 0;
			return;
		}
		last = &store->runs[store->n_runs];
		memset(last, 0, sizeof(SortedRun));
		last->file = BufFileCreateTemp(false);
		store->n_runs++;
	}
	append_to_run(store, last, store->entries, store->n);
	store->n = 0;
}

/* Make room for one more entry. */
static void
make_room(EntryStore *store)
{
	if (store->max < store->limit)
	{
		store->max = Min(2 * store->max, store->limit);
		store->entries = repalloc_huge(store->entries,
									   bytes_of(store, store->max));
	}
	else
		write_memory(store);
}

void
entry_store_add(EntryStore *store, const uint64 *entry)
{
	uint64	   *to;

	if (unlikely(store->n == store->max))
		make_room(store);
	to = store->entries + store->n * store->n_words;
	for (int i = 0; i < store->n_words; i++)
		to[i] = entry[i];
	if (store->n > 0 && store->in_order &&
		!index_entry_less(to - store->n_words, to, store->n_words))
		store->in_order = false;
	store->n++;
}

void
entry_store_sort(EntryStore *store)
{
	if (store->n_runs == 0)
	{
		sort_memory(store);
		return;
	}
	if (store->n > 0)
		write_memory(store);
	pfree(store->entries);
	store->entries = NULL;
	begin_merge(store);
}

const uint64 *
entry_store_next(EntryStore *store)
{
	if (store->n_runs > 0)
		return next_of_merge(store);
	if (store->next == store->n)
		return NULL;
	return entry_of(store, store->entries, store->next++);
}

int
entry_store_runs(const EntryStore *store)
{
	return store->n_runs;
}

void
entry_store_free(EntryStore *store)
{
	close_runs(store);
	if (store->entries != NULL)
		pfree(store->entries);
	pfree(store);
}
