/*-------------------------------------------------------------------------
 *
 * entry_store.c
 *	  Collects the entries of an index and returns them in order.
 *
 * index_build.c creates the store, heap_entries.c adds an entry for each row,
 * and index_build.c passes the sorted entries to tree_writer.c.  In a
 * parallel build, parallel_build.c creates further stores, whose runs are
 * handed over to the first one.
 *
 * If all entries fit into memory, they are sorted there.  Otherwise, each
 * time the memory is full, its entries are sorted and written to a temporary
 * file, as a run, and all runs are merged at the end.  Entries that are added
 * in order are not sorted, and all go to one run, so nothing is merged.
 *
 * Entries with texts have different lengths, so they are not moved: pairs of
 * words are sorted instead.
 *
 * A run can only be continued with entries that are greater than its last
 * one.  If there are more runs than can be merged within the limit of memory,
 * all of them are merged into one, which is the first of the next runs.
 *
 * A process of a parallel build writes its runs to files that the leader can
 * open.  The leader does not write its own last entries, if they have a fixed
 * width: they are merged from memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "base/server_compat.h"
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

/* "run", and the numbers of a process and of one of its files. */
#define RUN_NAME_BYTES 32

/*
 * A temporary file with entries in order, or the entries in memory.  All
 * numbers and positions count words.
 */
typedef struct SortedRun
{
	BufFile    *file;			/* NULL for entries in memory */
	FileSet    *files;			/* that of the file, or NULL; borrowed */
	char		name[RUN_NAME_BYTES];	/* of the file in the set */
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
	bool		has_others;		/* some runs are those of other processes */
	size_t		read_words;		/* read from a run at once */
	uint64	   *last_written;	/* copy of the last run's last entry */
	/* in a merge: the runs with entries left, as a heap by their next one */
	SortedRun  *heap[MAX_RUNS + 1];
	int			n_heap;
	bool		begun;			/* heap[0]'s next entry has been returned */
	/* if runs are handed over */
	FileSet    *files;			/* borrowed, or NULL */
	int			process;
	int			n_created;		/* number of files */
};

/*
 * Return the number of runs that are merged at once within a limit of memory.
 * Each of them needs a read buffer, and its file a block.
 */
static int
max_runs_for(size_t bytes)
{
	return Min(Max(bytes / MIN_READ_BYTES / 2, MIN_RUNS), MAX_RUNS);
}

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

	store->max_runs = max_runs_for(bytes);
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

/* Set the name of a file that is handed over. */
static void
name_run(SortedRun *run, FileSet *files, int process, int number)
{
	run->files = files;
	snprintf(run->name, sizeof(run->name), "run%d.%d", process, number);
}

/* Initialize a run with a new file. */
static void
create_run(EntryStore *store, SortedRun *run)
{
	memset(run, 0, sizeof(SortedRun));
	if (store->files == NULL)
		run->file = BufFileCreateTemp(false);
	else
	{
		name_run(run, store->files, store->process, store->n_created++);
		run->file = BufFileCreateFileSet(run->files, run->name);
	}
}

