/*
 * test_estimate.c
 *		The time that is left of a run, as it is estimated while a simulated
 *		clock runs: of runs whose work costs the same throughout, and of
 *		others.
 */
#include "base/fe_compat.h"

#include <math.h>

#include "status/estimate.h"
#include "unit_test.h"

/*
 * What is simulated: workers take jobs in their order; a job of the second
 * pool waits for the last job of the kind that it is for, and a key for other
 * builds of its table.  If more workers are busy than the machine has
 * processors, all of them become slower.
 */
typedef struct SimulatedJob
{
	int			kind;
	double		units;
	double		seconds;		/* that it takes with its own processor */
	int			after;			/* kind; -1 = none */
	double		begin;			/* -1 = not begun */
	double		done;			/* of its seconds */
	double		end;			/* if all of them are done */
} SimulatedJob;

typedef struct Simulation
{
	Estimate   *estimate;
	SimulatedJob jobs[400];
	int			n_jobs;
	int			processors;
	double		now;
} Simulation;

enum
{
	ROWS, PLAIN, TOAST, INDEXES, KEYS, SMALL_TABLES,
	TABLE_1, TABLE_2, TABLE_3, N_KINDS
};

#define STEP 0.02

static Simulation *
simulation_new(int workers, int builders)
{
	Simulation *sim = pg_malloc0(sizeof(Simulation));
	Estimate   *estimate = estimate_new(N_KINDS);

	estimate->workers[0] = workers;
	estimate->workers[1] = builders;
	estimate->kinds[PLAIN].parent = estimate->kinds[TOAST].parent = ROWS;
	estimate->kinds[TOAST].factor = 3;
	estimate->kinds[TABLE_1].parent = estimate->kinds[TABLE_2].parent = PLAIN;
	estimate->kinds[TABLE_3].parent = TOAST;
	estimate->kinds[INDEXES].pool = estimate->kinds[KEYS].pool = 1;
	estimate->kinds[KEYS].exclusive = true;
	estimate->kinds[SMALL_TABLES].prior = 0.1;
	estimate->kinds[INDEXES].prior = 0.5;
	estimate->kinds[INDEXES].relative_to = PLAIN;
	estimate->kinds[KEYS].prior = 0.3;
	estimate->kinds[KEYS].relative_to = PLAIN;
	sim->estimate = estimate;
	sim->processors = workers + builders;
	return sim;
}

/* n jobs of equal size, of this many units and seconds each. */
static void
add_jobs(Simulation *sim, int kind, int n, double units, double seconds)
{
	for (int i = 0; i < n; i++)
	{
		SimulatedJob job = {kind, units, seconds, -1, -1, 0, 0};

		sim->jobs[sim->n_jobs++] = job;
	}
}

/* n indexes or keys of a table, which can be built when it has its rows. */
static void
add_builds(Simulation *sim, int kind, int table, int n, double units,
		   double seconds)
{
	add_jobs(sim, kind, n, units, seconds);
	for (int i = 1; i <= n; i++)
		sim->jobs[sim->n_jobs - i].after = table;
}

static bool
is_done(const SimulatedJob *job)
{
	return job->done >= job->seconds;
}

static bool
may_begin(const Simulation *sim, const SimulatedJob *job)
{
	for (int i = 0; job->after >= 0 && i < sim->n_jobs; i++)
	{
		const SimulatedJob *other = &sim->jobs[i];

		if (other->kind == job->after && !is_done(other))
			return false;
		if (job->kind == KEYS && other->after == job->after &&
			other->begin >= 0 && !is_done(other))
			return false;
	}
	return job->begin < 0;
}

/* Workers without a job take the next.  False when all is done. */
static bool
take_jobs(Simulation *sim)
{
	const Estimate *estimate = sim->estimate;
	int			busy[ESTIMATE_POOLS] = {0};
	bool		all_done = true;

	for (int i = 0; i < sim->n_jobs; i++)
		if (sim->jobs[i].begin >= 0 && !is_done(&sim->jobs[i]))
			busy[estimate->kinds[sim->jobs[i].kind].pool]++;
	for (int i = 0; i < sim->n_jobs; i++)
	{
		SimulatedJob *job = &sim->jobs[i];
		int			pool = estimate->kinds[job->kind].pool;

		all_done &= is_done(job);
		if (busy[pool] == estimate->workers[pool] || !may_begin(sim, job))
			continue;
		job->begin = sim->now;
		busy[pool]++;
	}
	return !all_done;
}

/* Let a step of time pass. */
static void
work(Simulation *sim)
{
	int			busy = 0;
	double		step = STEP;

	for (int i = 0; i < sim->n_jobs; i++)
		busy += sim->jobs[i].begin >= 0 && !is_done(&sim->jobs[i]);
	if (busy > sim->processors)
		step *= (double) sim->processors / busy;
	sim->now += STEP;
	for (int i = 0; i < sim->n_jobs; i++)
	{
		SimulatedJob *job = &sim->jobs[i];

		if (job->begin < 0 || is_done(job))
			continue;
		job->done = Min(job->done + step, job->seconds);
		job->end = sim->now;
	}
}

