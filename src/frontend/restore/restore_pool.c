/*
 * restore_pool.c
 *		The workers of a restore, and what its leader does for them.
 */
#include "base/fe_compat.h"

#include "base/shared_memory.h"
#include "load/restore_journal.h"
#include "process/progress.h"
#include "process/worker_pool.h"
#include "restore/restore_pool.h"
#include "status/progress_rows.h"
#include "status/run.h"

typedef struct RestorePool
{
	RestoreWork *work;
	Run		   *run;
	RestoreWorker *worker;		/* in a worker: itself */
	int			first_job;		/* of those that the pool has at the time */
	int		   *jobs_left;		/* by data file that jobs share */
} RestorePool;

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
restore_pool_start_worker(void *arg, int no)
{
	RestorePool *pool = arg;

	pool->worker = restore_worker_start(pool->work, no);
}

static bool
restore_pool_run_job(void *arg, int job, volatile int *step)
{
	RestorePool *pool = arg;

	restore_worker_run(pool->worker, pool->first_job + job, step);
	return true;
}

static void
restore_pool_stop_worker(void *arg)
{
	RestorePool *pool = arg;

	restore_worker_stop(pool->worker);
}

static char *
restore_pool_describe_job(void *arg, int job, int step)
{
	RestorePool *pool = arg;

	return dump_plan_describe_job(pool->run->plan, pool->first_job + job, step);
}

/* A worker is lost: what it was doing, its transaction's end has undone. */
static void
restore_pool_reset_job(void *arg, int job)
{
	RestorePool *pool = arg;

	run_event_retry(pool->run, pool->first_job + job);
}

/*
 * So that another run need not look for pieces that are left: it does no
 * harm if that is not noted.
 */
static void
note_file(const RestorePool *pool, const DataFile *file)
{
	const RestoreWork *work = pool->work;
	char	   *name = restore_log_file(file);

	(void) restore_journal_try_done(work->log, work->target->conn, name);
	free(name);
}

/* A file that jobs share is done when all of them are. */
static void
shared_job_is_done(RestorePool *pool, const Job *job)
{
	const DumpPlan *plan = pool->run->plan;
	const DataFile *file = plan->queue->files[job->first];
	int			no = file - plan->chunks->files;

	if (--pool->jobs_left[no] > 0)
		return;
	restore_pieces_end(pool->work->shared[no]);
	if (!pool->work->has_failed[no])
		note_file(pool, file);
	run_file_result(pool->run, file)->done = true;
}

static void
restore_pool_job_is_done(void *arg, int job_no)
{
	RestorePool *pool = arg;
	const Job  *job = &pool->run->plan->queue->jobs[pool->first_job + job_no];

	if (job->shared)
		shared_job_is_done(pool, job);
}

/* The jobs of a wave, which are neighbours; returns how many. */
static int
jobs_of_wave(const JobQueue *queue, int first)
{
	int			n = 1;

	while (first + n < queue->n_jobs &&
		   queue->jobs[first + n].wave == queue->jobs[first].wave)
		n++;
	return n;
}

/* What workers share of each file that jobs share. */
static void
prepare_shares(RestorePool *pool)
{
	const Options *options = pool->run->options;
	const DumpPlan *plan = pool->run->plan;
	RestoreWork *work = pool->work;

	for (int i = 0; i < plan->queue->n_jobs; i++)
	{
		const Job  *job = &plan->queue->jobs[i];
		int			no;

		if (!job->shared)
			continue;
		no = plan->queue->files[job->first] - plan->chunks->files;
		if (pool->jobs_left[no]++ > 0)
			continue;
		file_results_share(pool->run->results, no);
		work->shared[no] = restore_pieces_new(options->jobs,
											  archive_plan_piece_bytes(options));
	}
}

/* Jobs of the queue from this one on, which are neighbours. */
static void
run_jobs(RestorePool *pool, int first, int n)
{
	PoolWatch	watch = progress_watch();
	WorkerTask	task = {
		.arg = pool,
		.doing = "restoring",
		.max_retries = (int) pool->run->options->retries,
		.outlives_kill = true,
		.has_slots = true,
		.start = restore_pool_start_worker,
		.run = restore_pool_run_job,
		.stop = restore_pool_stop_worker,
		.describe = restore_pool_describe_job,
		.reset = restore_pool_reset_job,
		.done = restore_pool_job_is_done,
	};

	pool->first_job = first;
	worker_pool_run(&task, &watch, pool->run->options->jobs, n);
}

/* What these jobs, which are done, have left as it proved to be long. */
static void
run_long(RestorePool *pool, int first, int n)
{
	Run		   *run = pool->run;
	const DumpPlan *plan = run->plan;
	DumpPlan	rest = *plan;

	rest.queue = restore_long_queue(pool->work->long_files, first, n,
									run->options->jobs);
	run->plan = &rest;
	prepare_shares(pool);
	if (rest.queue->n_jobs > 0)
		run_jobs(pool, 0, rest.queue->n_jobs);
	run->plan = plan;
}

void
restore_pool_run(RestoreWork *work, Run *run)
{
	/* callbacks use it until the process ends */
	RestorePool *pool = pg_malloc0(sizeof(RestorePool));
	const JobQueue *queue = run->plan->queue;
	int			n_files = run->plan->chunks->n_files;

	pool->work = work;
	pool->run = run;
	pool->jobs_left = pg_malloc0((n_files + 1) * sizeof(int));
	work->commits = shared_memory_new(queue->n_jobs, sizeof(TargetCommit));
	work->shared = pg_malloc0((n_files + 1) * sizeof(SharedRows *));
	prepare_shares(pool);
	progress_rows_begin(run);
	for (int first = 0, n; first < queue->n_jobs; first += n)
	{
		n = jobs_of_wave(queue, first);
		run_jobs(pool, first, n);
		run_long(pool, first, n);
	}
	progress_end();
}
