/*
 * task_run.c
 *		What the leader and its tasks agree on first.
 */
#include "base/fe_compat.h"

#include "options/options_parse.h"
#include "process/worker_process.h"
#include "tasks/task_address.h"
#include "tasks/task_run.h"
#include "tasks/task_server.h"

TaskRun
task_run_make(const char *run_id, const Options *options, PGconn *conn,
			  const PeerAddress *address)
{
	TaskRun		run = {
		.version = PARDUMP_VERSION,
		.what = TASKS_DUMP,
		.run_id = unconstify(char *, run_id),
		.n_tasks = (int) options->tasks,
		.conninfo = task_address_of(conn, address),
		.server = task_server_read(conn),
		.role = unconstify(char *, options->role),
		.enable_row_security = options->enable_row_security,
		.retries = options->retries,
	};

	task_address_note_environment(&run);
	return run;
}

void
task_run_settle(const TaskRun *run, Options *options, int *task, int *n_tasks)
{
	options->role = run->role;
	options->enable_row_security = run->enable_row_security;
	options->retries = run->retries;
	task_address_set_environment(run);
	task_options_read_planned(options->task, run->n_tasks, task, n_tasks);
}

void
task_run_give_up(const char *cause)
{
	pg_log_error("%s", cause);
	exit(WORKER_EXIT_RETRY);
}
