/*
 * dump_task_leader.c
 *		Has the tasks of a dump run, and takes what they have made.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>

#include "archive/archive_name.h"
#include "base/printable.h"
#include "dump_tasks/dump_task_gather.h"
#include "dump_tasks/dump_task_leader.h"
#include "dump_tasks/dump_task_write.h"
#include "progress/progress.h"
#include "source/leader.h"
#include "stream/hex.h"
#include "tasks/plan_queue.h"
#include "tasks/task_leader.h"
#include "tasks/task_place.h"
#include "tasks/task_server.h"

typedef struct DumpLeader
{
	Source	   *source;
	Run		   *run;
	TaskPlace  *place;
	DumpTaskGather *gather;
} DumpLeader;

/* ----------
 * Before
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

/*
 * A command of --pipe that an attempt has left behind stores what it has
 * under the file's name, whenever it likes, and that may be a part
 * (sink_pipe.c).
 */
static void
check_commands(DumpLeader *leader)
{
	const char *name;

	if (leader->run->options->pipe_command == NULL)
		return;
	dump_task_gather_look(leader->gather);
	name = dump_task_gather_not_ended(leader->gather);
	if (name == NULL)
		return;
	pg_log_error("attempt \"%s\" at a task has not come to its end", printable(name));
	pg_log_error_detail("A command of --pipe that it has left may yet store a part of a file in the place of the whole.");
	exit(1);
}

/* ----------
 * While the command runs
 * ----------
 */
static void
attend(void *arg)
{
	DumpLeader *leader = arg;

	leader_attend(leader->source);
}

static void
look(void *arg)
{
	DumpLeader *leader = arg;

	dump_task_gather_look(leader->gather);
}

static void
command_ended(void *arg)
{
	DumpLeader *leader = arg;

	dump_task_gather_command_ended(leader->gather);
	check_commands(leader);
}

static bool
is_missing(void *arg, int job)
{
	DumpLeader *leader = arg;

	return !dump_task_gather_job_is_done(leader->gather, job) &&
		!dump_task_gather_job_is_refused(leader->gather, job);
}

static char *
describe(void *arg, int job)
{
	DumpLeader *leader = arg;

	return dump_plan_describe_job(leader->run->plan, job, -1);
}

static void
run_tasks(DumpLeader *leader)
{
	TaskLeader	tasks = {
		.options = leader->source->options,
		.plan_path = leader->place->plan_path,
		.what = "files",
		.queue = leader->run->plan->queue,
		.arg = leader,
		.attend = attend,
		.look = look,
		.ended = command_ended,
		.is_missing = is_missing,
		.describe = describe,
	};

	task_leader_run(&tasks);
}

/* ----------
 * After
 * ----------
 */
/* Tables that no task could lock: the leader has all locks. */
static void
run_refused(DumpLeader *leader, const WorkerTask *own)
{
	for (int i = 0; i < leader->run->plan->queue->n_jobs; i++)
		if (!dump_task_gather_job_is_done(leader->gather, i))
			leader_do(leader->source, own, i);
}

void
dump_task_leader_run(Source *source, Run *run, const WorkerTask *own)
{
	DumpLeader	leader = {.source = source,.run = run};
	PlanWriter	plan;
	char	   *run_id = hex_random(16);

	leader.place = task_place_make(source->options->plan,
								   source->options->directory,
								   ARCHIVE_TASKS_NAME);
	check_place(source->options, leader.place);
	task_server_hold(source->conn, run_id);
	plan_queue_deal(run->plan->queue, (int) source->options->tasks);
	dump_task_write_begin(&plan, leader.place->plan_path, TASKS_DUMP, source,
						  run->plan, run_id);
	plan_write_end(&plan);
	leader.gather = dump_task_gather_new(run, leader.place->directory, run_id);
	leader_begin_rows(source, run);
	run_tasks(&leader);
	run_refused(&leader, own);
	leader_finish(source);
	check_commands(&leader);
	progress_end();
	task_place_remove(leader.place);
}
