/*
 * restore_definitions.c
 *		Makes the definitions of an archive, as often as it takes.
 */
#include "base/fe_compat.h"

#include "base/shared_memory.h"
#include "process/worker_pool.h"
#include "progress/progress.h"
#include "restore/definition_worker.h"
#include "restore/restore_definitions.h"

typedef struct DefinitionPool
{
	DefinitionWork work;
	DefinitionJobs *jobs;
	DefinitionWorker *worker;	/* in a worker: itself */
} DefinitionPool;

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
start_worker(void *arg, int no)
{
	DefinitionPool *pool = arg;

	pool->worker = definition_worker_start(&pool->work);
}

static bool
run_job(void *arg, int job, volatile int *step)
{
	DefinitionPool *pool = arg;

	definition_worker_run(pool->worker, job, step);
	return true;
}

static void
stop_worker(void *arg)
{
	DefinitionPool *pool = arg;

	definition_worker_stop(pool->worker);
}

static char *
describe_job(void *arg, int job, int step)
{
	DefinitionPool *pool = arg;
	const DefinitionJob *its = &pool->jobs->jobs[job];
	const TocEntry *entry =
		pool->work.script->entries[its->first + Max(0, step)].entry;

	return entry->namespace ? psprintf("%s %s.%s", entry->desc, entry->namespace,
									   entry->tag)
		: psprintf("%s %s", entry->desc, entry->tag);
}

static bool
begin_job(void *arg, int job)
{
	DefinitionPool *pool = arg;

	if (!definition_jobs_may_begin(pool->jobs, job))
		return false;
	definition_jobs_begin(pool->jobs, job);
	return true;
}

static void
job_is_done(void *arg, int job)
{
	DefinitionPool *pool = arg;

	definition_jobs_end(pool->jobs, job);
}

/* ----------
 * A phase
 * ----------
 */

/* Entries up to where the next pass begins, which is returned. */
static int
make_pass(const DefinitionWork *work, int first, int n_workers)
{
	/* workers use it until they end */
	DefinitionPool *pool = pg_malloc0(sizeof(DefinitionPool));
	const RestoreStages *stages = work->stages;
	PoolWatch	watch = progress_watch();
	WorkerTask	task = {
		.arg = pool,
		.doing = "making",
		.max_retries = (int) stages->setup.options->retries,
		.outlives_kill = true,
		.start = start_worker,
		.run = run_job,
		.stop = stop_worker,
		.describe = describe_job,
		.reset = worker_pool_no_reset,
		.begin = begin_job,
		.done = job_is_done,
	};
	int			next;

	pool->work = *work;
	pool->jobs = definition_jobs_make(work->script, first, &next,
									  stages->schedule->toc, n_workers);
	pool->work.jobs = pool->jobs;
	pool->work.notes = shared_memory_new(pool->jobs->n_jobs,
										 sizeof(DefinitionNote));
	worker_pool_run(&task, &watch, n_workers, pool->jobs->n_jobs);
	definition_jobs_free(pool->jobs);
	free(pool);
	return next;
}

/* So that errors of the head of scripts are told once in a run. */
static volatile bool *
head_told(void)
{
	static bool *told = NULL;

	if (told == NULL)
		told = shared_memory_new(1, sizeof(bool));
	return told;
}

void
restore_definitions_make(RestoreStages *stages, const JobLog *log,
						 RestorePhase phase, const char *stage)
{
	bool		before_rows = phase == RESTORE_PRE_DATA;
	int			n_workers = before_rows ? 1 : stages->setup.options->jobs;
	int			n_entries;
	int			n_own;
	TocEntry   *entries = restore_schedule_entries(stages->schedule, phase,
												   &n_entries, &n_own);
	DefinitionWork work = {.stages = stages,.log = log};

	/* whatever has become of the leader's session meanwhile */
	target_keep(stages->target);
	if (n_own > 0)
	{
		work.address = target_restore_address(stages->target, "local");
		work.script = script_read(&stages->setup,
								  before_rows ? "pre-data" : "post-data",
								  entries, n_entries);
		work.n_made = shared_memory_new(1, sizeof(int));
		work.head_told = head_told();
		progress_stage_count(stage, "", work.n_made, work.script->n_entries);
		for (int i = 0; i < work.script->n_entries;)
			i = make_pass(&work, i, n_workers);
		progress_end();
		target_renew(stages->target);
	}
	free(entries);
}
