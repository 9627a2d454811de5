/*
 * restore_task_leader.c
 *		Has the tasks of a restore run until all rows are on the target.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "base/interrupt.h"
#include "progress/progress.h"
#include "restore_tasks/restore_task_gather.h"
#include "restore_tasks/restore_task_leader.h"
#include "restore_tasks/restore_task_plan.h"
#include "restore_tasks/task_log.h"
#include "status/progress_rows.h"
#include "status/run_event.h"
#include "stream/hex.h"
#include "tasks/task_deal.h"
#include "tasks/task_leader.h"
#include "tasks/task_run.h"

/* While waiting for tasks; and how often to read the log then. */
#define WAIT_US 100000
#define WAITS_FOR_LOG 10

typedef struct RestoreLeader
{
	const RestoreTaskWork *work;
	TaskPlace  *place;
	char	   *run_id;
	RestoreTaskGather *gather;
	TaskLog		log;
	JobQueue	queue;			/* what is to be done of a wave */
	int		   *jobs;			/* by job of that: its number in the run's */
} RestoreLeader;

/* ----------
 * The plan
 * ----------
 */

/* Those of so many that are left out, as an array of a plan. */
static PlanArray
list_left_out(const volatile bool *left_out, int n)
{
	PlanArray	array = {.size = sizeof(int)};

	for (int i = 0; i < n; i++)
		if (left_out[i])
			*(int *) plan_array_grow(&array) = i;
	return array;
}

static PlanArray
list_tables(const RestoreTaskWork *work)
{
	PlanArray	array = {.size = sizeof(RestoreTaskTable)};

	for (int i = 0; i < work->run->plan->tables->n_tables; i++)
	{
		RestoreTaskTable *table = plan_array_grow(&array);

		table->oid = work->targets[i];
		table->unlogged = work->kinds[i] == JOB_LOG_UNLOGGED;
		table->fresh = work->fresh && work->fresh[i];
	}
	return array;
}

static void
write_plan(const RestoreLeader *leader)
{
	const RestoreTaskWork *work = leader->work;
	const Options *options = work->run->options;
	const DumpPlan *plan = work->run->plan;
	RestoreTaskPlan task = {
		.head.run = task_run_make(TASKS_RESTORE, leader->run_id, options,
								  work->target->conn, work->target->address),
		.head.archive = make_absolute_path(options->restore),
		.head.identity = unconstify(char *, work->identity),
		.head.attempt = work->log->attempt,
		.head.history = unconstify(char *, work->target->history),
		.head.incarnation = unconstify(char *, work->target->incarnation),
		.head.chunk_bytes = options->chunk_bytes,
		.head.data_only = options->data_only,
		.head.disable_triggers = options->disable_triggers,
		.head.toast_compression = unconstify(char *, options->toast_compression),
		.head.n_files = plan->chunks->n_files,
		.head.n_groups = plan->objects->n_groups,
		.ids.elements = (char *) unconstify(int *, work->ids),
		.ids.n = work->n_ids,
		.tables = list_tables(work),
		.left_out = list_left_out(work->left_out, plan->chunks->n_files),
		.objects_left_out = list_left_out(work->objects_left_out,
										  plan->objects->n_groups),
	};

	restore_task_plan_write(leader->place->plan_path, &task, plan->chunks,
							&leader->queue);
	free(task.tables.elements);
	free(task.left_out.elements);
	free(task.objects_left_out.elements);
}

/* What is to be done of the wave that begins here; returns where it ends. */
static int
take_wave(RestoreLeader *leader, int first)
{
	const JobQueue *all = leader->work->run->plan->queue;
	int			end = first;
	int			n = 0;

	for (; end < all->n_jobs && all->jobs[end].wave == all->jobs[first].wave; end++)
		if (!task_gather_job_is_done(&leader->gather->base, end))
			leader->jobs[n++] = end;
	task_deal(all, leader->jobs, n, (int) leader->work->run->options->tasks);
	for (int i = 0; i < n; i++)
		leader->queue.jobs[i] = all->jobs[leader->jobs[i]];
	leader->queue.n_jobs = n;
	leader->gather->base.jobs = leader->jobs;
	leader->gather->base.n_jobs = n;
	return end;
}

/* ----------
 * Callbacks of the leader of tasks
 * ----------
 */
static void
attend(void *arg)
{
	RestoreLeader *leader = arg;

	progress_tick();
	task_log_keep(&leader->log);
}

/* Has the command left tasks behind that may load what others could not? */
static bool
is_in_doubt(const RestoreLeader *leader)
{
	return !leader->log.is_alone &&
		restore_task_gather_is_in_doubt(leader->gather, &leader->log.now);
}

static void
wait_and_read_log(RestoreLeader *leader)
{
	for (int i = 0; i < WAITS_FOR_LOG; i++)
	{
		interrupt_check();
		attend(leader);
		pg_usleep(WAIT_US);
	}
	task_log_read(&leader->log);
	task_gather_look(&leader->gather->base);
}

/*
 * Of what is read of the log in the end, nothing is in doubt.  A task's
 * session may be there for a moment when the task has ended, so the first
 * wait is not told.
 */
static void
command_ended(void *arg)
{
	RestoreLeader *leader = arg;

	task_log_read(&leader->log);
	for (int n = 0; is_in_doubt(leader); n++)
	{
		if (n == 1)
			pg_log_warning("the command has ended, but tasks are at work yet: waiting for them, as others could not load all");
		wait_and_read_log(leader);
	}
	restore_task_gather_settle(leader->gather, &leader->log.now);
}

/* ----------
 * All of it
 * ----------
 */
static void
run_wave(RestoreLeader *leader)
{
	TaskLeader	tasks = {
		.gather = &leader->gather->base,
		.plan_path = leader->place->plan_path,
		.what = "rows",
		.arg = leader,
		.attend = attend,
		.ended = command_ended,
	};

	if (leader->queue.n_jobs == 0)
		return;
	write_plan(leader);
	task_leader_run(&tasks);
}

/* Each wave has a path of its own: tasks may yet be at the one before. */
static void
name_plan(RestoreLeader *leader, const char *first_path, int wave)
{
	if (wave > 0)
		leader->place->plan_path = psprintf("%s.%d", first_path, wave + 1);
}

TaskPlace *
restore_task_leader_place(const Options *options)
{
	char	   *name = psprintf(ARCHIVE_RESTORE_PREFIX "%s", hex_random(8));

	return task_place_make(options->plan, options->restore, name);
}

void
restore_task_leader_run(const RestoreTaskWork *work)
{
	RestoreLeader *leader = pg_malloc0(sizeof(RestoreLeader));
	const JobQueue *all = work->run->plan->queue;
	const char *first_path;
	int			end = 0;

	leader->work = work;
	leader->run_id = hex_random(16);
	leader->place = work->place;
	first_path = leader->place->plan_path;
	leader->queue.jobs = pg_malloc((all->n_jobs + 1) * sizeof(Job));
	leader->queue.files = all->files;
	leader->jobs = pg_malloc((all->n_jobs + 1) * sizeof(int));
	leader->gather = restore_task_gather_new(work, leader->place->directory,
											 leader->run_id);
	task_log_begin(&leader->log, work->target, work->log, leader->run_id);
	progress_rows_begin(work->run);
	for (int wave = 0; end < all->n_jobs; wave++)
	{
		end = take_wave(leader, end);
		name_plan(leader, first_path, wave);
		run_wave(leader);
	}
	progress_end();
	task_place_clear(leader->place);
}
