/*-------------------------------------------------------------------------
 *
 * entry_store.c
 *	  Collects the entries of an index and returns them in order.
 *
 * index_build.c creates the store, heap_entries.c adds an entry for each row,
 * and index_build.c passes the sorted entries to tree_writer.c.
 *
 * If all entries fit into memory, they are sorted there.  Otherwise, each
 * time the memory is full, its entries are sorted and written to a temporary
 * file, as a run, and all runs are merged at the end.  Entries that are added
 * in order are not sorted, and all go to one run, so nothing is merged.
 *
 * Entries with texts have different lengths, so they are not moved: pairs of
 * words are sorted instead (entry_sort.h).
 *
 * A run can only be continued with entries that are greater than its last
 * one.  If there are more runs than can be merged within the limit of memory,
 * all of them are merged into one, which is the first of the next runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/server_compat.h"
#include "index/entry_sort.h"
#include "index/entry_store.h"

/* The size of the memory for entries at first, in words. */
#define FIRST_WORDS (16 * 1024)

/* The smallest limit of memory, in bytes; a lower one is ignored. */
#define MIN_LIMIT (256 * 1024)

/*
 * The bytes of a run that are read at once, and the number of runs that are
 * merged.
 */
#define MIN_READ_BYTES (16 * 1024)
#define MAX_READ_BYTES (256 * 1024)
#define MIN_RUNS 4
#define MAX_RUNS 250

/*
 * The number of pairs by which entries with texts are prefetched.  In the
 * order of the pairs, they are at random places of the memory.
 */
#define PREFETCH_PAIRS 8

/*
 * A temporary file with entries in order.  All numbers and positions count
 * words.
 */
typedef struct SortedRun
{
	BufFile    *file;
	uint64		n;
	/* while the run is read */
	uint64		n_left;			/* not read from the file yet */
	uint64	   *buffer;
	size_t		n_buffered;
	size_t		next;			/* position of the next entry in the buffer */
} SortedRun;

/* Sizes and positions count words, unless a comment says something else. */
struct EntryStore
{
	const IndexKey *key;
	size_t		limit;			/* of all memory of the store */
	size_t		sort_words;		/* additional memory for sorting an entry */
	/* in memory */
	uint64	   *entries;
	size_t		n;				/* number of entries */
	size_t		used;
	size_t		max;
	size_t		last;			/* position of the last entry */
	bool		in_order;
	uint64	   *pairs;			/* of sorted entries with texts, or NULL */
	size_t		n_returned;		/* number of entries */
	size_t		next;			/* position of the next entry to return */
	/* in files */
	SortedRun	runs[MAX_RUNS + 1];
	int			n_runs;
	int			max_runs;
	size_t		read_words;		/* read from a run at once */
	uint64	   *last_written;	/* copy of the last run's last entry */
	/* in a merge: the runs with entries left, as a heap by their next one */
	SortedRun  *heap[MAX_RUNS + 1];
	int			n_heap;
	bool		begun;			/* heap[0]'s next entry has been returned */
};

EntryStore *
entry_store_new(const IndexKey *key, int limit_kb)
{
	EntryStore *store = palloc0(sizeof(EntryStore));
	size_t		bytes = Max((size_t) limit_kb * 1024, MIN_LIMIT);

	store->key = key;

	/*
	 * To sort entries, a second area of the same size is needed; for entries
	 * with texts, two areas of pairs.
	 */
	store->sort_words = key->has_text ? 4 : key->n_words;
	store->in_order = true;

	/* each run of a merge needs a read buffer, and its file a block */
	store->max_runs = Min(Max(bytes / MIN_READ_BYTES / 2, MIN_RUNS), MAX_RUNS);
	bytes -= Min(store->max_runs * BLCKSZ, bytes / 2);
	store->limit = bytes / sizeof(uint64);
	store->read_words = Min(Max(bytes / store->max_runs, MIN_READ_BYTES),
							MAX_READ_BYTES) / sizeof(uint64);
	store->max = FIRST_WORDS;
	store->entries = palloc(store->max * sizeof(uint64));
	store->last_written = palloc(key->max_words * sizeof(uint64));
	return store;
}

/* Return the number of words of an entry. */
static inline size_t
words_of(const EntryStore *store, const uint64 *entry)
{
	return index_entry_words(store->key, entry);
}

/* ----------
 * Runs in files
 * ----------
 */

