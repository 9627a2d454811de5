/*
 * test_refused_jobs.c
 *		Each worker is asked once for each job that was refused, and a million
 *		of them take no longer for each than a few.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "process/worker_pool.h"
#include "unit_test.h"

#define MANY 1000000
#define WORKERS 3

/* Seconds for each of a million; quadratic would be hours. */
#define MAX_MS 20000

static void
check_order(void)
{
	RefusedJobs *refused = refused_jobs_new(10, 2);

	is_number(refused_jobs_take(refused, 0), -1, "none was refused");
	is_number(refused_jobs_first(refused), -1, "so there is no first one");
	refused_jobs_take_first(refused);
	refused_jobs_add(refused, 7, 0);
	refused_jobs_add(refused, 4, 1);
	is_number(refused_jobs_first(refused), 7, "the first that was refused");
	is_number(refused_jobs_take(refused, 0), 4, "one worker's for the other");
	is_number(refused_jobs_take(refused, 0), -1, "none that it has refused");
	is_number(refused_jobs_take(refused, 1), 7, "and the other way round");
	is_number(refused_jobs_first(refused), -1, "all are taken by a worker");
	refused_jobs_add(refused, 7, 1);
	is_number(refused_jobs_take(refused, 0), -1, "both have refused it: one");
	is_number(refused_jobs_take(refused, 1), -1, "both have refused it: other");
	is_number(refused_jobs_first(refused), 7, "both have refused it: there");
	refused_jobs_take_first(refused);
	is_number(refused_jobs_first(refused), -1, "both have refused it: taken");
}

/* All workers refuse all jobs, and the leader does them. */
static void
check_many(void)
{
	RefusedJobs *refused = refused_jobs_new(MANY, WORKERS);
	int64		start = clock_monotonic_ms();
	int			asked[WORKERS] = {0};
	int			n_left = 0;
	bool		any = true;

	for (int i = 0; i < MANY; i++)
		refused_jobs_add(refused, i, i % WORKERS);
	while (any)
	{
		any = false;
		for (int i = 0; i < WORKERS; i++)
		{
			int			job = refused_jobs_take(refused, i);

			if (job < 0)
				continue;
			asked[i]++;
			refused_jobs_add(refused, job, i);
			any = true;
		}
	}
	is_number(asked[0] + asked[1] + asked[2], MANY * (WORKERS - 1),
			  "each worker is asked for what it has not refused");
	while (refused_jobs_first(refused) >= 0)
	{
		refused_jobs_take_first(refused);
		n_left++;
	}
	is_number(n_left, MANY, "all are left to the leader, once");
	ok(clock_monotonic_ms() - start < MAX_MS, "a million do not take long");
}

void
test_refused_jobs(void)
{
	check_order();
	check_many();
}
