/*
 * task_leader.c
 *		Has the tasks of a dump run until all is done.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/archive_name.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "process/child_program.h"
#include "process/progress.h"
#include "process/task_command.h"
#include "source/leader.h"
#include "source/source.h"
#include "tasks/task_collector.h"
#include "tasks/task_leader.h"
#include "tasks/task_place.h"
#include "tasks/task_plan.h"
#include "tasks/task_server.h"

static PlannedTable *
make_tables(const DumpPlan *plan)
{
	int			n = plan->tables->n_tables;
	PlannedTable *tables = pg_malloc0((n + 1) * sizeof(PlannedTable));

	for (int i = 0; i < n; i++)
	{
		tables[i].table = plan->tables->tables[i];
		tables[i].decided = plan->chunks->tables[i];
		tables[i].n_masks = tables[i].table.masks ? tables[i].table.n_columns : 0;
	}
	return tables;
}

static int *
make_queue(const DumpPlan *plan)
{
	const ChunkPlan *chunks = plan->chunks;
	int		   *numbers = pg_malloc0((chunks->n_files + 1) * sizeof(int));

	for (int i = 0; i < chunks->n_files; i++)
		numbers[i] = (int) (plan->queue->files[i] - chunks->files);
	return numbers;
}

/* Further standbys, which tasks reach as the leader has. */
static void
add_standbys(PlanFile *file, const Standbys *standbys, const char *run_id)
{
	if (standbys == NULL)
		return;
	file->standbys = pg_malloc0(standbys->n * sizeof(PlannedStandby));
	for (int i = 1; i < standbys->n; i++)
	{
		const Standby *standby = &standbys->list[i];
		PlannedStandby *planned = &file->standbys[file->n_standbys++];

		planned->name = standby->name;
		planned->conninfo = task_address_of(standby->conn, standby->address);
		planned->snapshot = unconstify(char *, standby->snapshot);
		planned->identity = unconstify(char *, standby->identity);
		planned->holder_query = standby->holder_query;
		task_server_hold(standby->conn, run_id);
	}
}

static DumpTaskHead
make_head(const Source *source, const DumpPlan *plan, const char *run_id)
{
	const Options *options = source->options;
	DumpTaskHead head = {
		.run = task_run_make(run_id, options, source->conn, source->address),
		.snapshot = unconstify(char *, plan->snapshot),
		.snapshot_identity = unconstify(char *, plan->snapshot_identity),
		.encoding = unconstify(char *, plan->encoding),
		.compression = pg_malloc(COMPRESS_SPEC_ERROR_BYTES),
		.server_compression = unconstify(char *, plan->server_compress),
		.checksums = pg_checksum_type_name(plan->checksum_type),
		.lock_wait_ms = plan->lock_wait_ms,
		.extra_float_digits = unconstify(char *, options->extra_float_digits),
		.quote_all_identifiers = options->quote_all_identifiers,
		.no_sync = options->sync_method == SYNC_NONE,
		.archive = options->directory ? make_absolute_path(options->directory) : NULL,
		.pipe_command = unconstify(char *, options->pipe_command),
		.server_version = plan->tables->server_version,
		.block_bytes = plan->tables->block_bytes,
		.extension_missing = unconstify(char *, plan->extension->missing),
		.extension_functions = plan->extension->functions,
		.extension_table = plan->extension->lock_table,
		.knows_changes = plan->knows_changes,
		.n_objects = plan->objects->n_objects,
	};

	if (plan->fingerprints)
	{
		head.fingerprint_algorithm = unconstify(char *, plan->fingerprints->algorithm);
		head.fingerprint_key = unconstify(char *, plan->fingerprints->key);
		head.fingerprint_settings = plan->fingerprints->settings;
	}
	if (plan->previous)
	{
		head.previous = make_absolute_path(plan->previous->directory);
		head.copy_method = unconstify(char *, options->incremental_copy_method);
	}
	compress_spec_print(&plan->compress, head.compression,
						COMPRESS_SPEC_ERROR_BYTES);
	return head;
}

/*
 * Write the plan of this run at path, as task_plan_write_file() does.  The
 * sessions of the leader at further standbys hold the lock of the run from
 * now on.
 */
static void
task_plan_write(const char *path, const Source *source, const DumpPlan *plan,
				const char *run_id)
{
	PlanFile	file = {
		.head = make_head(source, plan, run_id),
		.tables = make_tables(plan),
		.n_tables = plan->tables->n_tables,
		.files = plan->chunks->files,
		.n_files = plan->chunks->n_files,
		.queue = make_queue(plan),
		.n_queue = plan->chunks->n_files,
		.groups = plan->objects->groups,
		.n_groups = plan->objects->n_groups,
		.jobs = plan->queue->jobs,
		.n_jobs = plan->queue->n_jobs,
	};

	add_standbys(&file, source->standbys, run_id);
	task_plan_write_file(path, &file);
	for (int i = 0; i < file.n_standbys; i++)
		free(file.standbys[i].conninfo);
	free(file.standbys);
	free(file.tables);
	free(file.queue);
	free(file.head.compression);
	free(file.head.run.conninfo);
}

/*
 * How often the leader looks at its sessions while the command runs.  It
 * looks for results every n-th time, n growing with the number of tasks, as
 * that costs more with more of them.
 */
