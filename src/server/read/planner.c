/*-------------------------------------------------------------------------
 *
 * planner.c
 *	  Divides a heap into chunks with about the same number of bytes to dump.
 *
 * function/plan_function.c calls this for pg_pardump_chunks().  The first
 * part of the file measures the rows of a block.  The second part estimates
 * from a limited number of blocks where in the heap the bytes to dump are.
 * The third part computes chunks from this estimate.
 *
 * If a relation has more blocks than will be read, it is divided into strata
 * of equal size, one for each block that will be read.  In each stratum, up
 * to PROBES_PER_STRATUM blocks are looked up in the visibility map and the
 * free space map (probed), and one of them is read.  The number of blocks
 * that are read depends on the number of chunks: the client waits for the
 * plan, so this must take little time for a short dump.
 *
 * The maps distinguish two classes of blocks.  A block is settled if it is
 * all visible: it has no dead rows, and the free space map contains the
 * number of its bytes in use.  All other blocks are unsettled: they may be
 * full of dead rows, and their entries in the free space map are old, so each
 * of them counts as a full page.  For each class, the blocks that were read
 * show how many rows and bytes to dump there are for each byte in use (a
 * ratio estimator).  This ratio includes TOAST values.  As only one block was
 * read in a stratum, the ratio is computed over a window of strata around it:
 *
 *	  stratum = blocks * sum over classes (mean bytes in use * ratio in
 *	  window)
 *
 * So the estimate is right locally: it takes into account empty regions, dead
 * rows, half-filled pages, and TOAST values in one part of the relation, no
 * matter whether VACUUM has been run.
 *
 * The numbers of block reads and look-ups are limited for all sizes of the
 * relation: neither the relation nor its maps are scanned.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "common/hashfn.h"
#include "storage/freespace.h"
#include "utils/memutils.h"
#include "utils/spccache.h"

#include "read/heap_reader.h"
#include "read/planner.h"

/* ----------
 * Counts the rows of a heap block, and their bytes in a dump.
 *
 * Like heapgetpage() (page_collect_tuples() since 17), this tests the tuple
 * of each line pointer with the snapshot, which sees at most one version of a
 * HOT chain.  No predicate lock is taken, since an estimate of sizes does not
 * depend on the values of rows.
 * ----------
 */

/* The bytes of a NULL ("\N") and of a separator in COPY's text format. */
#define NULL_BYTES			2
#define SEPARATOR_BYTES		1

typedef struct BlockMeasurer
{
	Relation	rel;			/* borrowed */
	Snapshot	snapshot;		/* borrowed */
	BufferAccessStrategy ring;
	MemoryContext block_context;	/* reset for every block */
	HeapTupleData tuple;		/* the current tuple */

	/* one element for each attribute of rel */
	TupleDeformer *deformer;
	bool	   *is_dumped;
} BlockMeasurer;

/*
 * Create a measurer in the current memory context.  As long as it is used,
 * the relation, which must be a heap, must stay open and locked, and the
 * snapshot registered or active.
 */
static BlockMeasurer *
block_measurer_new(Relation rel, Snapshot snapshot)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	BlockMeasurer *measurer = palloc0(sizeof(BlockMeasurer));

	measurer->rel = rel;
	measurer->snapshot = snapshot;
	measurer->ring = GetAccessStrategy(BAS_BULKREAD);
	measurer->block_context = AllocSetContextCreate(CurrentMemoryContext,
													"pg_pardump block",
													ALLOCSET_SMALL_SIZES);
	measurer->deformer = tuple_deformer_new(tupdesc, tupdesc->natts);
	measurer->is_dumped = palloc(sizeof(bool) * tupdesc->natts);

	/* COPY writes neither dropped nor generated columns */
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		measurer->is_dumped[i] = !att->attisdropped && !att->attgenerated;
	}

	return measurer;
}

/* Return the bytes of a value that is not NULL, without separator. */
static Size
value_bytes(Form_pg_attribute att, Datum value)
{
	if (att->attlen > 0)
		return att->attlen;
	if (att->attlen == -1)
	{
		Size		bytes = toast_raw_datum_size(value) - VARHDRSZ;

		/* a larger size is damage */
		return bytes <= MaxAllocSize ? bytes : 0;
	}
	return strlen(DatumGetCString(value));
}

