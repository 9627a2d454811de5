/*-------------------------------------------------------------------------
 *
 * relation_sample.c
 *	  Estimates where in a heap the rows and bytes to dump are, from a bounded
 *	  number of its blocks.
 *
 * A relation of more blocks than are to be read is cut into that many strata
 * of equal size.  In each stratum up to PROBES_PER_STRATUM blocks are probed,
 * that is looked up in the visibility map and the free space map, and one of
 * the probed blocks is read.  More blocks than the chunks need are not read:
 * the client waits for the plan, and a short dump has to stay short.
 *
 * The maps tell two classes of blocks apart.  A block is settled if it is all
 * visible: it has no dead rows, and the free space map says how many of its
 * bytes are in use.  All other blocks are unsettled: dead rows may fill them,
 * and what the free space map has about them is old, so each is taken for one
 * full page.  The blocks that were read tell for each class how many rows and
 * bytes to dump come with a byte in use (ratio estimator); TOAST enters here.
 * Since one stratum has only one such block, the ratio is taken over a window
 * of strata around it.  Thus
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

#include "access/table.h"
#include "access/visibilitymap.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/freespace.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "plan/relation_sample.h"

#define PROBES_PER_STRATUM	16

/* Strata on each side whose sampled blocks help to estimate a stratum. */
#define WINDOW_RADIUS		4

typedef enum BlockClass
{
	BLOCK_SETTLED,
	BLOCK_UNSETTLED
} BlockClass;

#define NUM_BLOCK_CLASSES	(BLOCK_UNSETTLED + 1)

/* What the maps say of a block. */
typedef struct BlockProbe
{
	BlockClass	class;
	double		used;			/* bytes in use */
} BlockProbe;

/* What is known of a stratum. */
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

/* Which probe of a stratum is also read. */
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

/* Read all blocks: every one is a stratum. */
static void
measure_all(RelationSample *sample, BlockMeasurer *measurer)
{
	for (int i = 0; i < sample->nstrata; i++)
	{
		CHECK_FOR_INTERRUPTS();
		sample->strata[i].amount = block_measure(measurer, (BlockNumber) i);
	}
}

static void
measure_some(RelationSample *sample, Relation rel, BlockMeasurer *measurer)
{
	StratumProbe *probes = palloc0(sizeof(StratumProbe) * sample->nstrata);
	int			distance;
	int			prefetched = 0;
	Buffer		vmbuf = InvalidBuffer;

	/* sampled blocks lie far apart, so no read-ahead but ours finds them */
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

RelationSample *
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

	measurer = block_measurer_new(rel, snapshot);
	if (sample->nblocks == (BlockNumber) sample->nstrata)
		measure_all(sample, measurer);
	else
		measure_some(sample, rel, measurer);
	block_measurer_free(measurer);

	return sample;
}
