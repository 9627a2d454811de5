/*-------------------------------------------------------------------------
 *
 * planner.c
 *	  Estimates where in a heap the rows and bytes to dump are, from a bounded
 *	  number of its blocks.
 *
 * A relation of more blocks than are to be read is cut into that many strata
 * of equal size.  In each stratum up to PROBES_PER_STRATUM blocks are probed,
 * that is looked up in the visibility map and the free space map, and one of
 * the probed blocks is read.  More blocks than the chunks need are not read:
 * the client waits for the plan, and a short dump has to stay short.
 *
 * The maps distinguish two classes of blocks.  A block is settled if it is
 * all visible: it has no dead rows, and the free space map says how many of
 * its bytes are in use.  All other blocks are unsettled: dead rows may fill
 * them, and what the free space map has about them is old, so each is taken
 * for one full page.  The blocks that were read show for each class how many
 * rows and bytes to dump come with a byte in use (ratio estimator); TOAST
 * enters here. Since one stratum has only one such block, the ratio is taken
 * over a window of strata around it.  Thus
 *
 *	  stratum = blocks * sum over classes (mean bytes in use * ratio in
 *	  window)
 *
 * Emptied regions, dead rows, half filled pages and TOAST that is
 * concentrated in one part of the relation all move the estimate at the place
 * where they are, whether or not VACUUM has been there.
 *
 * The number of block reads and of look-ups is bounded for every size of the
 * relation: neither the relation nor its maps are scanned.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/freespace.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "read/heap_reader.h"
#include "read/planner.h"

/* ----------
 * Counts the rows of one heap block and the bytes a dump of them has to
 * move.
 *
 * The block is read as heapgetpage() (page_collect_tuples() since 17) reads
 * it, every line pointer tested by the snapshot, which sees at most one
 * version of a HOT chain.  No predicate lock is taken, since an estimate of
 * sizes does not read the rows' values.
 * ----------
 */

/* The bytes that COPY's text format has for a NULL ("\N") and a separator. */
#define NULL_BYTES			2
#define SEPARATOR_BYTES		1

typedef struct BlockMeasurer
{
	Relation	rel;			/* borrowed */
	Snapshot	snapshot;		/* borrowed */
	BufferAccessStrategy ring;
	MemoryContext block_context;	/* reset for every block */
	HeapTupleData tuple;		/* the one being looked at */

	/* one element for each attribute of rel */
	TupleDeformer *deformer;
	bool	   *is_dumped;
} BlockMeasurer;

/*
 * Make a measurer in the current memory context.  The relation must be a heap
 * and stay open and locked, the snapshot registered or active, as long as the
 * measurer is used.
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

/* The bytes of one value that is not null, without separator. */
static Size
value_bytes(Form_pg_attribute att, Datum value)
{
	if (att->attlen > 0)
		return att->attlen;
	if (att->attlen == -1)
	{
		Size		bytes = toast_raw_datum_size(value) - VARHDRSZ;

		/* a size that no value can have is damage */
		return bytes <= MaxAllocSize ? bytes : 0;
	}
	return strlen(DatumGetCString(value));
}

/* A damaged row counts 0: the reader will raise the error for it. */
static double
row_bytes(BlockMeasurer *measurer)
{
	TupleDesc	tupdesc = RelationGetDescr(measurer->rel);
	TupleDeformer *deformer = measurer->deformer;
	double		bytes = 0;

	/* Fills in the values of columns added after the row was written. */
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

	/* A row without columns is still a line. */
	return Max(bytes, SEPARATOR_BYTES);
}

/*
 * The rows and bytes that the snapshot sees of a page that is locked.  Damage
 * is not reported here: a plan that fails would keep all chunks from being
 * read, and the reader names the row.
 */