/* What the leader of a run would say now. */
static double
estimate_now(Simulation *sim)
{
	estimate_clear(sim->estimate);
	for (int i = 0; i < sim->n_jobs; i++)
	{
		const SimulatedJob *job = &sim->jobs[i];
		double		units = job->units * job->done / job->seconds;

		if (job->done > 0)
			estimate_add_done(sim->estimate, job->kind, units,
							  job->end - job->begin);
		if (!is_done(job))
			estimate_add_left(sim->estimate, job->kind, job->units - units,
							  job->after);
	}
	sim->estimate->elapsed = sim->now;
	return estimate_seconds(sim->estimate);
}

/*
 * From a fifth of the run on the estimate is within 25 % of the time that is
 * left, or within a share of the whole time.
 */
static void
estimate_ok(Simulation *sim, double share, const char *what)
{
	double	   *estimates = pg_malloc0(100000 * sizeof(double));
	double		worst = 0;
	double		worst_of_all = 0;
	double		end;
	int			n = 0;

	while (take_jobs(sim) && n < 100000)
	{
		estimates[n++] = estimate_now(sim);
		work(sim);
	}
	end = n * STEP;
	for (int i = 0; i < n; i++)
	{
		double		left = end - i * STEP;

		if (i < n / 5)
			continue;
		worst_of_all = Max(worst_of_all, fabs(estimates[i] - left) / end);
		if (fabs(estimates[i] - left) > end * share)
			worst = Max(worst, fabs(estimates[i] - left) / left);
	}
	printf("# %s: %.1f s, off by %.1f %% of it at most\n", what, end,
		   worst_of_all * 100);
	ok(n > 100 && n < 100000 && worst <= 0.25, what);
	free(estimates);
	free(sim);
}

/*
 * Two tables of equal size, with a key and an index each.  The second one has
 * long rows: its chunks take this many times as long as those of the first
 * one, and its indexes have few rows.  Except for its first chunk, it comes
 * first or last.  The machine has as many processors as a pool has workers.
 */
static Simulation *
half_out_of_line(double times, bool first)
{
	Simulation *sim = simulation_new(2, 2);

	sim->processors = 2;
	add_jobs(sim, TABLE_1, 1, 32, 1);
	add_jobs(sim, TABLE_3, 1, 32, times);
	if (!first)
		add_jobs(sim, TABLE_1, 15, 32, 1);
	add_jobs(sim, TABLE_3, 15, 32, times);
	if (first)
		add_jobs(sim, TABLE_1, 15, 32, 1);
	add_builds(sim, INDEXES, TABLE_1, 1, 16 * 32, 8);
	add_builds(sim, KEYS, TABLE_1, 1, 16 * 32, 4);
	add_builds(sim, INDEXES, TABLE_3, 1, 16, 0.1);
	add_builds(sim, KEYS, TABLE_3, 1, 16, 0.1);
	return sim;
}

void
test_estimate(void)
{
	Simulation *sim = simulation_new(4, 4);

	add_jobs(sim, TABLE_1, 64, 32, 1);
	ok(estimate_now(sim) < 0, "nothing is known before anything is done");
	estimate_ok(sim, 0.02, "steady");

	/* small tables, whose number counts, after a large one */
	sim = simulation_new(4, 4);
	add_jobs(sim, TABLE_1, 40, 32, 1);
	add_jobs(sim, SMALL_TABLES, 300, 1, 0.1);
	estimate_ok(sim, 0.02, "many small tables at the end");

	/* indexes of the large table are left after the rows */
	sim = simulation_new(4, 4);
	add_jobs(sim, TABLE_1, 60, 32, 1);
	add_jobs(sim, TABLE_2, 20, 32, 1);
	add_builds(sim, INDEXES, TABLE_1, 3, 60 * 32, 25);
	add_builds(sim, INDEXES, TABLE_2, 3, 20 * 32, 8);
	estimate_ok(sim, 0.02, "index builds after the rows");

	/* and of the only one */
	sim = simulation_new(2, 2);
	add_jobs(sim, TABLE_1, 60, 32, 1);
	add_builds(sim, INDEXES, TABLE_1, 3, 60 * 32, 30);
	estimate_ok(sim, 0.02, "index builds after the rows of one table");

	/* values out of line cost another time, and are loaded in between */
	sim = simulation_new(4, 4);
	for (int i = 0; i < 32; i++)
	{
		add_jobs(sim, TABLE_1, 1, 32, 0.5);
		add_jobs(sim, TABLE_3, 1, 32, 1.5);
	}
	estimate_ok(sim, 0.02, "half of it out of line");

	/* the same, one table after the other */
	sim = simulation_new(4, 4);
	add_jobs(sim, TABLE_1, 64, 32, 0.5);
	add_jobs(sim, TABLE_3, 32, 32, 1.8);
	estimate_ok(sim, 0.02, "a table, then one out of line");

	/* one job has a third of it */
	sim = simulation_new(4, 4);
	add_jobs(sim, TABLE_1, 1, 1000, 30);
	add_jobs(sim, TABLE_2, 60, 32, 1);
	estimate_ok(sim, 0.02, "one job as long as all others");

	/* half of the bytes out of line; this takes less or more than expected */
	for (int first = 0; first <= 1; first++)
	{
		estimate_ok(half_out_of_line(0.3, first), 0.2, "half of it, fast");
		estimate_ok(half_out_of_line(1, first), 0.2, "half of it");
		estimate_ok(half_out_of_line(8, first), 0.2, "half of it, slow");
	}
}
