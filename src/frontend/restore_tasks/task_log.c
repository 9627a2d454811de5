/*
 * task_log.c
 *		In the leader, while tasks load: its sessions on the target.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "job_log/job_log_session.h"
#include "restore_tasks/task_log.h"
#include "tasks/task_server.h"

/* How often to look whether the leader's session is there. */
#define LOOK_MS 2000

void
task_log_begin(TaskLog *tasks, Target *target, JobLog *log,
			   const char *run_id)
{
	memset(tasks, 0, sizeof(TaskLog));
	tasks->target = target;
	tasks->log = log;
	tasks->run_id = run_id;
	tasks->now = *log;
	tasks->now.lines = NULL;
	tasks->now.n_lines = 0;
	task_server_hold(log->lock, run_id);
}

static void
keep_session(void *arg)
{
	TaskLog    *tasks = arg;

	if (job_log_session_keep(tasks->log, tasks->target))
		task_server_hold(tasks->log->lock, tasks->run_id);
}

static void
read_log(void *arg)
{
	TaskLog    *tasks = arg;

	target_keep(tasks->target);
	job_log_check_attempt(tasks->log, tasks->target->conn);
	/* first: when they are gone, what they have done is in the log */
	tasks->is_alone = task_server_is_alone(tasks->target->conn, tasks->run_id);
	job_log_read(&tasks->now, tasks->target->conn);
}

void
task_log_keep(TaskLog *tasks)
{
	int64		now = clock_monotonic_ms();

	if (tasks->retry.n > 0 ? !retry_is_due(&tasks->retry) :
		now - tasks->looked_at < LOOK_MS)
		return;
	tasks->looked_at = now;
	(void) job_log_session_try(keep_session, tasks, &tasks->retry,
							   tasks->target->options);
}

void
task_log_read(TaskLog *tasks)
{
	job_log_session_insist(read_log, tasks, tasks->target->options);
}
