/*
 * copy_task_leader.c
 *		Has the tasks of a copy run until all rows are on the target.
 */
#include "base/fe_compat.h"

#include "copy/copy_task_gather.h"
#include "copy/copy_task_leader.h"
#include "copy/copy_task_plan.h"
#include "progress/progress.h"
#include "restore_tasks/task_log.h"
#include "source/leader.h"
#include "stream/hex.h"
#include "tasks/plan_queue.h"
#include "tasks/task_leader.h"
#include "tasks/task_server.h"

typedef struct CopyLeader
{
	const CopyTasks *tasks;
	CopyTaskGather *gather;
	TaskLog		log;
} CopyLeader;

/* ----------
 * Callbacks of the leader of tasks
 * ----------
 */
static void
attend(void *arg)
{
	CopyLeader *leader = arg;

	leader_attend(leader->tasks->source);
	task_log_keep(&leader->log);
}

static void
look(void *arg)
{
	CopyLeader *leader = arg;

	copy_task_gather_look(leader->gather);
}

static void
command_ended(void *arg)
{
	CopyLeader *leader = arg;

	task_log_read(&leader->log);
	copy_task_gather_settle(leader->gather, &leader->log.now);
}

static bool
is_missing(void *arg, int job)
{
	CopyLeader *leader = arg;

	return !copy_task_gather_job_is_done(leader->gather, job) &&
		!copy_task_gather_job_is_refused(leader->gather, job);
}

static char *
describe(void *arg, int job)
{
	CopyLeader *leader = arg;

	return dump_plan_describe_job(leader->tasks->run->plan, job, -1);
}

/* ----------
 * All of it
 * ----------
 */
static void
run_tasks(CopyLeader *leader)
{
	TaskLeader	tasks = {
		.options = leader->tasks->run->options,
		.plan_path = leader->tasks->place->plan_path,
		.what = "rows",
		.queue = leader->tasks->run->plan->queue,
		.arg = leader,
		.attend = attend,
		.look = look,
		.ended = command_ended,
		.is_missing = is_missing,
		.describe = describe,
	};

	task_leader_run(&tasks);
}

/* Tables that no task could lock: the leader has all locks. */
static void
run_refused(CopyLeader *leader, const WorkerTask *own)
{
	for (int i = 0; i < leader->tasks->run->plan->queue->n_jobs; i++)
		if (!copy_task_gather_job_is_done(leader->gather, i))
			leader_do(leader->tasks->source, own, i);
}

void
copy_task_leader_run(const CopyTasks *tasks, const WorkerTask *own)
{
	CopyLeader	leader = {.tasks = tasks};
	Source	   *source = tasks->source;
	char	   *run_id = hex_random(16);

	task_server_hold(source->conn, run_id);
	task_log_begin(&leader.log, tasks->target, tasks->log, run_id);
	plan_queue_deal(tasks->run->plan->queue, (int) source->options->tasks);
	copy_task_plan_write(tasks->place->plan_path, source, tasks->target,
						 tasks->run->plan, tasks->formats, tasks->log, run_id);
	leader.gather = copy_task_gather_new(tasks->run, tasks->place->directory,
										 run_id);
	leader_begin_rows(source, tasks->run);
	run_tasks(&leader);
	run_refused(&leader, own);
	if (!source->keep_snapshot)
		leader_finish(source);
	progress_end();
	task_place_clear(tasks->place);
}
