/*
 * dump_task.c
 *		One task of a distributed dump.
 *
 * The plan's queue assigns jobs to the task.  A pool of this host's own
 * workers does them, as the leader's pool would.  The files that they write
 * have names of this attempt's own, in the plan's directory: several attempts
 * at one task can run at the same time, when a scheduler has given up on a
 * host that is still working.  The leader reads the results of the attempt
 * line by line (tasks/task_plan.h), and renames the files into the archive.
 *
 * A result is written only after the file is on disk, because the leader may
 * be on another host, and may rename the file at once.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "dump/dump.h"
#include "dump/dump_worker.h"
#include "source/worker_monitor.h"
#include "tasks/task_server.h"

typedef struct DumpTask
{
	DumpPool	pool;			/* first member: arg of the callbacks */
	Options		options;		/* from the plan and this host */
	const DumpTaskPlan *task_plan;
	int			task;
	int			n_tasks;
	int			n_jobs;
	bool	   *begun;			/* by job of the pool: begun by a worker */
	bool	   *reported;		/* by job of the pool: the leader knows */
	TaskResults results;		/* only the first process writes them */
	TaskServers *servers;
	WorkerMonitor *monitor;
	ArchiveDir *archive;
} DumpTask;

/* ----------
 * The files of a job.
 * ----------
 */
/*
 * Has another attempt completed all files of the job, and the leader added
 * them to the archive?  The leader renames files into the archive only when
 * they are complete, so it is enough that the names exist.
 */
static bool
is_there(const DumpTask *task, const Job *job)
{
	const char *archive = task->task_plan->head.archive;
	bool		there = archive != NULL;
	char	   *name;

	for (int i = 0; there &&
		 (name = dump_worker_file_name(&task->pool.run, job, i)) != NULL; i++)
	{
		char	   *path = psprintf("%s/%s", archive, name);

		there = access(path, F_OK) == 0;
		free(path);
		free(name);
	}
	return there;
}

/* ----------
 * Callbacks of the worker pool.
 * ----------
 */
static bool
dump_task_begin_job(void *arg, int no)
{
	DumpTask   *task = arg;

	task->begun[no] = true;
	return true;
}

static bool
dump_task_run_job(void *arg, int no, volatile int *step)
{
	DumpTask   *task = arg;
	const Job  *job = &task->pool.run.plan->queue->jobs[task->pool.jobs[no]];
	char	   *name;

	if (is_there(task, job))
		return true;
	if (!dump_worker_run_job(&task->pool, no, step))
		return false;
	for (int i = 0; (name = dump_worker_file_name(&task->pool.run, job, i)) != NULL; i++)
	{
		archive_dir_flush_file(task->archive, name);
		free(name);
	}
	return true;
}

/*
 * Report the results of a job to the leader, in the first process of the
 * task.  Results of another attempt are not set here: that attempt reports
 * them itself.
 */
static void
dump_task_job_is_done(void *arg, int no)
{
	DumpTask   *task = arg;
	const Run  *run = &task->pool.run;
	const Job  *job;
	const FileResult *result;
	bool		any = false;

	if (task->reported[no])
		return;					/* as refused */
	task->reported[no] = true;
	job = &run->plan->queue->jobs[task->pool.jobs[no]];
	for (int i = 0; (result = run_job_result(run, job, i)) != NULL; i++)
		if (result->done && result->start_us != 0)
		{
			task_result_report(&task->results, run->results, job, result);
			any = true;
		}
	if (any)
		task_result_flush(&task->results);
}

static void
dump_task_reset_job(void *arg, int no)
{
	DumpTask   *task = arg;

	dump_worker_reset(&task->pool.run, task->pool.jobs[no]);
}

/* ----------
 * Watching the workers.
 * ----------
 */
static void
dump_task_worker_begins(void *arg, int worker)
{
	DumpTask   *task = arg;

	worker_state_begin(&task->pool.source.states[worker],
					   task_servers_choose(task->servers));
}

static void
dump_task_worker_is_gone(void *arg, int worker)
{
	((DumpTask *) arg)->pool.source.states[worker].running = false;
}

/*
 * Check the servers and the workers regularly.  The leader cannot see the
 * workers of a task, so the task itself watches for servers that do not
 * answer.
 */
static bool
dump_task_attend(void *arg, bool all_done)
{
	DumpTask   *task = arg;

	/*
	 * All workers must end now, so wake those that are stopped (SIGSTOP):
	 * they would keep their sessions.
	 */
	if (all_done)
	{
		worker_states_wake(task->pool.source.states, task->options.jobs);
		return true;
	}
	worker_monitor_look(task->monitor);
	task_servers_attend(task->servers);
	return true;
}

/*
 * A lock could not be acquired on this host.  The leader, which has held all
 * locks since the plan was made, reads the table at the end.
 */
static bool
dump_task_run_refused(void *arg, const WorkerTask *pool_task, int no)
{
	DumpTask   *task = arg;
	TaskLine	line = {.kind = TASK_LINE_REFUSED,.number = task->pool.jobs[no]};

	pg_log_warning("could not lock a table; the leader will run the job that reads it");
	pg_log_warning_detail("Job: %s.", pool_task->describe(task, no, -1));
	task_result_write(&task->results, &line);
	task_result_flush(&task->results);
	task->reported[no] = true;
	return true;
}