/*
 * Return the bytes of a row.  A damaged row has 0 bytes; the reader will
 * raise the error for it.
 */
static double
row_bytes(BlockMeasurer *measurer)
{
	TupleDesc	tupdesc = RelationGetDescr(measurer->rel);
	TupleDeformer *deformer = measurer->deformer;
	double		bytes = 0;

	/* this also fills in columns that were added after the row was written */
	if (!tuple_deform(deformer, &measurer->tuple))
		return 0;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (!measurer->is_dumped[i])
			continue;
		bytes += SEPARATOR_BYTES;
		if (deformer->isnull[i])
			bytes += NULL_BYTES;
		else
			bytes += value_bytes(TupleDescAttr(tupdesc, i),
								 deformer->values[i]);
	}

	/* a row without columns still has a newline */
	return Max(bytes, SEPARATOR_BYTES);
}

/*
 * Return the rows and bytes that the snapshot sees on a page, which is
 * locked.  Damage is not reported here: without a plan no chunk could be
 * read, while the reader reports damage in its chunk, with the row.
 */
static DumpAmount
page_amount(BlockMeasurer *measurer, Buffer buffer, BlockNumber block)
{
	Page		page = BufferGetPage(buffer);
	HeapTuple	tuple = &measurer->tuple;
	DumpAmount	amount = {0, 0};
	OffsetNumber last;

	/* the relation was extended, but the page has not been written yet */
	if (PageIsNew(page))
		return amount;

	/* skip damaged line pointers, for which the reader raises the error */
	last = Min(PageGetMaxOffsetNumber(page), MaxHeapTuplesPerPage);
	for (OffsetNumber off = FirstOffsetNumber; off <= last; off++)
	{
		ItemId		lp = PageGetItemId(page, off);
		double		bytes;

		if (!ItemIdIsNormal(lp) || !heap_item_is_sound(lp))
			continue;

		tuple->t_data = (HeapTupleHeader) PageGetItem(page, lp);
		tuple->t_len = ItemIdGetLength(lp);
		tuple->t_tableOid = RelationGetRelid(measurer->rel);
		ItemPointerSet(&tuple->t_self, block, off);

		if (!HeapTupleSatisfiesVisibility(tuple, measurer->snapshot, buffer))
			continue;
		bytes = row_bytes(measurer);
		amount.rows += bytes > 0 ? 1 : 0;
		amount.bytes += bytes;
	}

	return amount;
}

/*
 * Add the row to the context of errors.  A visibility test, for example,
 * raises an error if it does not find the transaction of a damaged row.
 */
static void
add_place(void *arg)
{
	BlockMeasurer *measurer = arg;

	if (ItemPointerIsValid(&measurer->tuple.t_self))
		heap_row_errcontext(measurer->rel, &measurer->tuple.t_self,
							InvalidAttrNumber);
	else
		errcontext("planning chunks of table \"%s\"",
				   RelationGetRelationName(measurer->rel));
}

/*
 * Read a block, which must exist, with the measurer's ring of buffers, and
 * return the rows and bytes in it that the snapshot sees.
 *
 * The bytes are those of the values that COPY would write, so without dropped
 * and generated columns, plus COPY's separators.  The length of a value is
 * that before compression.  Values are not detoasted, as a TOAST pointer
 * contains the size of its value.  Damaged rows are not counted.  Errors have
 * the row in their context.
 */
static DumpAmount
block_measure(BlockMeasurer *measurer, BlockNumber block)
{
	ErrorContextCallback place = {error_context_stack, add_place, measurer};
	MemoryContext old_context;
	DumpAmount	amount;
	Buffer		buffer;

	/* visibility tests may allocate memory for members of a multixact */
	old_context = MemoryContextSwitchTo(measurer->block_context);

	ItemPointerSetInvalid(&measurer->tuple.t_self);
	error_context_stack = &place;

	/*
	 * All of the page is measured while it is locked for the tests of
	 * visibility.  As only lengths are read, this takes little time.
	 */
	buffer = ReadBufferExtended(measurer->rel, MAIN_FORKNUM, block,
								RBM_NORMAL, measurer->ring);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	amount = page_amount(measurer, buffer, block);
	UnlockReleaseBuffer(buffer);
	error_context_stack = place.previous;

	MemoryContextSwitchTo(old_context);
	MemoryContextReset(measurer->block_context);

	return amount;
}

