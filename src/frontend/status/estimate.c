/*
 * estimate.c
 *		Estimates how long the rest of a run takes, from the time that its
 *		work has taken so far.
 *
 * The share of bytes that are done would be enough if all bytes took the same
 * time.  But long values, many short columns and indexes each have costs of
 * their own, and the last tables may be of another kind than the first ones.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "status/estimate.h"

/*
 * The weight of the parent's cost.  A kind's own cost counts as much as its
 * parent's when this share of all work of the parent is done.
 */
#define TRUST_SHARE 0.005

Estimate *
estimate_new(int n_kinds)
{
	Estimate   *estimate = pg_malloc0(sizeof(Estimate));

	estimate->kinds = pg_malloc0(n_kinds * sizeof(EstimateKind));
	estimate->n_kinds = n_kinds;
	for (int i = 0; i < n_kinds; i++)
	{
		estimate->kinds[i].parent = ESTIMATE_NO_KIND;
		estimate->kinds[i].factor = 1;
	}
	for (int i = 0; i < ESTIMATE_POOLS; i++)
		estimate->workers[i] = 1;
	return estimate;
}

void
estimate_clear(Estimate *estimate)
{
	for (int i = 0; i < estimate->n_kinds; i++)
	{
		EstimateKind *kind = &estimate->kinds[i];

		kind->done = kind->seconds = kind->left = 0;
	}
	estimate->n_jobs = 0;
}

void
estimate_add_done(Estimate *estimate, int kind, double units, double seconds)
{
	for (; kind != ESTIMATE_NO_KIND; kind = estimate->kinds[kind].parent)
	{
		estimate->kinds[kind].done += units;
		estimate->kinds[kind].seconds += seconds;
		units *= estimate->kinds[kind].factor;
	}
}

void
estimate_add_left(Estimate *estimate, int kind, double units, int after)
{
	EstimateJob job = {kind, units, after};

	*array_add(estimate->jobs, estimate->n_jobs) = job;
	for (; kind != ESTIMATE_NO_KIND; kind = estimate->kinds[kind].parent)
	{
		estimate->kinds[kind].left += units;
		units *= estimate->kinds[kind].factor;
	}
}

/* The cost of a unit of this kind, in seconds; 0 if nothing is known. */
static double
cost_of(const Estimate *estimate, const EstimateKind *kind)
{
	const EstimateKind *all = kind->parent == ESTIMATE_NO_KIND ? kind :
		&estimate->kinds[kind->parent];

	/* the expected cost of a unit, before any of this kind is done */
	double		before = kind->parent != ESTIMATE_NO_KIND ?
		all->cost * kind->factor :
		kind->prior * (kind->relative ? estimate->kinds[0].cost : 1);
	double		weight = (all->done + all->left) * TRUST_SHARE;

	if (before <= 0)
		return kind->done > 0 ? kind->seconds / kind->done : 0;
	if (kind->done + weight <= 0)
		return before;
	return (kind->seconds + before * weight) / (kind->done + weight);
}

/*
 * When the pool will have done its jobs, if each worker takes the next job
 * when it is free, as the real pools assign them.
 */
static double
pool_end(Estimate *estimate, int pool)
{
	int			n_workers = estimate->workers[pool];
	double	   *busy_until = pg_malloc0(n_workers * sizeof(double));
	double		last = 0;

	for (int i = 0; i < estimate->n_jobs; i++)
	{
		const EstimateJob *job = &estimate->jobs[i];
		EstimateKind *kind = &estimate->kinds[job->kind];
		int			first = 0;

		if (kind->pool != pool)
			continue;
		for (int j = 1; j < n_workers; j++)
			if (busy_until[j] < busy_until[first])
				first = j;
		if (job->after != ESTIMATE_NO_KIND)
			busy_until[first] = Max(busy_until[first],
									estimate->kinds[job->after].end);
		busy_until[first] += job->units * kind->cost;
		kind->end = Max(kind->end, busy_until[first]);
		last = Max(last, busy_until[first]);
	}
	free(busy_until);
	return last;
}

double
estimate_seconds(Estimate *estimate)
{
	double		first;
	double		second;

	/*
	 * Costs of children depend on their parents, which have lower numbers;
	 * and "relative" costs depend on kind 0.
	 */
	for (int i = 0; i < estimate->n_kinds; i++)
	{
		EstimateKind *kind = &estimate->kinds[i];

		kind->cost = cost_of(estimate, kind);
		kind->end = 0;
		if (kind->left > 0 && kind->cost <= 0)
			return -1;
	}
	first = pool_end(estimate, 0);
	second = pool_end(estimate, 1);
	return Max(first, second);
}
