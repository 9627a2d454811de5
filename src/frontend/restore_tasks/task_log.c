/*
 * task_log.c
 *		In the leader, while tasks load: its sessions on the target.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "job_log/job_log_session.h"
#include "job_log/job_log_wait.h"
#include "restore_tasks/task_log.h"
#include "tasks/task_server.h"

/* How often to look whether the leader's session is there. */
#define LOOK_MS 2000

/*
 * How often to look whether tasks wait for other sessions, and which looks in
 * a row that find some are told: not the first, as waits of a moment are
 * none.
 */
#define LOOK_FOR_WAITS_MS 10000
#define FIRST_WAIT_TOLD 2
#define WAITS_TOLD_AGAIN 6

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
	tasks->waits_looked_at = clock_monotonic_ms();
	task_server_hold(log->lock, run_id);
	tasks->is_held = true;
}

/* What tasks say may be seen by nobody, where they are run. */
static void
look_for_waits(TaskLog *tasks)
{
	bool		tell;

	if (tasks->looked_at - tasks->waits_looked_at < LOOK_FOR_WAITS_MS)
		return;
	tasks->waits_looked_at = tasks->looked_at;
	target_keep(tasks->target);
	tell = ++tasks->n_waits == FIRST_WAIT_TOLD ||
		tasks->n_waits % WAITS_TOLD_AGAIN == 0;
	if (!job_log_wait_find(tasks->target->conn, tell))
		tasks->n_waits = 0;
}

static void
keep_sessions(void *arg)
{
	TaskLog    *tasks = arg;

	if (job_log_session_keep(tasks->log, tasks->target))
		tasks->is_held = false;
	if (!tasks->is_held)
		task_server_hold(tasks->log->lock, tasks->run_id);
	tasks->is_held = true;
	look_for_waits(tasks);
}

static void
read_log(void *arg)
{
	TaskLog    *tasks = arg;

	target_keep(tasks->target);
	/* first: when they are gone, what they have done is in the log */
	tasks->is_alone = task_server_is_alone(tasks->target->conn, tasks->run_id);
	/* what is checked is what is read, should its lock be lost */
	session_begin_unwatched(tasks->target->conn, "BEGIN");
	job_log_check_attempt(tasks->log, tasks->target->conn);
	job_log_read(&tasks->now, tasks->target->conn);
	PQclear(target_query(tasks->target->conn, "COMMIT", 0, NULL));
}

void
task_log_keep(TaskLog *tasks)
{
	int64		now = clock_monotonic_ms();

	if (tasks->retry.n > 0 ? !retry_is_due(&tasks->retry) :
		now - tasks->looked_at < LOOK_MS)
		return;
	tasks->looked_at = now;
	(void) job_log_session_try(keep_sessions, tasks, &tasks->retry,
							   tasks->target->options);
}

void
task_log_read(TaskLog *tasks)
{
	job_log_session_insist(read_log, tasks, tasks->target->options);
}