/* ----------
 * Estimates from a limited number of blocks where in a heap the rows and
 * bytes to dump are.
 * ----------
 */

/*
 * The number of blocks that are read for each chunk that a relation may have,
 * and the smallest and largest number for a relation.
 */
#define SAMPLED_BLOCKS_PER_CHUNK	32
#define MIN_SAMPLED_BLOCKS	512
#define MAX_SAMPLED_BLOCKS	4096

/* Blocks of a stratum that are looked up in the maps. */
#define PROBES_PER_STRATUM	16

/* Strata on each side whose sampled blocks are used to estimate a stratum. */
#define WINDOW_RADIUS		4

/* A range of adjacent blocks, and the estimated amount in it. */
typedef struct Stratum
{
	BlockNumber nblocks;		/* > 0 */
	DumpAmount	amount;
} Stratum;

typedef struct RelationSample
{
	BlockNumber nblocks;		/* size of the relation */
	int			nstrata;		/* 0 if nblocks is 0 */
	Stratum    *strata;			/* in block order, without gaps */
} RelationSample;

typedef enum BlockClass
{
	BLOCK_SETTLED,
	BLOCK_UNSETTLED
} BlockClass;

#define NUM_BLOCK_CLASSES	(BLOCK_UNSETTLED + 1)

/* The information of the visibility map and the free space map on a block. */
typedef struct BlockProbe
{
	BlockClass	class;
	double		used;			/* bytes in use */
} BlockProbe;

/* The probes of a stratum. */
typedef struct StratumProbe
{
	/* sum of the bytes in use in a class, divided by the number of probes */
	double		mean_used[NUM_BLOCK_CLASSES];

	/* the block that was read */
	BlockProbe	sampled;
	DumpAmount	amount;
} StratumProbe;

/*
 * Return the first block of a stratum.  For the number nstrata, this is the
 * end of the relation.
 */
static BlockNumber
stratum_start(BlockNumber nblocks, int nstrata, int stratum)
{
	return (BlockNumber) ((uint64) nblocks * stratum / nstrata);
}

/* Return the number of probes in a stratum of this size. */
static int
num_probes(BlockNumber nblocks)
{
	return Min(nblocks, PROBES_PER_STRATUM);
}

/*
 * Return the block of the stratum that is probed as number "probe".  The
 * stratum is divided into one part for each probe, and a hash selects a block
 * of the part.  The block is always the same, so that plans are reproducible.
 * But the distances are irregular, as data may have regular patterns.
 */
static BlockNumber
probe_block(BlockNumber start, BlockNumber nblocks, int probe)
{
	int			nprobes = num_probes(nblocks);
	BlockNumber first = start + stratum_start(nblocks, nprobes, probe);
	BlockNumber end = start + stratum_start(nblocks, nprobes, probe + 1);
	uint64		hash = murmurhash32(first);

	return first + (BlockNumber) ((hash * (end - first)) >> 32);
}

/* Return the number of the probe of a stratum whose block is read. */
static int
sampled_probe(BlockNumber start, BlockNumber nblocks)
{
	return murmurhash32(~start) % num_probes(nblocks);
}

/* Prefetch the blocks of the next strata, up to this distance. */
static void
prefetch_samples(const RelationSample *sample, Relation rel, int current,
				 int distance, int *prefetched)
{
	int			limit = Min(sample->nstrata - 1, current + distance);

	for (; *prefetched <= limit; (*prefetched)++)
	{
		BlockNumber start = stratum_start(sample->nblocks, sample->nstrata,
										  *prefetched);
		BlockNumber nblocks = sample->strata[*prefetched].nblocks;
		int			probe = sampled_probe(start, nblocks);

		PrefetchBuffer(rel, MAIN_FORKNUM, probe_block(start, nblocks, probe));
	}
}

