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
#include "port/pg_bitutils.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "base/server_compat.h"
#include "index/entry_store.h"
#include "index/index_key.h"

/* ----------
 * Sorts entries in memory.
 *
 * A radix sort from the most significant bits down: entries are distributed
 * to buckets by some of the first bits in which they differ, then each bucket
 * is sorted in the same way.  Entries are only moved, never compared, until a
 * bucket is small.  Bits that all entries of a bucket share are skipped, so
 * that keys of few values and common prefixes cost one look at each.
 *
 * No two entries are equal, as each ends with its place.  A bucket whose
 * entries are in order already is left as it is: as rows are read by their
 * places, buckets of equal keys are.
 * ----------
 */

/* Buckets of no more entries are sorted by insertion. */
#define SMALL_BUCKET 24

/* Bits by which entries are distributed at once. */
#define MAX_DIGIT_BITS 11

/* A level takes at least 4 bits, or one entry out of the rest. */
#define MAX_LEVELS (INDEX_ENTRY_WORDS * 64 / 4 + 1)

typedef struct RadixSort
{
	/* how many entries each bucket of a level has, then where they end */
	size_t	   *counts[MAX_LEVELS];
} RadixSort;

typedef void (*SortFunction) (RadixSort *state, int level, uint64 *from,
							  uint64 *other, size_t n, int word,
							  bool to_other);

static pg_attribute_always_inline void
sort_small(uint64 *entries, size_t n, const int n_words)
{
	for (size_t i = 1; i < n; i++)
	{
		uint64		entry[INDEX_ENTRY_WORDS];
		size_t		to = i;

		memcpy(entry, entries + i * n_words, n_words * sizeof(uint64));
		while (to > 0 &&
			   index_entry_less(entry, entries + (to - 1) * n_words, n_words))
		{
			memcpy(entries + to * n_words, entries + (to - 1) * n_words,
				   n_words * sizeof(uint64));
			to--;
		}
		memcpy(entries + to * n_words, entry, n_words * sizeof(uint64));
	}
}

/*
 * Find the first bit, from the top, in which the entries differ: the word is
 * moved forward to that, and the number of bits from there down is returned;
 * 0 if the entries are in order.
 */
static pg_attribute_always_inline int
first_difference(const uint64 *entries, size_t n, int *word,
				 const int n_words)
{
	uint64		differing = 0;
	bool		in_order = true;

	for (size_t i = 1; i < n && in_order; i++)
		in_order = index_entry_less(entries + (i - 1) * n_words,
									entries + i * n_words, n_words);
	if (in_order)
		return 0;
	for (; *word < n_words; (*word)++)
	{
		uint64		first = entries[*word];

		for (size_t i = 1; i < n; i++)
			differing |= entries[i * n_words + *word] ^ first;
		if (differing != 0)
			return pg_leftmost_one_pos64(differing) + 1;
	}
	return 0;
}

static int
digit_bits(size_t n)
{
	if (n >= ((size_t) 1 << 20))
		return MAX_DIGIT_BITS;
	if (n >= ((size_t) 1 << 12))
		return 8;
	return n >= ((size_t) 1 << 9) ? 6 : 4;
}

static size_t *
counts_of_level(RadixSort *state, int level)
{
	if (level >= MAX_LEVELS)
		elog(ERROR, "too many levels of a sort");
	if (state->counts[level] == NULL)
		state->counts[level] = palloc(sizeof(size_t) << MAX_DIGIT_BITS);
	return state->counts[level];
}

/*
 * Sort the entries at "from", which agree in all words before "word".  The
 * result is at "other" if that is asked for, else at "from"; the other of the
 * two is overwritten.
 */
static pg_attribute_always_inline void
sort_bucket(RadixSort *state, int level, uint64 *from, uint64 *other,
			size_t n, int word, bool to_other, SortFunction sort,
			const int n_words)
{
	int			top = 0;
	int			shift;
	size_t		n_buckets;
	size_t		sum = 0;
	size_t	   *counts;

	if (n <= SMALL_BUCKET)
		sort_small(from, n, n_words);
	else
		top = first_difference(from, n, &word, n_words);
	if (top == 0)
	{
		if (to_other)
			memcpy(other, from, n * n_words * sizeof(uint64));
		return;
	}
	if (n >= ((size_t) 1 << 12))
		CHECK_FOR_INTERRUPTS();

	shift = Max(top - digit_bits(n), 0);
	n_buckets = (size_t) 1 << (top - shift);
	counts = counts_of_level(state, level);
	memset(counts, 0, n_buckets * sizeof(size_t));
	for (size_t i = 0; i < n; i++)
		counts[(from[i * n_words + word] >> shift) & (n_buckets - 1)]++;
	for (size_t i = 0; i < n_buckets; i++)
	{
		size_t		count = counts[i];

		counts[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
	{
		const uint64 *entry = from + i * n_words;
		size_t		to = counts[(entry[word] >> shift) & (n_buckets - 1)]++;

		memcpy(other + to * n_words, entry, n_words * sizeof(uint64));
	}

	/* each count is now where its bucket ends */
	for (size_t i = 0, begin = 0; i < n_buckets; i++)
	{
		size_t		end = counts[i];

		if (end > begin)
			sort(state, level + 1, other + begin * n_words,
				 from + begin * n_words, end - begin, word, !to_other);
		begin = end;
	}
}

#define DEFINE_SORT(N) \
static void \
sort_##N(RadixSort *state, int level, uint64 *from, uint64 *other, size_t n, \
		 int word, bool to_other) \
{ \
	sort_bucket(state, level, from, other, n, word, to_other, sort_##N, N); \
}

DEFINE_SORT(1)
DEFINE_SORT(2)
DEFINE_SORT(3)
DEFINE_SORT(4)
DEFINE_SORT(5)

/*
 * Sort n entries of n_words words each, as index_entry_less() compares them.
 * "space" has room for as many entries again, whose content is undefined
 * afterwards.
 */
static void
sort_entries(uint64 *entries, uint64 *space, size_t n, int n_words)
{
	static const SortFunction sorts[] = {sort_1, sort_2, sort_3, sort_4, sort_5};
	RadixSort	state;

	StaticAssertStmt(lengthof(sorts) == INDEX_ENTRY_WORDS,
					 "a sort for each number of words");
	Assert(n_words >= 1 && n_words <= INDEX_ENTRY_WORDS);
	memset(&state, 0, sizeof(state));
	sorts[n_words - 1] (&state, 0, entries, space, n, 0, false);
	for (int i = 0; i < MAX_LEVELS; i++)
	{
		if (state.counts[i] != NULL)
			pfree(state.counts[i]);
	}
}

/* ----------
 * The store.
 * ----------
 */

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
	store->limit = Max(store->limit_bytes / (2 * entry_bytes), 1024);
	store->in_order = true;
	store->max_runs = Min(Max(store->limit_bytes / MIN_READ_BYTES / 2,
							  MIN_RUNS), MAX_RUNS);
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
	sort_entries(store->entries, space, store->n, store->n_words);
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

void
entry_store_free(EntryStore *store)
{
	close_runs(store);
	if (store->entries != NULL)
		pfree(store->entries);
	pfree(store);
}
