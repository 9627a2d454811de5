/*
 * task_leader.c
 *		Has tasks run until all is done.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/retry.h"
#include "process/child_process.h"
#include "process/child_program.h"
#include "process/task_command.h"
#include "tasks/task_leader.h"

/*
 * How often to attend to what goes on beside the command, and in how many of
 * these times to look what has come: in one for so many tasks, and at most in
 * so many.  That costs more with more of them.
 */
#define LOOK_MS 20
#define TASKS_FOR_LOOK 20
#define MOST_LOOKS_FOR_RESULTS 50

/* So many missing files are named. */
#define MOST_NAMED 10

/* ----------
 * The command
 * ----------
 */
static void
attend(const TaskLeader *leader, int *n_looks)
{
	int			looks = (int) leader->gather->run->options->tasks / TASKS_FOR_LOOK;

	looks = Min(Max(looks, 1), MOST_LOOKS_FOR_RESULTS);
	interrupt_check();
	leader->attend(leader->arg);
	if (*n_looks % looks == 0)
		task_gather_look(leader->gather);
	(*n_looks)++;
}

static char *
describe_end(int status)
{
	if (WIFSIGNALED(status))
		return psprintf("was ended by signal %d", WTERMSIG(status));
	return psprintf("ended with exit code %d", WEXITSTATUS(status));
}

/* Run the command for these tasks; how it ended, as waitpid() has it. */
static int
run_command(const TaskLeader *leader, const bool *wanted)
{
	const Options *options = leader->gather->run->options;
	char	   *command = task_command(options->run_tasks,
									   leader->plan_path,
									   (int) options->tasks, wanted);
	const char *args[] = {"sh", "-c", command, NULL};
	int			nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int			status = 0;
	int			n_looks = 0;
	pid_t		pid;

	if (nothing < 0)
		pg_fatal("could not open file \"%s\": %m", "/dev/null");
	pg_log_info("running \"%s\"", command);
	pid = child_program_start_reading("/bin/sh", args, nothing,
									  STDERR_FILENO, -1);
	close(nothing);
	while (!child_process_wait(pid, &status, LOOK_MS))
		attend(leader, &n_looks);
	/* tasks that it has left behind do no harm, and end when the run does */
	child_process_set_fed(0);
	task_gather_look(leader->gather);
	leader->ended(leader->arg);
	task_gather_command_ended(leader->gather);
	free(command);
	return status;
}

/* ----------
 * What is missing
 * ----------
 */

/* Is one of the tasks' jobs for them to do, and not done? */
static bool
is_missing(const TaskLeader *leader, int job)
{
	const TaskGather *gather = leader->gather;

	return !task_gather_job_is_done(gather, job) && !gather->refused[job];
}

static void
fail(const TaskLeader *leader, const bool *missing, const char *end)
{
	const Options *options = leader->gather->run->options;
	const DumpPlan *plan = leader->gather->run->plan;
	int			n = 0;

	pg_log_error("not all tasks were done, and the command %s: files of tasks %s are missing",
				 end, task_command_ranges(missing, (int) options->tasks));
	for (int i = 0; i < plan->queue->n_jobs; i++)
		if (is_missing(leader, i) && n++ < MOST_NAMED)
			pg_log_error_detail("Missing: %s.",
								dump_plan_describe_job(plan, i, -1));
	if (n > MOST_NAMED)
		pg_log_error_detail("And %d more.", n - MOST_NAMED);
	if (options->retries > 0)
		pg_log_error_detail("Tasks were run " UINT64_FORMAT " times.",
							options->retries + 1);
	exit(1);
}

/* By task: is anything of it missing? */
static bool
find_missing(const TaskLeader *leader, bool *missing)
{
	const Run  *run = leader->gather->run;
	bool		any = false;

	memset(missing, 0, run->options->tasks * sizeof(bool));
	for (int i = 0; i < run->plan->queue->n_jobs; i++)
	{
		if (!is_missing(leader, i))
			continue;
		missing[run->plan->queue->jobs[i].task] = true;
		any = true;
	}
	return any;
}

void
task_leader_run(const TaskLeader *leader)
{
	const Options *options = leader->gather->run->options;
	bool	   *missing = pg_malloc0(options->tasks * sizeof(bool));
	Retry		retry = {0};
	int			n_looks = 0;

	while (find_missing(leader, missing))
	{
		int			status;
		char	   *end;

		while (retry.n > 0 && !retry_is_due(&retry))
		{
			attend(leader, &n_looks);
			pg_usleep(LOOK_MS * 1000L);
		}
		status = run_command(leader, missing);
		end = describe_end(status);
		if (!find_missing(leader, missing))
		{
			/* what the command runs, or where, wants to be looked at */
			if (status != 0)
				pg_log_warning("the command %s, but no files are missing",
							   end);
			free(end);
			break;
		}
		if (retry.n == (int) options->retries)
			fail(leader, missing, end);
		(void) retry_later(&retry);
		pg_log_warning("the command %s; tasks to be run again: %s; retry %d of %d",
					   end, task_command_ranges(missing, (int) options->tasks),
					   retry.n, (int) options->retries);
		free(end);
	}
	free(missing);
}