/* Look up a block in the maps. */
static BlockProbe
block_probe(Relation rel, BlockNumber block, Buffer *vmbuf)
{
	BlockProbe	probe = {BLOCK_UNSETTLED, BLCKSZ};

	/*
	 * The look-up takes no lock, so its result may be out of date (see
	 * visibilitymap.c), but it is good enough for an estimate.  vmbuf keeps
	 * the page of the map pinned from one block to the next.
	 */
	if (VM_ALL_VISIBLE(rel, block, vmbuf))
	{
		Size		space = BLCKSZ - SizeOfPageHeaderData;
		Size		free = GetRecordedFreeSpace(rel, block);

		probe.class = BLOCK_SETTLED;

		/*
		 * An empty page must have 0 bytes in use.  The map can contain at
		 * most MaxFSMRequestSize, rounded down to a multiple of BLCKSZ / 256
		 * (see freespace.c), which may be too low by almost two such steps.
		 */
		probe.used = Max(0.0, (double) space - free - 2.0 * BLCKSZ / 256);
	}

	return probe;
}

/*
 * Look up some blocks of a stratum in the maps, and read one of them.  All
 * look-ups count in the mean of their class.
 */
static void
probe_stratum(Relation rel, BlockMeasurer *measurer, BlockNumber start,
			  BlockNumber nblocks, Buffer *vmbuf, StratumProbe *result)
{
	int			nprobes = num_probes(nblocks);
	int			sampled = sampled_probe(start, nblocks);

	for (int i = 0; i < nprobes; i++)
	{
		BlockNumber block = probe_block(start, nblocks, i);
		BlockProbe	probe = block_probe(rel, block, vmbuf);

		result->mean_used[probe.class] += probe.used / nprobes;
		if (i == sampled)
		{
			result->sampled = probe;
			result->amount = block_measure(measurer, block);
		}
	}
}

/*
 * Add up the amounts in the sampled blocks of a class, in the strata from
 * "first" to "last", and return the sum of their bytes in use.
 */
static double
sum_samples(const StratumProbe *probes, int first, int last, BlockClass class,
			DumpAmount *amount)
{
	double		used = 0;

	amount->rows = amount->bytes = 0;
	for (int i = first; i <= last; i++)
	{
		if (probes[i].sampled.class != class)
			continue;
		used += probes[i].sampled.used;
		amount->rows += probes[i].amount.rows;
		amount->bytes += probes[i].amount.bytes;
	}

	return used;
}

/*
 * Estimate the amount of each stratum.  If no block of a class that is in use
 * was read in the window, the ratio of all samples of the class is used.
 */
static void
estimate_strata(RelationSample *sample, const StratumProbe *probes)
{
	int			nstrata = sample->nstrata;

	for (BlockClass class = 0; class < NUM_BLOCK_CLASSES; class++)
	{
		DumpAmount	all;
		double		all_used = sum_samples(probes, 0, nstrata - 1, class, &all);

		for (int i = 0; i < nstrata; i++)
		{
			Stratum    *stratum = &sample->strata[i];
			int			first = Max(i - WINDOW_RADIUS, 0);
			int			last = Min(i + WINDOW_RADIUS, nstrata - 1);
			DumpAmount	known;
			double		used = sum_samples(probes, first, last, class, &known);
			double		scale;

			if (used <= 0)
			{
				used = all_used;
				known = all;
			}
			if (used <= 0)
				continue;

			scale = stratum->nblocks * probes[i].mean_used[class] / used;
			stratum->amount.rows += known.rows * scale;
			stratum->amount.bytes += known.bytes * scale;
		}
	}
}

/*
 * Probe all strata, and read one block of each.  Blocks are prefetched,
 * because they are too far apart for the kernel's read-ahead.
 */
static void
measure_some(RelationSample *sample, Relation rel, BlockMeasurer *measurer)
{
	StratumProbe *probes = palloc0(sizeof(StratumProbe) * sample->nstrata);
	int			distance;
	int			prefetched = 0;
	Buffer		vmbuf = InvalidBuffer;

	/* effective_io_concurrency of the tablespace; 0 means no prefetching */
	distance = get_tablespace_io_concurrency(rel->rd_rel->reltablespace);

	for (int i = 0; i < sample->nstrata; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (distance > 0)
			prefetch_samples(sample, rel, i, distance, &prefetched);
		probe_stratum(rel, measurer,
					  stratum_start(sample->nblocks, sample->nstrata, i),
					  sample->strata[i].nblocks, &vmbuf, &probes[i]);
	}
	if (BufferIsValid(vmbuf))
		ReleaseBuffer(vmbuf);

	estimate_strata(sample, probes);
	pfree(probes);
}