/* Begin a new run, after all others. */
static SortedRun *
new_run(EntryStore *store)
{
	SortedRun  *run = &store->runs[store->n_runs++];

	create_run(store, run);
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

/*
 * Free all runs.  Closing a temporary file removes it, unless it is a file
 * that can be handed over.
 */
static void
close_runs(EntryStore *store)
{
	for (int i = 0; i < store->n_runs; i++)
	{
		SortedRun  *run = &store->runs[i];

		if (run->file != NULL)
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

		if (run->file == NULL)
		{
			store->heap[store->n_heap++] = run;
			continue;
		}
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

/* Merge all runs into one, and remove their files. */
static void
merge_runs(EntryStore *store)
{
	int			n_merged = store->n_runs;
	SortedRun	merged;
	const uint64 *entry;

	create_run(store, &merged);
	begin_merge(store);
	while ((entry = next_of_merge(store)) != NULL)
	{
		size_t		n = words_of(store, entry);

		append_to_run(&merged, entry, n);
		memcpy(store->last_written, entry, n * sizeof(uint64));
	}
	close_runs(store);
	for (int i = 0; i < n_merged; i++)
	{
		SortedRun  *run = &store->runs[i];

		if (run->files != NULL)
			BufFileDeleteFileSet(run->files, run->name, false);
	}
	store->runs[0] = merged;
	store->n_runs = 1;
}

/* ----------
 * Sorting in memory
 *
 * A radix sort that begins at the most significant bits.  It distributes
 * entries to buckets by a few of the first bits in which they differ, and
 * then sorts each bucket in the same way.  Entries are only moved, and not
 * compared with each other, until a bucket is small.  The server's sort calls
 * a comparison function many times for each entry.
 *
 * Bits that all entries of a bucket share are skipped, so a common prefix, or
 * a key with few different values, takes one pass over the entries.  No two
 * entries are equal, as each ends with the place of its row.  A bucket whose
 * entries are already in order is not changed.  This is usual for buckets of
 * equal keys, because rows are read in the order of their places.
 *
 * Entries with texts are sorted by means of pairs of words: eight bytes of
 * the key, and the position of the entry.  Entries that agree in these bytes
 * are then sorted by the next eight bytes.
 * ----------
 */

/* Buckets with up to this number of entries are sorted by insertion. */
#define SMALL_BUCKET 24

/*
 * The largest number of bits by which entries are distributed at once.  With
 * more buckets, their ends no longer fit into the processor's caches, and a
 * sort of 10 million entries takes longer.
 */
#define MAX_DIGIT_BITS 9

/*
 * The largest number of levels.  Each level sorts by at least 4 bits, unless
 * fewer are left.
 */
#define MAX_LEVELS (INDEX_ENTRY_WORDS * 64 / 4 + 1)

typedef struct RadixSort
{
	/* by level: the number of entries in each bucket, later its end */
	size_t	   *counts[MAX_LEVELS];
} RadixSort;

typedef void (*SortFunction) (RadixSort *state, int level, uint64 *from,
							  uint64 *other, size_t n, int word, int bits,
							  bool to_other);

/* Test for an interrupt in a loop over many entries, once in a million. */
static inline void
check_cancel(size_t i)
{
	if (unlikely(i % ((size_t) 1 << 20) == 0))
		CHECK_FOR_INTERRUPTS();
}

/* Sort the entries of a small bucket by insertion. */
static pg_attribute_always_inline void
sort_small(uint64 *entries, size_t n, const int n_words)
{
	for (size_t i = 1; i < n; i++)
	{
		uint64		entry[INDEX_ENTRY_WORDS];
		size_t		to = i;

		memcpy(entry, entries + i * n_words, n_words * sizeof(uint64));
		while (to > 0 &&
			   index_words_less(entry, entries + (to - 1) * n_words, n_words))
		{
			memcpy(entries + to * n_words, entries + (to - 1) * n_words,
				   n_words * sizeof(uint64));
			to--;
		}
		memcpy(entries + to * n_words, entry, n_words * sizeof(uint64));
	}
}

/*
 * Find the highest bit in which the entries differ.  *word becomes the word
 * that contains this bit, and the result is the number of bits from there to
 * the end of the word.  Returns 0 if the entries are in order.
 *
 * The entries agree in all bits of the first word before its last "bits", so
 * most of them need not be read if two differ in the first of these bits.
 */
static pg_attribute_always_inline int
first_difference(const uint64 *entries, size_t n, int *word, int bits,
				 const int n_words)
{
	bool		in_order = true;

	for (size_t i = 1; i < n && in_order; i++)
	{
		check_cancel(i);
		in_order = index_words_less(entries + (i - 1) * n_words,
									entries + i * n_words, n_words);
	}
	if (in_order)
		return 0;
	for (; *word < n_words; (*word)++, bits = 64)
	{
		uint64		first = entries[*word];
		uint64		differing = 0;

		for (size_t i = 1; i < n && differing >> (bits - 1) == 0; i++)
		{
			check_cancel(i);
			differing |= entries[i * n_words + *word] ^ first;
		}
		if (differing != 0)
			return pg_leftmost_one_pos64(differing) + 1;
	}
	return 0;
}

/*
 * Return the number of bits by which n entries are distributed.  There should
 * be many more entries than buckets, as each bucket costs time, too.
 */
static int
digit_bits(size_t n)
{
	if (n >= ((size_t) 1 << 20))
		return MAX_DIGIT_BITS;
	if (n >= ((size_t) 1 << 12))
		return 8;
	return n >= ((size_t) 1 << 9) ? 6 : 4;
}

/* Return the counts for a level, which is a depth of the recursion. */
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
 * Sort the entries at "from", which agree in all words before "word", and in
 * the bits of this word before its last "bits" (1 to 64).  The result is at
 * "other" if to_other is set, otherwise at "from".  The other of these two
 * areas is overwritten.  n_words is a constant in each of the callers, so
 * that entries are copied without a loop.
 */
static pg_attribute_always_inline void
sort_bucket(RadixSort *state, int level, uint64 *from, uint64 *other,
			size_t n, int word, int bits, bool to_other, SortFunction sort,
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
		top = first_difference(from, n, &word, bits, n_words);
	if (top == 0)
	{
		if (to_other)
			memcpy(other, from, n * n_words * sizeof(uint64));
		return;
	}

	/* the bits above "top" are the same in all entries */
	shift = Max(top - digit_bits(n), 0);
	n_buckets = (size_t) 1 << (top - shift);
	counts = counts_of_level(state, level);
	memset(counts, 0, n_buckets * sizeof(size_t));
	for (size_t i = 0; i < n; i++)
	{
		check_cancel(i);
		counts[(from[i * n_words + word] >> shift) & (n_buckets - 1)]++;
	}
	/* replace each count by the start of its bucket */
	for (size_t i = 0; i < n_buckets; i++)
	{
		size_t		count = counts[i];

		counts[i] = sum;
		sum += count;
	}
	/* move the entries, in their order, to the next place of their bucket */
	for (size_t i = 0; i < n; i++)
	{
		const uint64 *entry = from + i * n_words;
		size_t		to = counts[(entry[word] >> shift) & (n_buckets - 1)]++;

		check_cancel(i);
		memcpy(other + to * n_words, entry, n_words * sizeof(uint64));
	}

	/* each count is now the end of its bucket */
	for (size_t i = 0, begin = 0; i < n_buckets; i++)
	{
		size_t		end = counts[i];

		if (end > begin)
			sort(state, level + 1, other + begin * n_words,
				 from + begin * n_words, end - begin,
				 shift > 0 ? word : word + 1, shift > 0 ? shift : 64,
				 !to_other);
		begin = end;
	}
}

/* A function for each number of words, which it passes as a constant. */
#define DEFINE_SORT(N) \
static void \
sort_##N(RadixSort *state, int level, uint64 *from, uint64 *other, size_t n, \
		 int word, int bits, bool to_other) \
{ \
	sort_bucket(state, level, from, other, n, word, bits, to_other, sort_##N, \
				N); \
}

DEFINE_SORT(1)
DEFINE_SORT(2)
DEFINE_SORT(3)
DEFINE_SORT(4)
DEFINE_SORT(5)

/*
 * Sort n entries of n_words words each (1 to INDEX_ENTRY_WORDS) in the order
 * of index_words_less().  "space" must have room for the same number of
 * entries, and is overwritten.
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
	sorts[n_words - 1] (&state, 0, entries, space, n, 0, 64, false);
	for (int i = 0; i < MAX_LEVELS; i++)
	{
		if (state.counts[i] != NULL)
			pfree(state.counts[i]);
	}
}

/* Sort a few pairs of entries that agree in all words before "word". */
static void
sort_few_texts(const uint64 *entries, uint64 *pairs, size_t n, int word)
{
	for (size_t i = 1; i < n; i++)
	{
		uint64		place = pairs[2 * i + 1];
		size_t		to = i;

		for (; to > 0; to--)
		{
			uint64		before = pairs[2 * to - 1];
			int			order = text_key_compare(entries + before,
												 entries + place, word);

			if (order < 0 || (order == 0 && before < place))
				break;
			pairs[2 * to + 1] = before;
		}
		pairs[2 * to + 1] = place;
	}
}

/*
 * Sort n pairs of words, which stand for entries that agree in all words
 * before "word".  The second word of a pair is the position of an entry, in
 * words from "entries"; the first word is set here.  Entries with equal keys
 * keep the order of their positions, so the caller must store them in the
 * order of their places.
 */
static void
sort_texts(const uint64 *entries, uint64 *pairs, uint64 *space, size_t n,
		   int word)
{
	size_t		end;

	check_stack_depth();
	for (size_t i = 0; i < n; i++)
	{
		const uint64 *entry = entries + pairs[2 * i + 1];

		check_cancel(i);
		/* the bytes of a key sort like numbers in network byte order */
		pairs[2 * i] = word < text_key_words(entry)
			? pg_ntoh64(entry[1 + word]) : 0;
	}
	sort_entries(pairs, space, n, 2);
	for (size_t begin = 0; begin < n; begin = end)
	{
		const uint64 *first = entries + pairs[2 * begin + 1];

		CHECK_FOR_INTERRUPTS();
		end = begin + 1;
		while (end < n && pairs[2 * end] == pairs[2 * begin])
			end++;

		/* keys that end here are equal, and sorted by the second word */
		if (end - begin == 1 || word + 1 >= text_key_words(first))
			continue;
		if (end - begin <= SMALL_BUCKET)
			sort_few_texts(entries, pairs + 2 * begin, end - begin, word + 1);
		else
			sort_texts(entries, pairs + 2 * begin, space, end - begin,
					   word + 1);
	}
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
		sort_texts(store->entries, store->pairs, space, store->n, 0);
	}
	else
	{
		sort_entries(store->entries, space, store->n, store->key->n_words);
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

/*
 * Make a run of the entries in memory, which must have a fixed width.  The
 * other processes have freed their memory, so it does not exceed the limit
 * for all processes that these entries and the read buffers exist at the same
 * time.
 */
static void
keep_memory(EntryStore *store)
{
	SortedRun  *run = &store->runs[store->n_runs++];

	sort_memory(store);
	memset(run, 0, sizeof(SortedRun));
	run->buffer = store->entries;
	run->n_buffered = store->used;
	store->entries = NULL;
}

void
entry_store_sort(EntryStore *store)
{
	if (store->n_runs == 0)
	{
		sort_memory(store);
		return;
	}
	if (store->n > 0 && store->has_others)
		keep_memory(store);
	else if (store->n > 0)
		write_memory(store);
	if (store->entries != NULL)
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

/* ----------
 * Stores of several processes
 * ----------
 */

void
entry_store_share(EntryStore *store, FileSet *files, int process)
{
	store->files = files;
	store->process = process;
}

void
entry_store_hand_over(EntryStore *store, int max_runs, SharedRuns *runs)
{
	if (store->n > 0)
		write_memory(store);
	pfree(store->entries);
	store->entries = NULL;
	if (store->n_runs > max_runs)
		merge_runs(store);

	/* files of runs that were merged have lower numbers than the result */
	runs->process = store->process;
	runs->first = store->n_created - store->n_runs;
	runs->n = store->n_runs;
}

void
entry_store_presort(EntryStore *store)
{
	/* entries with texts are not moved, so a merge needs them in a file */
	if (store->n > 0 && store->key->has_text)
		write_memory(store);
	else
		sort_memory(store);
}

void
entry_store_add_runs(EntryStore *store, FileSet *files,
					 const SharedRuns *runs)
{
	for (int i = 0; i < runs->n; i++)
	{
		SortedRun  *run = &store->runs[store->n_runs++];

		memset(run, 0, sizeof(SortedRun));
		name_run(run, files, runs->process, runs->first + i);
		run->file = BufFileOpenFileSet(files, run->name, O_RDONLY, false);
		run->n = BufFileSize(run->file) / sizeof(uint64);
		store->has_others = true;
		if (store->n_runs > store->max_runs)
			merge_runs(store);
	}
}

int
entry_store_runs_for(int limit_kb, int n_processes)
{
	return Max(max_runs_for((size_t) limit_kb * 1024) / n_processes, 1);
}