/* Begin a new run, after all others. */
static SortedRun *
new_run(EntryStore *store)
{
	SortedRun  *run = &store->runs[store->n_runs++];

	memset(run, 0, sizeof(SortedRun));
	run->file = BufFileCreateTemp(false);
	return run;
}

/* Append entries to a run, in parts, so that a cancel request is noticed. */
static inline void
append_to_run(SortedRun *run, const uint64 *words, size_t n)
{
	run->n += n;
	while (n > 0)
	{
		size_t		part = Min(n, MAX_READ_BYTES / sizeof(uint64));

		CHECK_FOR_INTERRUPTS();
		BufFileWrite(run->file, unconstify(uint64 *, words),
					 part * sizeof(uint64));
		words += part;
		n -= part;
	}
}

/* Free all runs.  Closing a temporary file removes it. */
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

/* Does the run's buffer contain all of the next entry? */
static inline bool
has_entry(const EntryStore *store, const SortedRun *run)
{
	size_t		n = run->n_buffered - run->next;

	return n > 0 && n >= words_of(store, run->buffer + run->next);
}

/* Fill the buffer of a run.  Returns whether the run has another entry. */
static bool
fill_run(EntryStore *store, SortedRun *run)
{
	size_t		rest = run->n_buffered - run->next;
	size_t		n = Min(store->read_words - rest, run->n_left);

	CHECK_FOR_INTERRUPTS();
	memmove(run->buffer, run->buffer + run->next, rest * sizeof(uint64));
	if (n > 0)
		read_buf_file(run->file, run->buffer + rest, n * sizeof(uint64));
	run->n_left -= n;
	run->n_buffered = rest + n;
	run->next = 0;
	if (run->n_buffered == 0)
		return false;
	if (!has_entry(store, run))
		elog(ERROR, "an index entry in a temporary file has no end");
	return true;
}

static inline const uint64 *
first_of_run(const SortedRun *run)
{
	return run->buffer + run->next;
}

/*
 * Move the run at this place of the heap down, until its next entry is less
 * than those of its children.
 */
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
			index_entry_less(store->key,
							 first_of_run(store->heap[child + 1]),
							 first_of_run(store->heap[child])))
			child++;
		if (!index_entry_less(store->key, first_of_run(store->heap[child]),
							  first_of_run(run)))
			break;
		store->heap[place] = store->heap[child];
		place = child;
	}
	store->heap[place] = run;
}

/*
 * Begin to read all runs from their start, and make a heap of those that
 * contain entries.
 */
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
		run->buffer = palloc(store->read_words * sizeof(uint64));
		if (fill_run(store, run))
			store->heap[store->n_heap++] = run;
	}
	for (int i = store->n_heap / 2 - 1; i >= 0; i--)
		sift_down(store, i);
}

/*
 * Return the next entry of all runs, or NULL at the end.  The last entry that
 * was returned is still in the buffer of the heap's first run, and is removed
 * only now, so that the caller could use it without a copy.
 */
static const uint64 *
next_of_merge(EntryStore *store)
{
	if (store->begun && store->n_heap > 0)
	{
		SortedRun  *run = store->heap[0];

		run->next += words_of(store, first_of_run(run));
		if (!has_entry(store, run) && !fill_run(store, run))
			store->heap[0] = store->heap[--store->n_heap];
		if (store->n_heap > 1)
			sift_down(store, 0);
	}
	store->begun = true;
	return store->n_heap > 0 ? first_of_run(store->heap[0]) : NULL;
}

/* Merge all runs into one. */
static void
merge_runs(EntryStore *store)
{
	SortedRun	merged = {0};
	const uint64 *entry;

	merged.file = BufFileCreateTemp(false);
	begin_merge(store);
	while ((entry = next_of_merge(store)) != NULL)
	{
		size_t		n = words_of(store, entry);

		append_to_run(&merged, entry, n);
		memcpy(store->last_written, entry, n * sizeof(uint64));
	}
	close_runs(store);
	store->runs[0] = merged;
	store->n_runs = 1;
}

/* ----------
 * Entries in memory
 * ----------
 */