/* Return the number of blocks of the relation and of its TOAST table. */
static double
blocks_with_toast(Relation rel, BlockNumber nblocks)
{
	Oid			toastrelid = rel->rd_rel->reltoastrelid;
	double		result = nblocks;
	Relation	toastrel;

	if (!OidIsValid(toastrelid))
		return result;
	toastrel = table_open(toastrelid, AccessShareLock);
	result += RelationGetNumberOfBlocks(toastrel);
	table_close(toastrel, AccessShareLock);
	return result;
}

/*
 * Return the number of blocks to read.  Before anything was read, the number
 * of chunks is estimated from the size of the files.  Only compressed values
 * have more bytes in the dump.
 */
static int
num_sampled_blocks(Relation rel, BlockNumber nblocks, int64 chunk_bytes)
{
	double		chunks = blocks_with_toast(rel, nblocks) * BLCKSZ / chunk_bytes;
	double		wanted = Min(chunks * SAMPLED_BLOCKS_PER_CHUNK,
							 MAX_SAMPLED_BLOCKS);

	return (int) Min(nblocks, Max(wanted, MIN_SAMPLED_BLOCKS));
}

/*
 * Sample a heap in order to divide it into chunks of about "chunk_bytes".  If
 * it has up to MIN_SAMPLED_BLOCKS blocks, or up to MAX_SAMPLED_BLOCKS if the
 * chunks are small, all blocks are read.  Then each block is a stratum, and
 * the numbers are exact.
 */
static RelationSample *
relation_sample(Relation rel, Snapshot snapshot, int64 chunk_bytes)
{
	RelationSample *sample = palloc0(sizeof(RelationSample));
	BlockMeasurer *measurer;

	sample->nblocks = RelationGetNumberOfBlocks(rel);
	sample->nstrata = num_sampled_blocks(rel, sample->nblocks, chunk_bytes);
	sample->strata = palloc0(sizeof(Stratum) * sample->nstrata);
	for (int i = 0; i < sample->nstrata; i++)
		sample->strata[i].nblocks =
			stratum_start(sample->nblocks, sample->nstrata, i + 1) -
			stratum_start(sample->nblocks, sample->nstrata, i);

	/* the measurer and the sample are freed with the context of the caller */
	measurer = block_measurer_new(rel, snapshot);
	if (sample->nblocks == (BlockNumber) sample->nstrata)
	{
		/* every block is a stratum, and is read */
		for (int i = 0; i < sample->nstrata; i++)
		{
			CHECK_FOR_INTERRUPTS();
			sample->strata[i].amount = block_measure(measurer, (BlockNumber) i);
		}
	}
	else
		measure_some(sample, rel, measurer);

	return sample;
}

/* ----------
 * Divides a sampled relation into chunks.
 *
 * Let n = ceil(total bytes / chunk bytes).  The goals for cuts are the places
 * before which there are k * total / n bytes, for k = 1 .. n - 1.  The bytes
 * of a stratum are assumed to be evenly distributed, so a goal has a position
 * in the stratum, which is rounded to the nearest boundary between blocks.
 *
 * A goal is skipped if a cut there would leave too little on either side.
 * This happens if a block has more bytes than a chunk should have, and all
 * goals in the block are rounded to its two ends.  It also means that regions
 * without rows become parts of an adjacent chunk.  The goals after it do not
 * change.
 *
 * Chunks are returned one by one, and not as an array: for the smallest chunk
 * size, their number is the number of blocks, up to billions.
 * ----------
 */

/* The smallest amount of a chunk, as a share of the planned bytes. */
#define MIN_CHUNK_SHARE		0.25

/* A place between two blocks and the amount before it. */
typedef struct Mark
{
	double		block;
	DumpAmount	before;
} Mark;

struct ChunkCutter
{
	const RelationSample *sample;
	double		target;			/* planned bytes of a chunk */
	double		nchunks;		/* planned number of chunks */
	Mark		end;			/* of the relation */

	/* progress of chunk_cutter_next() */
	int			stratum;		/* the current stratum */
	Mark		stratum_start;	/* its start */
	double		goal;			/* number k of the next goal */
	Mark		last_cut;
	bool		finished;
};

