/*
 * refused_jobs.h
 *		Jobs that workers have refused, for others to do.
 *
 * There may be as many as the run has jobs, and each may be refused by every
 * worker: none of this takes time that grows with their number, taken over
 * all calls.
 */
#ifndef REFUSED_JOBS_H
#define REFUSED_JOBS_H

typedef struct RefusedJobs RefusedJobs;

/* Of jobs 0 to n_jobs - 1, and workers 0 to n_workers - 1. */
extern RefusedJobs *refused_jobs_new(int n_jobs, int n_workers);

/* Has this worker refused it? */
extern bool refused_jobs_has(const RefusedJobs *refused, int job, int worker);

/* A worker has refused this job, which no worker has now. */
extern void refused_jobs_add(RefusedJobs *refused, int job, int worker);

/*
 * One for this worker to do, which it has not refused, and which is its own
 * from then on; -1 if there is none.
 */
extern int	refused_jobs_take(RefusedJobs *refused, int worker);

/* The first that no worker has, -1 if there is none; and take that. */
extern int	refused_jobs_first(RefusedJobs *refused);
extern void refused_jobs_take_first(RefusedJobs *refused);

#endif							/* REFUSED_JOBS_H */