/* ----------
 * Steps of a task.
 * ----------
 */
/*
 * Combine the options of the leader, from the plan, with those of this host:
 * -j, -r, and the connection options.
 */
static void
settle_options(DumpTask *task, const Options *options)
{
	const DumpTaskHead *head = &task->task_plan->head;

	task->options = *options;
	task->options.extra_float_digits = head->extra_float_digits;
	task->options.quote_all_identifiers = head->quote_all_identifiers;
	task->options.pipe_command = head->pipe_command;
	task->options.incremental_copy_method = head->copy_method;
	task_run_settle(&head->run, &task->options, &task->task, &task->n_tasks);
}

static void
choose_jobs(DumpTask *task)
{
	const JobQueue *queue = task->pool.run.plan->queue;
	int			n = 0;

	for (int i = 0; i < queue->n_jobs; i++)
		if (queue->jobs[i].task == task->task)
			task->n_jobs++;
	task->pool.jobs = pg_malloc((task->n_jobs + 1) * sizeof(int));
	for (int i = 0; i < queue->n_jobs; i++)
		if (queue->jobs[i].task == task->task)
			task->pool.jobs[n++] = i;
	task->begun = pg_malloc0((task->n_jobs + 1) * sizeof(bool));
	task->reported = pg_malloc0((task->n_jobs + 1) * sizeof(bool));
}

/* Choose the name of this attempt, and create its file of results. */
static void
begin_attempt(DumpTask *task)
{
	const DumpTaskHead *head = &task->task_plan->head;
	const char *pipe = head->pipe_command;

	task_result_begin(&task->results, task->options.plan, task->task,
					  head->run.run_id);
	task->archive = pipe ? archive_dir_create_piped(pipe) :
		archive_dir_of_attempt(task->results.directory, task->results.attempt,
							   !head->no_sync);
	task->pool.run.archive = task->archive;
}

/* An exit callback that removes the files of unfinished jobs. */
static void
dump_task_remove_files(void *arg)
{
	DumpTask   *task = arg;

	for (int i = 0; i < task->n_jobs; i++)
		if (task->begun[i] && !task->reported[i])
			dump_task_reset_job(task, i);
}

/* Do all jobs of the task with --jobs workers, and watch them. */
static void
run_pool(DumpTask *task)
{
	const DumpTaskHead *head = &task->task_plan->head;
	WorkerTask	pool_task = dump_worker_task(&task->pool);
	PoolWatch	watch = {
		.arg = task,
		.begins = dump_task_worker_begins,
		.is_gone = dump_task_worker_is_gone,
		.attend = dump_task_attend,
		.run_refused = dump_task_run_refused,
	};

	pool_task.lost_status = WORKER_EXIT_RETRY;
	pool_task.begin = dump_task_begin_job;
	pool_task.run = dump_task_run_job;
	pool_task.reset = dump_task_reset_job;
	pool_task.done = dump_task_job_is_done;
	session_set_max_rate(task->options.max_rate);
	task->pool.source.snapshot = task->pool.run.plan->snapshot;
	task->pool.source.states = worker_states_new(task->options.jobs);
	task->monitor = worker_monitor_new(&task->options, task->pool.source.states,
									   task->pool.run.plan->lock_wait_ms, task_servers_look,
									   task->servers);
	task->monitor->n_servers = task->task_plan->n_standbys + 1;
	task->monitor->leader = task_server_leader_process(head->run.run_id);
	worker_pool_run(&pool_task, &watch, Min(task->options.jobs, task->n_jobs),
					task->n_jobs);
}

void
dump_task(const Options *options)
{
	DumpTask   *task = pg_malloc0(sizeof(DumpTask));
	char	   *cause;

	task->task_plan = task_plan_read(options->plan);
	task->pool.run.plan = &task->task_plan->plan;
	task->pool.run.options = &task->options;
	settle_options(task, options);
	choose_jobs(task);

	/*
	 * Connect to the server that the leader reads from.  If that fails, the
	 * exit code shows the scheduler, or the leader, that another attempt may
	 * succeed.
	 */
	interrupt_install_leader();
	interrupt_set_exit_code(WORKER_EXIT_RETRY);
	task->pool.source.options = &task->options;
	task->servers = task_servers_new(&task->options, task->task_plan,
									 task->task, &task->pool.source);
	cause = task_servers_connect(task->servers,
								 Min(task->options.jobs, task->n_jobs));
	if (cause)
	{
		pg_log_error("%s", cause);
		exit(WORKER_EXIT_RETRY);
	}
	run_make_results(&task->pool.run, task->pool.run.plan->checksum_type);
	task->pool.reuse = reuse_new(task->pool.run.plan);
	begin_attempt(task);
	cleanup_push(dump_task_remove_files, task);
	run_pool(task);
	task_result_end(&task->results);
	cleanup_forget_all();
	task_servers_close(task->servers);
}
