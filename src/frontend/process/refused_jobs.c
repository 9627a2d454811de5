/*
 * refused_jobs.c
 *		Jobs that workers have refused, for others to do.
 *
 * Each refusal appends the job to a line.  A worker looks at each place of
 * the line once: a job that it finds there has been taken, or refused by
 * itself, and will ever be, or it takes it.
 */
#include "base/fe_compat.h"

#include "process/refused_jobs.h"

#define TAKEN (-1)

struct RefusedJobs
{
	int			n_jobs;
	int			n_workers;
	int		   *line;			/* jobs, or TAKEN */
	size_t		n_line;
	size_t		space;
	size_t		first;			/* all before it are taken */
	size_t	   *seen;			/* by worker: so much of the line */
	uint8	  **by;				/* by job, a bit a worker: has it refused?
								 * NULL = none has */
};

RefusedJobs *
refused_jobs_new(int n_jobs, int n_workers)
{
	RefusedJobs *refused = pg_malloc0(sizeof(RefusedJobs));

	refused->n_jobs = n_jobs;
	refused->n_workers = n_workers;
	refused->seen = pg_malloc0((n_workers + 1) * sizeof(size_t));
	return refused;
}

bool
refused_jobs_has(const RefusedJobs *refused, int job, int worker)
{
	return refused->by && refused->by[job] &&
		(refused->by[job][worker / 8] & (1 << worker % 8)) != 0;
}

void
refused_jobs_add(RefusedJobs *refused, int job, int worker)
{
	/* most runs have none */
	if (refused->by == NULL)
		refused->by = pg_malloc0(refused->n_jobs * sizeof(uint8 *));
	if (refused->by[job] == NULL)
		refused->by[job] = pg_malloc0(refused->n_workers / 8 + 1);
	refused->by[job][worker / 8] |= 1 << worker % 8;
	if (refused->n_line == refused->space)
	{
		refused->space = Max(64, refused->space * 2);
		refused->line = pg_realloc(refused->line, refused->space * sizeof(int));
	}
	refused->line[refused->n_line++] = job;
}

int
refused_jobs_take(RefusedJobs *refused, int worker)
{
	size_t	   *seen = &refused->seen[worker];

	for (*seen = Max(*seen, refused->first); *seen < refused->n_line; ++*seen)
	{
		int			job = refused->line[*seen];

		if (job == TAKEN || refused_jobs_has(refused, job, worker))
			continue;
		refused->line[*seen] = TAKEN;
		return job;
	}
	return -1;
}

int
refused_jobs_first(RefusedJobs *refused)
{
	while (refused->first < refused->n_line &&
		   refused->line[refused->first] == TAKEN)
		refused->first++;
	return refused->first < refused->n_line ?
		refused->line[refused->first] : -1;
}

void
refused_jobs_take_first(RefusedJobs *refused)
{
	if (refused_jobs_first(refused) >= 0)
		refused->line[refused->first] = TAKEN;
}
