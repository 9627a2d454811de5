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
 * The weight of the expected cost.  A kind's own cost counts as much when
 * this share of all work is done, of its parent if it has one.  The share is
 * larger in the second pool, whose first jobs may be small: most of their
 * time is needed to begin.
 */
static const double trust_shares[ESTIMATE_POOLS] = {0.005, 0.2};

Estimate *
estimate_new(int n_kinds)
{
	Estimate   *estimate = pg_malloc0(sizeof(Estimate));

	estimate->kinds = pg_malloc0(n_kinds * sizeof(EstimateKind));
	estimate->n_kinds = n_kinds;
	for (int i = 0; i < n_kinds; i++)
	{
		estimate->kinds[i].parent = ESTIMATE_NO_KIND;
		estimate->kinds[i].relative_to = ESTIMATE_NO_KIND;
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
	EstimateJob job = {estimate->n_jobs, kind, units, after, 0};

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
		kind->prior * (kind->relative_to == ESTIMATE_NO_KIND ? 1 :
					   estimate->kinds[kind->relative_to].cost);
	double		weight = (all->done + all->left) *
		trust_shares[kind->pool];

	if (before <= 0)
		return kind->done > 0 ? kind->seconds / kind->done : 0;
	if (kind->done + weight <= 0)
		return before;
	return (kind->seconds + before * weight) / (kind->done + weight);
}

/* The number of workers that can be busy without delaying each other. */
static int
full_speed_workers(const Estimate *estimate)
{
	return Max(estimate->workers[0], estimate->workers[1]);
}

/*
 * The share of the workers' seconds that the machine has needed for the
 * finished work.  It is less than 1 if workers of both pools were busy at the
 * same time.
 */
static double
machine_share(const Estimate *estimate)
{
	double		seconds = 0;
	double		available = estimate->elapsed * full_speed_workers(estimate);

	for (int i = 0; i < estimate->n_kinds; i++)
		if (estimate->kinds[i].parent == ESTIMATE_NO_KIND)
			seconds += estimate->kinds[i].seconds;
	return seconds > available ? available / seconds : 1;
}

/*
 * When the pool will have done its jobs, if each worker takes the next job
 * when it is free, as the real pools assign them.  Adds the seconds that
 * workers need for these jobs to *sum.
 */
static double
pool_end(Estimate *estimate, int pool, double share, double *sum)
{
	int			n_workers = estimate->workers[pool];
	double	   *busy_until = pg_malloc0(n_workers * sizeof(double));
	double		last = 0;

	for (int i = 0; i < estimate->n_jobs; i++)
	{
		const EstimateJob *job = &estimate->jobs[i];
		EstimateKind *kind = &estimate->kinds[job->kind];
		EstimateKind *after = job->after == ESTIMATE_NO_KIND ? NULL :
			&estimate->kinds[job->after];
		double		seconds = job->units * kind->cost * share;
		int			first = 0;

		if (kind->pool != pool)
			continue;
		for (int j = 1; j < n_workers; j++)
			if (busy_until[j] < busy_until[first])
				first = j;
		busy_until[first] = Max(busy_until[first], job->ready);
		if (after && kind->exclusive)
			busy_until[first] = Max(busy_until[first], after->jobs_end);
		busy_until[first] += seconds;
		if (after)
			after->jobs_end = Max(after->jobs_end, busy_until[first]);
		*sum += seconds;
		kind->end = Max(kind->end, busy_until[first]);
		last = Max(last, busy_until[first]);
	}
	free(busy_until);
	return last;
}

static int
compare_ready(const void *a, const void *b)
{
	const EstimateJob *j1 = a;
	const EstimateJob *j2 = b;

	if (j1->ready != j2->ready)
		return j1->ready < j2->ready ? -1 : 1;
	return j1->no - j2->no;
}

/* Sort the jobs, because a worker takes one that need not wait any more. */
static void
sort_jobs(Estimate *estimate)
{
	for (int i = 0; i < estimate->n_jobs; i++)
		if (estimate->jobs[i].after != ESTIMATE_NO_KIND)
			estimate->jobs[i].ready =
				estimate->kinds[estimate->jobs[i].after].end;
	if (estimate->n_jobs > 0)
		qsort(estimate->jobs, estimate->n_jobs, sizeof(EstimateJob),
			  compare_ready);
}

double
estimate_seconds(Estimate *estimate)
{
	double		share = machine_share(estimate);
	double		sum = 0;
	double		end;
	double		second_end;

	/*
	 * Costs of children depend on their parents, which have lower numbers;
	 * relative costs depend on kinds without such costs.
	 */
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < estimate->n_kinds; i++)
		{
			EstimateKind *kind = &estimate->kinds[i];

			if ((kind->relative_to != ESTIMATE_NO_KIND) != (pass == 1))
				continue;
			kind->cost = cost_of(estimate, kind);
			kind->end = kind->jobs_end = 0;
			if (kind->left > 0 && kind->cost <= 0)
				return -1;
		}
	end = pool_end(estimate, 0, share, &sum);
	sort_jobs(estimate);
	second_end = pool_end(estimate, 1, share, &sum);
	end = Max(end, second_end);
	return Max(end, sum / full_speed_workers(estimate));
}
