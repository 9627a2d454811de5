/*-------------------------------------------------------------------------
 *
 * chunk_plan.c
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

#include "plan/chunk_plan.h"

/* The least that is worth a chunk, as a share of the bytes aimed at. */
#define MIN_CHUNK_SHARE		0.25

/* A place between two blocks and the amount before it. */
typedef struct Mark
{
	double		block;
	DumpAmount	before;
} Mark;

struct ChunkPlan
{
	const RelationSample *sample;	/* borrowed */
	double		target;			/* bytes of a chunk */
	double		nchunks;		/* chunks aimed at */
	Mark		end;			/* of the relation */

	/* how far the plan was handed out */
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

ChunkPlan *
chunk_plan_new(const RelationSample *sample, int64 chunk_bytes)
{
	ChunkPlan  *plan = palloc0(sizeof(ChunkPlan));

	plan->sample = sample;
	plan->goal = 1;
	for (int i = 0; i < sample->nstrata; i++)
		plan->end = mark_in_stratum(&plan->end, &sample->strata[i],
									sample->strata[i].nblocks);

	plan->nchunks = ceil(plan->end.before.bytes / chunk_bytes);

	/* Chunks are numbered by an SQL integer. */
	plan->nchunks = Min(Max(plan->nchunks, 1), PG_INT32_MAX);
	plan->target = plan->end.before.bytes / plan->nchunks;

	return plan;
}

void
chunk_plan_free(ChunkPlan *plan)
{
	pfree(plan);
}

static bool
worth_a_cut(const ChunkPlan *plan, const Mark *mark)
{
	double		least = plan->target * MIN_CHUNK_SHARE;

	return mark->before.bytes - plan->last_cut.before.bytes >= least &&
		plan->end.before.bytes - mark->before.bytes >= least;
}

/*
 * Find the next cut in the current stratum, false if it has none (left).  All
 * goals of the stratum are used up then.
 */
static bool
next_cut_in_stratum(ChunkPlan *plan, Mark *cut)
{
	const Stratum *stratum = &plan->sample->strata[plan->stratum];
	const Mark *start = &plan->stratum_start;
	double		bytes = stratum->amount.bytes;

	while (plan->goal < plan->nchunks &&
		   plan->goal * plan->target <= start->before.bytes + bytes)
	{
		double		goal_bytes = plan->goal * plan->target - start->before.bytes;
		double		nblocks = rint(goal_bytes / bytes * stratum->nblocks);
		double		next_position;
		double		next_goal;

		*cut = mark_in_stratum(start, stratum, nblocks);

		/* All further goals that round to the same block go with this one. */
		next_position = (nblocks + 0.5) / stratum->nblocks;
		next_goal = ceil((start->before.bytes + bytes * next_position) /
						 plan->target);
		plan->goal = Max(plan->goal + 1, next_goal);

		if (worth_a_cut(plan, cut))
			return true;
	}

	return false;
}

static bool
next_cut(ChunkPlan *plan, Mark *cut)
{
	while (plan->stratum < plan->sample->nstrata)
	{
		const Stratum *stratum = &plan->sample->strata[plan->stratum];

		if (next_cut_in_stratum(plan, cut))
			return true;
		plan->stratum_start = mark_in_stratum(&plan->stratum_start, stratum,
											  stratum->nblocks);
		plan->stratum++;
	}

	return false;
}

bool
chunk_plan_next(ChunkPlan *plan, Chunk *chunk)
{
	const Mark *start = &plan->last_cut;
	Mark		cut;

	if (plan->finished)
		return false;

	if (!next_cut(plan, &cut))
	{
		cut = plan->end;
		plan->finished = true;
	}

	chunk->start_block = (BlockNumber) start->block;
	chunk->end_block = (BlockNumber) cut.block;
	chunk->amount.rows = cut.before.rows - start->before.rows;
	chunk->amount.bytes = cut.before.bytes - start->before.bytes;
	plan->last_cut = cut;

	return true;
}
