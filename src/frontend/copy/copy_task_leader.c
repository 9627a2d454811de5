/*
 * copy_task_leader.c
 *		Has the tasks of a copy run until all rows are on the target.
 */
#include "base/fe_compat.h"

#include "copy/copy_task_gather.h"
#include "copy/copy_task_leader.h"
#include "copy/copy_task_plan.h"
#include "dump_tasks/dump_task_leader.h"
#include "progress/progress.h"
#include "restore_tasks/task_log.h"
#include "source/leader.h"
#include "stream/hex.h"
#include "tasks/task_server.h"

typedef struct CopyLeader
{
	const CopyTasks *tasks;
	TaskGather *gather;
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
command_ended(void *arg)
{
	CopyLeader *leader = arg;

	task_log_read(&leader->log);
	copy_task_gather_settle(leader->gather, &leader->log.now);
}

/* ----------
 * All of it
 * ----------
 */
void
copy_task_leader_run(const CopyTasks *tasks, const WorkerTask *own)
{
	CopyLeader	leader = {.tasks = tasks};
	TaskLeader	task_leader = {
		.plan_path = tasks->place->plan_path,
		.what = "rows",
		.arg = &leader,
		.attend = attend,
		.ended = command_ended,
	};
	Source	   *source = tasks->source;
	char	   *run_id = hex_random(16);

	task_server_hold(source->conn, run_id);
	task_log_begin(&leader.log, tasks->target, tasks->log, run_id);
	leader.gather = copy_task_gather_new(tasks->run, tasks->place->directory,
										 run_id);
	copy_task_plan_write(tasks->place->plan_path, source, tasks->target,
						 tasks->run->plan, tasks->formats, tasks->log, run_id);
	task_leader.gather = leader.gather;
	dump_task_leader_read(source, &task_leader, own);
	if (!source->keep_snapshot)
		leader_finish(source);
	progress_end();
	task_place_clear(tasks->place);
}
