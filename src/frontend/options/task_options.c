/*
 * task_options.c
 *		The options of a dump by many hosts.
 */
#include "base/fe_compat.h"

#include "options/task_options.h"
#include "process/task_command.h"

/* Two options that exclude each other: why, or NULL if that is obvious. */
static void
exclude(bool given, const char *one, const char *other, const char *why)
{
	if (!given)
		return;
	pg_log_error("options %s and %s cannot be used together", one, other);
	if (why)
		pg_log_error_detail("%s", why);
	exit(1);
}

/* Exits with a message if it names none. */
static void
task_options_read(const char *text, int *task, int *n_tasks)
{
	char	   *end;
	long		no = strtol(text, &end, 10);
	long		n = *end == '/' && end[1] >= '0' && end[1] <= '9' ?
		strtol(end + 1, &end, 10) : 0;

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < 1 || n > 4096 || no >= n)
	{
		pg_log_error("invalid value \"%s\" for option %s", text, "--task");
		pg_log_error_hint("The first of four tasks is 0/4, the last is 3/4.");
		exit(1);
	}
	*task = (int) no;
	*n_tasks = (int) n;
}

void
task_options_read_planned(const char *text, int n_planned, int *task,
						  int *n_tasks)
{
	task_options_read(text, task, n_tasks);
	if (*n_tasks != n_planned)
		pg_fatal("the plan is for %d tasks, not for %d", n_planned, *n_tasks);
}

static const char leaders[] = "That is for the leader of the tasks to say.";
static const char dumps_only[] =
"Tasks dump only: run one copy, on one host, with -j.";

static void
check_command(const char *run_tasks)
{
	char	   *command = run_tasks ? task_command(run_tasks, "plan", 0, NULL) : NULL;

	if (run_tasks && command == NULL)
	{
		pg_log_error("invalid value \"%s\" for option %s", run_tasks,
					 "--run-tasks");
		pg_log_error_hint("%%p stands for the plan, and must be there; %%n for the number of tasks, %%l or %%L for those to be run; %%%% for a percent sign.");
		exit(1);
	}
	free(command);
}

/* Of one task: all but how to connect, and -j, is the leader's to say. */
static void
check_task(const Options *options)
{
	const struct
	{
		bool		given;
		const char *name;
	}			of_leader[] = {
		{options->check, "--check"},
		{options->progress, "--progress"},
		{options->log_json != NULL, "--log-json"},
		{options->report != NULL, "--report"},
		{options->metrics != NULL, "--metrics"},
		{options->role != NULL, "--role"},
		{options->directory != NULL, "-f/--file"},
		{options->pipe_command != NULL, "--pipe"},
		{options->dry_run, "--dry-run"},
		{options->incremental != NULL, "--incremental"},
		{options->create_slot, "--create-slot"},
		{options->mask.head != NULL, "--mask"},
		{options->mask_files.head != NULL, "--mask-file"},
		{options->also_from.head != NULL, "--also-from"},
		{options->snapshot != NULL, "--snapshot"},
		{options->compress_given, "-Z/--compress"},
	};
	int			task;
	int			n_tasks;

	task_options_read(options->task, &task, &n_tasks);
	if (options->plan == NULL)
		pg_fatal("option %s requires option %s", "--task", "--plan");
	exclude(options->tasks != 0, "--task", "--tasks", NULL);
	exclude(options->run_tasks != NULL, "--task", "--run-tasks", NULL);
	exclude(options->target != NULL, "--task", "--target", dumps_only);
	exclude(options->verify != NULL, "--task", "--verify", NULL);
	for (int i = 0; i < (int) lengthof(of_leader); i++)
		exclude(of_leader[i].given, "--task", of_leader[i].name, leaders);
	for (int i = 0; i < options->n_pg_dump_args; i++)
		exclude(strcmp(options->pg_dump_args[i], "-v") != 0, "--task",
				options->pg_dump_args[i], leaders);
}

static const char each_task[] =
"Each task has its own: give it in the command of --run-tasks.";

/* Of the leader: what cannot be by tasks. */
static void
check_leader(const Options *options)
{
	bool		wanted = options->tasks != 0;

	if (!wanted && options->run_tasks)
		pg_fatal("option %s requires option %s", "--run-tasks", "--tasks");
	if (!wanted && options->plan)
		pg_fatal("option %s requires option %s", "--plan", "--task or --tasks");
	if (!wanted)
		return;
	exclude(options->target != NULL, "--tasks", "--target", dumps_only);
	if (options->run_tasks == NULL && !options->dry_run && !options->check)
		pg_fatal("option %s requires option %s", "--tasks", "--run-tasks");
	exclude(options->verify != NULL, "--tasks", "--verify", NULL);
	exclude(options->create_slot, "--tasks", "--create-slot",
			"If the leader is lost with its session, the slot would be of no dump.");
	exclude(options->jobs_given, "--tasks", "-j/--jobs", each_task);
	exclude(options->max_rate != 0, "--tasks", "-r/--max-rate", each_task);
	if (options->pipe_command && options->plan == NULL && !options->dry_run &&
		!options->check)
	{
		pg_log_error("options %s and %s require option %s", "--tasks",
					 "--pipe", "--plan");
		pg_log_error_hint("Name a file in a new directory that all hosts see: the plan and what tasks have done are written there.");
		exit(1);
	}
	check_command(options->run_tasks);
}

void
task_options_check(const Options *options)
{
	if (options->task)
		check_task(options);
	else
		check_leader(options);
}
