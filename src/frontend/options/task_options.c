/*
 * task_options.c
 *		The options of a dump, a copy or a restore by many hosts.
 */
#include "base/fe_compat.h"

#include "options/task_options.h"
#include "process/task_command.h"

/* Not with these: why; NULL if nothing need be said. */
static void
exclude(bool one, const char *one_name, bool other, const char *other_name,
		const char *why)
{
	if (!one || !other)
		return;
	pg_log_error("options %s and %s cannot be used together",
				 one_name, other_name);
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

/* Of any task: it is one of a plan. */
static void
check_any_task(const Options *options)
{
	int			task;
	int			n_tasks;

	task_options_read(options->task, &task, &n_tasks);
	if (options->plan == NULL)
		pg_fatal("option %s requires option %s", "--task", "--plan");
	exclude(true, "--task", options->tasks != 0, "--tasks", NULL);
	exclude(true, "--task", options->run_tasks != NULL, "--run-tasks", NULL);
	exclude(true, "--task", options->check, "--check", leaders);
	exclude(true, "--task", options->progress, "--progress", leaders);
	exclude(true, "--task", options->log_json != NULL, "--log-json", leaders);
	exclude(true, "--task", options->report != NULL, "--report", leaders);
	exclude(true, "--task", options->metrics != NULL, "--metrics", leaders);
	exclude(true, "--task", options->role != NULL, "--role", leaders);
}

/* Of any leader: true if tasks are wanted. */
static bool
check_any_leader(const Options *options)
{
	bool		wanted = options->tasks != 0;

	if (!wanted && options->run_tasks)
		pg_fatal("option %s requires option %s", "--run-tasks", "--tasks");
	if (!wanted && options->plan)
		pg_fatal("option %s requires option %s", "--plan", "--task or --tasks");
	if (wanted && options->run_tasks == NULL && !options->dry_run && !options->check)
		pg_fatal("option %s requires option %s", "--tasks", "--run-tasks");
	return wanted;
}

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

/* What is of a copy, but where it goes, which may have another name here. */
static void
check_copy_task(const Options *options)
{
	exclude(true, "--task", options->compare, "--compare", leaders);
	exclude(true, "--task", options->copy_format != NULL, "--copy-format", leaders);
	exclude(true, "--task", options->index_jobs != 0, "--index-jobs", leaders);
	exclude(true, "--task", options->no_analyze, "--no-analyze", leaders);
	exclude(true, "--task", options->roles, "--roles", leaders);
	exclude(true, "--task", options->toast_compression != NULL, "--toast-compression", leaders);
	exclude(true, "--task", options->wire_compression != NULL, "--wire-compression", leaders);
}

/* Of one task: all but how to connect, and -j, is the leader's to say. */
static void
check_task(const Options *options)
{
	check_any_task(options);
	check_copy_task(options);
	exclude(true, "--task", options->directory != NULL, "-f/--file", leaders);
	exclude(true, "--task", options->pipe_command != NULL, "--pipe", leaders);
	exclude(true, "--task", options->verify != NULL, "--verify", NULL);
	exclude(true, "--task", options->dry_run, "--dry-run", leaders);
	exclude(true, "--task", options->incremental != NULL, "--incremental", leaders);
	exclude(true, "--task", options->create_slot, "--create-slot", leaders);
	exclude(true, "--task", options->mask.head != NULL, "--mask", leaders);
	exclude(true, "--task", options->mask_files.head != NULL, "--mask-file", leaders);
	exclude(true, "--task", options->also_from.head != NULL, "--also-from", leaders);
	exclude(true, "--task", options->snapshot != NULL, "--snapshot", leaders);
	exclude(true, "--task", options->compress_given, "-Z/--compress", leaders);
	for (int i = 0; i < options->n_pg_dump_args; i++)
		if (strcmp(options->pg_dump_args[i], "-v") != 0)
			exclude(true, "--task", true, options->pg_dump_args[i], leaders);
}

/* Of the leader: what cannot be by tasks, so far. */
static void
check_leader(const Options *options)
{
	if (!check_any_leader(options))
		return;
	exclude(true, "--tasks", options->verify != NULL, "--verify", NULL);
	exclude(true, "--tasks", options->create_slot, "--create-slot",
			"If the leader is lost with its session, the slot would be of no dump.");
	exclude(true, "--tasks", options->jobs_given && options->target == NULL,
			"-j/--jobs",
			"Each task has its own: give it in the command of --run-tasks.");
	exclude(true, "--tasks", options->max_rate != 0, "-r/--max-rate",
			"Each task has its own: give it in the command of --run-tasks.");
	if ((options->pipe_command || options->target) && options->plan == NULL &&
		!options->dry_run && !options->check)
	{
		pg_log_error("options %s and %s require option %s", "--tasks",
					 options->target ? "--target" : "--pipe", "--plan");
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

/* ----------
 * pg_parrestore's
 * ----------
 */

/* Of one task: all but how to connect, and -j, is the leader's to say. */
static void
check_restore_task(const Options *options)
{
	check_any_task(options);
	exclude(true, "--task", options->restore != NULL, options->restore, leaders);
	exclude(true, "--task", options->superuser != NULL, "-S/--superuser", leaders);
	exclude(true, "--task", options->chunk_bytes != 0, "--chunk-size", leaders);
	exclude(true, "--task", options->compare_with != NULL, "--compare-with", leaders);
	exclude(true, "--task", options->index_jobs != 0, "--index-jobs", leaders);
	exclude(true, "--task", options->no_analyze, "--no-analyze", leaders);
	exclude(true, "--task", options->resume, "--resume", leaders);
	exclude(true, "--task", options->toast_compression != NULL, "--toast-compression", leaders);
	exclude(true, "--task", options->verify_first, "--verify", leaders);
	for (const char **arg = options->list_args; arg && *arg; arg++)
		exclude(true, "--task", true, *arg, leaders);
	for (const char **arg = options->make_args; arg && *arg; arg++)
		exclude(true, "--task", true, *arg, leaders);
}

void
task_options_check_restore(const Options *options)
{
	if (options->task)
		check_restore_task(options);
	else if (check_any_leader(options))
		check_command(options->run_tasks);
}
