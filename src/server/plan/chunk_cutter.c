/*-------------------------------------------------------------------------
 *
 * chunk_cutter.c
 *	  Cuts a sampled relation into block ranges of about equal bytes to dump.
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
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "plan/chunk_cutter.h"

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
	const RelationSample *sample;	/* borrowed */
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
chunk_cutter_new(const RelationSample *sample, int64 chunk_bytes)
{
	ChunkCutter *cutter = palloc0(sizeof(ChunkCutter));

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

void
chunk_cutter_free(ChunkCutter *cutter)
{
	pfree(cutter);
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