static DumpAmount
page_amount(BlockMeasurer *measurer, Buffer buffer, BlockNumber block)
{
	Page		page = BufferGetPage(buffer);
	HeapTuple	tuple = &measurer->tuple;
	DumpAmount	amount = {0, 0};
	OffsetNumber last;

	/* The relation was extended, and nothing was written there yet. */
	if (PageIsNew(page))
		return amount;

	/* damaged line pointers are passed over: the reader raises the error */
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
 * Tell with any error where it was met: a visibility test may not find the
 * transaction that a damaged row names.
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
 * Read block "block", which must exist, through the measurer's bulk-read ring
 * and return the rows and bytes of it that the snapshot sees.  Bytes are
 * those of the values that COPY would write: at their length before
 * compression and TOAST, dropped and generated columns left out, plus COPY's
 * separators. Nothing is detoasted, as a TOAST pointer has the size of its
 * value.  Damaged rows count nothing.  The context of an error names the row
 * where it occurred.
 */
static DumpAmount
block_measure(BlockMeasurer *measurer, BlockNumber block)
{
	ErrorContextCallback place = {error_context_stack, add_place, measurer};
	MemoryContext old_context;
	DumpAmount	amount;
	Buffer		buffer;

	/* Visibility tests may allocate, e.g. the members of a multixact. */
	old_context = MemoryContextSwitchTo(measurer->block_context);

	ItemPointerSetInvalid(&measurer->tuple.t_self);
	error_context_stack = &place;

	/*
	 * All of the page is measured under the share lock that the tests of
	 * visibility need.  Only lengths are looked at, so that it is short.
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
 * Estimates where in a heap the rows and bytes to dump are, from a bounded
 * number of its blocks.
 * ----------
 */

/*
 * How many blocks of a relation are read for each chunk that it may have, and
 * how many at least and at most.
 */
#define SAMPLED_BLOCKS_PER_CHUNK	32
#define MIN_SAMPLED_BLOCKS	512
#define MAX_SAMPLED_BLOCKS	4096

#define PROBES_PER_STRATUM	16

/* Strata on each side whose sampled blocks help to estimate a stratum. */
#define WINDOW_RADIUS		4

/* A range of neighbouring blocks and what is estimated to be in it. */
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

/* A block, as the visibility map and the free space map describe it. */
typedef struct BlockProbe
{
	BlockClass	class;
	double		used;			/* bytes in use */
} BlockProbe;

/* The probes of a stratum. */
typedef struct StratumProbe
{
	/* bytes in use in the blocks of a class, as a mean over all probes */
	double		mean_used[NUM_BLOCK_CLASSES];

	/* the block that was read */
	BlockProbe	sampled;
	DumpAmount	amount;
} StratumProbe;

/* First block of a stratum; of stratum nstrata, the end of the relation. */
static BlockNumber
stratum_start(BlockNumber nblocks, int nstrata, int stratum)
{
	return (BlockNumber) ((uint64) nblocks * stratum / nstrata);
}

static int
num_probes(BlockNumber nblocks)
{
	return Min(nblocks, PROBES_PER_STRATUM);
}

/*
 * Block number "probe" of a stratum to probe.  The stratum is divided into as
 * many parts as there are probes, and a hash finds the place in a part:
 * always the same one, yet without a period that data could have as well.
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

/* The number of the probe of a stratum that is also read. */
static int
sampled_probe(BlockNumber start, BlockNumber nblocks)
{
	return murmurhash32(~start) % num_probes(nblocks);
}

/* Start the reads that come next, as far ahead as the tablespace wants. */
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

static BlockProbe
block_probe(Relation rel, BlockNumber block, Buffer *vmbuf)
{
	BlockProbe	probe = {BLOCK_UNSETTLED, BLCKSZ};

	/*
	 * The look-up takes no lock and may be out of date at once (see
	 * visibilitymap.c), which is good enough for an estimate.  vmbuf keeps
	 * the page of the map pinned from one block to the next.
	 */
	if (VM_ALL_VISIBLE(rel, block, vmbuf))
	{
		Size		space = BLCKSZ - SizeOfPageHeaderData;
		Size		free = GetRecordedFreeSpace(rel, block);

		probe.class = BLOCK_SETTLED;

		/*
		 * An empty page must count nothing.  What the map can name at most is
		 * MaxFSMRequestSize, rounded down to a multiple of BLCKSZ / 256 (see
		 * freespace.c), which leaves less than two such steps unsaid.
		 */
		probe.used = Max(0.0, (double) space - free - 2.0 * BLCKSZ / 256);
	}

	return probe;
}

/*
 * Look a few blocks of a stratum up in the maps, and read one of them.  All
 * of the look-ups count in the mean of their class.
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
 * Add up what the sampled blocks of a class hold, in the strata from "first"
 * to "last", and return their bytes in use.
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
 * Estimate every stratum.  A class that was probed, but of which no block in
 * use was read in the window, is judged by all samples of the class.
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
 * Read one block of each stratum.  Reads are started in advance, since the
 * blocks lie too far apart for the kernel to read ahead.
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

/* Blocks of the relation and of its out-of-line values. */
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
 * How many blocks are to be read.  As long as nothing was read, a chunk is
 * taken for as many bytes of the file; only compressed values make more of
 * them.
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
 * Sample a heap closely enough to cut it into chunks of about "chunk_bytes".
 * Up to MIN_SAMPLED_BLOCKS blocks, and up to MAX_SAMPLED_BLOCKS if the chunks
 * are small, are all read, each a stratum of its own with exact figures.
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

	/* the measurer's memory goes with that of the caller, as the sample's */
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
 * Cuts a sampled relation into block ranges of about equal bytes to dump.
 *
 * With n = ceil(total bytes / chunk bytes), the goals for cuts are the places
 * where the bytes before them reach k * total / n, k = 1 .. n - 1.  Inside a
 * stratum bytes are taken to be spread evenly, so a goal has a block
 * position, which is rounded to the nearest boundary between blocks.
 *
 * A goal is passed over if a cut there would leave too little on either side:
 * that happens where a block has more bytes than a chunk should have, and the
 * goals in it all round to its two ends.  It also makes regions without rows
 * part of a neighbouring chunk.  The goals that follow stay where they are.
 *
 * Chunks are handed out one by one, not as an array: for the smallest chunk
 * size their number is the number of blocks, up to billions.
 * ----------
 */

/* The least that is worth a chunk, as a share of the bytes aimed at. */
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
	double		target;			/* bytes of a chunk */
	double		nchunks;		/* chunks aimed at */
	Mark		end;			/* of the relation */

	/* how far chunks were handed out */
	int			stratum;		/* looked at next */
	Mark		stratum_start;	/* where it begins */
	double		goal;			/* number k of the next goal */
	Mark		last_cut;
	bool		finished;
};

/* The place "nblocks" after a mark in the stratum that begins there. */
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

	/*
	 * the totals are added up as next_cut() does it, so that both round alike
	 */
	cutter->sample = sample;
	cutter->goal = 1;
	for (int i = 0; i < sample->nstrata; i++)
		cutter->end = mark_in_stratum(&cutter->end, &sample->strata[i],
									  sample->strata[i].nblocks);

	cutter->nchunks = ceil(cutter->end.before.bytes / chunk_bytes);

	/* Chunks are numbered by an SQL integer. */
	cutter->nchunks = Min(Max(cutter->nchunks, 1), PG_INT32_MAX);
	cutter->target = cutter->end.before.bytes / cutter->nchunks;

	return cutter;
}

static bool
worth_a_cut(const ChunkCutter *cutter, const Mark *mark)
{
	double		least = cutter->target * MIN_CHUNK_SHARE;

	return mark->before.bytes - cutter->last_cut.before.bytes >= least &&
		cutter->end.before.bytes - mark->before.bytes >= least;
}

/*
 * Find the next cut in the current stratum, false if it has none (left).  All
 * goals of the stratum are used up then.
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

		/* All further goals that round to the same block go with this one. */
		next_position = (nblocks + 0.5) / stratum->nblocks;
		next_goal = ceil((start->before.bytes + bytes * next_position) /
						 cutter->target);
		cutter->goal = Max(cutter->goal + 1, next_goal);

		if (worth_a_cut(cutter, cut))
			return true;
	}

	return false;
}

/* Find the next cut, stratum by stratum; false if none is left. */
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

/* There is no cut at the end: the last chunk ends with the relation. */
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