/* Return the mark "nblocks" after the start of a stratum. */
static Mark
mark_in_stratum(const Mark *start, const Stratum *stratum, double nblocks)
{
	double		share = nblocks / stratum->nblocks;
	Mark		mark;

	mark.block = start->block + nblocks;
	mark.before.rows = start->before.rows + stratum->amount.rows * share;
	mark.before.bytes = start->before.bytes + stratum->amount.bytes * share;

	return mark;
}

ChunkCutter *
chunk_cutter_new(Relation rel, Snapshot snapshot, int64 chunk_bytes)
{
	const RelationSample *sample = relation_sample(rel, snapshot,
												   chunk_bytes);
	ChunkCutter *cutter = palloc0(sizeof(ChunkCutter));

	/* totals are summed in the same order as in next_cut(), as sums round */
	cutter->sample = sample;
	cutter->goal = 1;
	for (int i = 0; i < sample->nstrata; i++)
		cutter->end = mark_in_stratum(&cutter->end, &sample->strata[i],
									  sample->strata[i].nblocks);

	cutter->nchunks = ceil(cutter->end.before.bytes / chunk_bytes);

	/* the number of a chunk is an SQL integer */
	cutter->nchunks = Min(Max(cutter->nchunks, 1), PG_INT32_MAX);
	cutter->target = cutter->end.before.bytes / cutter->nchunks;

	return cutter;
}

/* Would a cut at this mark leave enough bytes on both sides? */
static bool
worth_a_cut(const ChunkCutter *cutter, const Mark *mark)
{
	double		least = cutter->target * MIN_CHUNK_SHARE;

	return mark->before.bytes - cutter->last_cut.before.bytes >= least &&
		cutter->end.before.bytes - mark->before.bytes >= least;
}

/*
 * Find the next cut in the current stratum.  Returns false if it has no more,
 * after all goals of the stratum have been used.
 */
static bool
next_cut_in_stratum(ChunkCutter *cutter, Mark *cut)
{
	const Stratum *stratum = &cutter->sample->strata[cutter->stratum];
	const Mark *start = &cutter->stratum_start;
	double		bytes = stratum->amount.bytes;

	while (cutter->goal < cutter->nchunks &&
		   cutter->goal * cutter->target <= start->before.bytes + bytes)
	{
		double		goal_bytes = cutter->goal * cutter->target -
			start->before.bytes;
		double		nblocks = rint(goal_bytes / bytes * stratum->nblocks);
		double		next_position;
		double		next_goal;

		*cut = mark_in_stratum(start, stratum, nblocks);

		/* skip all further goals that are rounded to the same boundary */
		next_position = (nblocks + 0.5) / stratum->nblocks;
		next_goal = ceil((start->before.bytes + bytes * next_position) /
						 cutter->target);
		cutter->goal = Max(cutter->goal + 1, next_goal);

		if (worth_a_cut(cutter, cut))
			return true;
	}

	return false;
}

/* Find the next cut, stratum by stratum.  Returns false if none is left. */
static bool
next_cut(ChunkCutter *cutter, Mark *cut)
{
	while (cutter->stratum < cutter->sample->nstrata)
	{
		const Stratum *stratum = &cutter->sample->strata[cutter->stratum];

		if (next_cut_in_stratum(cutter, cut))
			return true;
		cutter->stratum_start = mark_in_stratum(&cutter->stratum_start,
												stratum, stratum->nblocks);
		cutter->stratum++;
	}

	return false;
}

/* The last chunk has no cut at its end, and ends with the relation. */
bool
chunk_cutter_next(ChunkCutter *cutter, Chunk *chunk)
{
	const Mark *start = &cutter->last_cut;
	Mark		cut;

	if (cutter->finished)
		return false;

	if (!next_cut(cutter, &cut))
	{
		cut = cutter->end;
		cutter->finished = true;
	}

	chunk->start_block = (BlockNumber) start->block;
	chunk->end_block = (BlockNumber) cut.block;
	chunk->amount.rows = cut.before.rows - start->before.rows;
	chunk->amount.bytes = cut.before.bytes - start->before.bytes;
	cutter->last_cut = cut;

	return true;
}