#define LOOK_MS 20
#define TASKS_FOR_LOOK 20
#define MOST_LOOKS_FOR_RESULTS 50

/* The most missing files that a message names. */
#define MOST_NAMED 10

typedef struct TaskLeader
{
	Source	   *source;
	Run		   *run;
	TaskPlace  *place;
	TaskCollector *gather;
} TaskLeader;

/* ----------
 * The command
 * ----------
 */
static void
task_leader_attend(const TaskLeader *leader, int *n_looks)
{
	int			looks = (int) leader->run->options->tasks / TASKS_FOR_LOOK;

	looks = Min(Max(looks, 1), MOST_LOOKS_FOR_RESULTS);
	interrupt_check();
	leader_attend(leader->source);
	if (*n_looks % looks == 0)
		task_collector_look(leader->gather);
	(*n_looks)++;
}

static char *
describe_end(int status)
{
	if (WIFSIGNALED(status))
		return psprintf("was ended by signal %d", WTERMSIG(status));
	return psprintf("ended with exit code %d", WEXITSTATUS(status));
}

/*
 * A command of --pipe that an attempt has left behind stores what it has
 * under the file's name, whenever it likes, and that may be a part
 * (sink.c).
 */
static void
check_commands(const TaskLeader *leader)
{
	const char *name;

	if (leader->run->options->pipe_command == NULL)
		return;
	task_collector_look(leader->gather);
	name = task_attempts_not_ended(leader->gather->attempts);
	if (name == NULL)
		return;
	pg_log_error("attempt \"%s\" at a task has not come to its end", printable(name));
	pg_log_error_detail("A command of --pipe that it has left may yet store a part of a file in the place of the whole.");
	exit(1);
}

/* Run the command for these tasks; how it ended, as waitpid() has it. */
static int
run_command(const TaskLeader *leader, const bool *wanted)
{
	const Options *options = leader->run->options;
	char	   *command = task_command(options->run_tasks,
									   leader->place->plan_path,
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
		task_leader_attend(leader, &n_looks);
	/* tasks that it has left behind do no harm, and end when the run does */
	child_process_set_fed(0);
	task_collector_look(leader->gather);
	check_commands(leader);
	task_collector_command_ended(leader->gather);
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
	const TaskCollector *gather = leader->gather;

	return !task_collector_job_is_done(gather, job) && !gather->refused[job];
}

static void
task_leader_fail(const TaskLeader *leader, const bool *missing, const char *end)
{
	const Options *options = leader->run->options;
	const DumpPlan *plan = leader->run->plan;
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
	const Run  *run = leader->run;
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

/* Up to --retries times more; exits if anything is missing then. */
static void
run_tasks(const TaskLeader *leader)
{
	const Options *options = leader->run->options;
	bool	   *missing = pg_malloc0(options->tasks * sizeof(bool));
	Retry		retry = {0};
	int			n_looks = 0;

	while (find_missing(leader, missing))
	{
		int			status;
		char	   *end;

		while (retry.n > 0 && !retry_is_due(&retry))
		{
			task_leader_attend(leader, &n_looks);
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
			task_leader_fail(leader, missing, end);
		(void) retry_later(&retry);
		pg_log_warning("the command %s; tasks to be run again: %s; retry %d of %d",
					   end, task_command_ranges(missing, (int) options->tasks),
					   retry.n, (int) options->retries);
		free(end);
	}
	free(missing);
}

/* ----------
 * The rows
 * ----------
 */
static void
check_place(const Options *options, const TaskPlace *place)
{
	struct stat st;
	struct stat archive;

	if (options->plan && options->directory &&
		stat(place->directory, &st) == 0 &&
		stat(options->directory, &archive) == 0 && st.st_dev != archive.st_dev)
		pg_fatal("the plan's directory \"%s\" is on another file system than the archive, into which files are renamed",
				 place->directory);
}

/* Has an attempt told of a part of it? */
static bool
is_partly_done(const Run *run, const Job *job)
{
	const FileResult *result;

	for (int i = 0; (result = run_job_result(run, job, i)) != NULL; i++)
		if (result->done)
			return true;
	return false;
}

/* Tables that no task could lock: the leader has all locks. */
static void
read_missing(const TaskLeader *leader, const WorkerTask *own)
{
	const Run  *run = leader->run;

	for (int i = 0; i < run->plan->queue->n_jobs; i++)
	{
		if (task_collector_job_is_done(leader->gather, i))
			continue;
		if (is_partly_done(run, &run->plan->queue->jobs[i]))
			own->reset(own->arg, i);
		leader_do(leader->source, own, i);
	}
}

void
task_leader_run(Source *source, Run *run, const WorkerTask *own)
{
	TaskLeader	leader = {.source = source,.run = run};
	char	   *run_id = hex_random(16);

	leader.place = task_place_make(source->options->plan,
								   source->options->directory,
								   ARCHIVE_TASKS_NAME);
	check_place(source->options, leader.place);
	task_server_hold(source->conn, run_id);
	leader.gather = task_collector_new(run, leader.place->directory, run_id);
	task_plan_write(leader.place->plan_path, source, run->plan, run_id);
	leader_begin_rows(source, run);
	run_tasks(&leader);
	read_missing(&leader, own);
	leader_finish(source);
	check_commands(&leader);
	progress_end();
	task_place_remove(leader.place);
}