/* Sort the entries in memory, unless they were added in order. */
static void
sort_memory(EntryStore *store)
{
	uint64	   *space;

	if (store->in_order)
		return;
	space = palloc_extended((store->key->has_text ? 2 * store->n
							 : store->used) * sizeof(uint64),
							MCXT_ALLOC_HUGE);
	if (store->key->has_text)
	{
		const uint64 *entry = store->entries;

		store->pairs = palloc_extended(2 * store->n * sizeof(uint64),
									   MCXT_ALLOC_HUGE);
		for (size_t i = 0; i < store->n; i++)
		{
			if (i % FIRST_WORDS == 0)
				CHECK_FOR_INTERRUPTS();
			store->pairs[2 * i + 1] = entry - store->entries;
			entry += words_of(store, entry);
		}
		entry_sort_texts(store->entries, store->pairs, space, store->n);
	}
	else
	{
		entry_sort(store->entries, space, store->n, store->key->n_words);
		store->in_order = true;
	}
	pfree(space);
}

/* Return the i-th entry in the order of the pairs; prefetch a later one. */
static inline const uint64 *
paired_entry(const EntryStore *store, size_t i)
{
#ifdef __GNUC__
	if (i + PREFETCH_PAIRS < store->n)
		__builtin_prefetch(store->entries +
						   store->pairs[2 * (i + PREFETCH_PAIRS) + 1]);
#endif
	return store->entries + store->pairs[2 * i + 1];
}

/* Remove all entries from memory, after they have been written. */
static void
empty_memory(EntryStore *store)
{
	if (store->pairs != NULL)
		pfree(store->pairs);
	store->pairs = NULL;
	store->n = 0;
	store->used = 0;
	store->in_order = true;
}

/* Write the entries in memory to a run. */
static void
write_memory(EntryStore *store)
{
	SortedRun  *run = NULL;
	const uint64 *first = store->entries;
	const uint64 *last = store->entries + store->last;

	CHECK_FOR_INTERRUPTS();
	sort_memory(store);
	if (store->pairs != NULL)
	{
		first = paired_entry(store, 0);
		last = paired_entry(store, store->n - 1);
	}

	/* entries that are added in order make a single run, without a merge */
	if (store->n_runs > 0 &&
		index_entry_less(store->key, store->last_written, first))
		run = &store->runs[store->n_runs - 1];
	else
		run = new_run(store);

	if (store->pairs == NULL)
		append_to_run(run, store->entries, store->used);
	for (size_t i = 0; store->pairs != NULL && i < store->n; i++)
	{
		const uint64 *entry = paired_entry(store, i);

		append_to_run(run, entry, words_of(store, entry));
	}
	memcpy(store->last_written, last, words_of(store, last) * sizeof(uint64));
	empty_memory(store);

	/* the merge uses the memory of the entries for buffers */
	if (store->n_runs > store->max_runs)
	{
		pfree(store->entries);
		store->entries = NULL;
		merge_runs(store);
		store->entries = palloc_extended(store->max * sizeof(uint64),
										 MCXT_ALLOC_HUGE);
	}
}

/*
 * Enlarge the memory for entries, so that "words" more fit.  Sorting needs
 * additional memory for each entry, so "share" is the share of the limit that
 * the entries themselves may use if further ones have the average length of
 * those added before.
 */
static void
grow(EntryStore *store, size_t words)
{
	double		share = (double) store->used /
		(store->used + store->sort_words * store->n);
	size_t		max = Min(2 * store->max,
						  (size_t) (share * store->limit) + words);

	store->max = Max(max, store->used + store->used / 16 + words);
	store->entries = repalloc_huge(store->entries,
								   store->max * sizeof(uint64));
}

void
entry_store_add(EntryStore *store, const uint64 *entry)
{
	size_t		words = words_of(store, entry);
	uint64	   *to;

	if (unlikely(store->used + words + store->sort_words * (store->n + 1) >
				 store->limit))
		write_memory(store);
	if (unlikely(store->used + words > store->max))
		grow(store, words);
	to = store->entries + store->used;
	for (size_t i = 0; i < words; i++)
		to[i] = entry[i];
	if (store->n > 0 && store->in_order &&
		!index_entry_less(store->key, store->entries + store->last, to))
		store->in_order = false;
	store->last = store->used;
	store->used += words;
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
	const uint64 *entry;

	if (store->n_runs > 0)
		return next_of_merge(store);
	if (store->n_returned == store->n)
		return NULL;
	if (store->pairs != NULL)
		return paired_entry(store, store->n_returned++);
	entry = store->entries + store->next;
	store->next += words_of(store, entry);
	store->n_returned++;
	return entry;
}

void
entry_store_free(EntryStore *store)
{
	close_runs(store);
	if (store->pairs != NULL)
		pfree(store->pairs);
	if (store->entries != NULL)
		pfree(store->entries);
	pfree(store->last_written);
	pfree(store);
}
