/*
 * dump_task_leader.c
 *		Has the tasks of a dump run, and takes what they have made.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>

#include "archive/archive_name.h"
#include "base/printable.h"
#include "tasks/dump_task_gather.h"
#include "tasks/dump_task_leader.h"
#include "tasks/task_plan_write.h"
#include "progress/progress.h"
#include "source/leader.h"
#include "base/hex.h"
#include "tasks/task_leader.h"
#include "tasks/task_place.h"
#include "tasks/task_server.h"

typedef struct DumpLeader
{
	Source	   *source;
	Run		   *run;
	TaskPlace  *place;
	TaskGather *gather;
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
check_commands(void *arg)
{
	DumpLeader *leader = arg;
	const char *name;

	if (leader->run->options->pipe_command == NULL)
		return;
	task_gather_look(leader->gather);
	name = task_attempts_not_ended(leader->gather->attempts);
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

/* ----------
 * All of it
 * ----------
 */

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
read_missing(const DumpLeader *leader, const WorkerTask *own)
{
	const Run  *run = leader->run;

	for (int i = 0; i < run->plan->queue->n_jobs; i++)
	{
		if (task_gather_job_is_done(leader->gather, i))
			continue;
		if (is_partly_done(run, &run->plan->queue->jobs[i]))
			own->reset(own->arg, i);
		leader_do(leader->source, own, i);
	}
}

void
dump_task_leader_run(Source *source, Run *run, const WorkerTask *own)
{
	DumpLeader	leader = {.source = source,.run = run};
	TaskLeader	tasks = {
		.arg = &leader,
		.attend = attend,
		.ended = check_commands,
	};
	char	   *run_id = hex_random(16);

	leader.place = task_place_make(source->options->plan,
								   source->options->directory,
								   ARCHIVE_TASKS_NAME);
	check_place(source->options, leader.place);
	task_server_hold(source->conn, run_id);
	leader.gather = dump_task_gather_new(run, leader.place->directory, run_id);
	task_plan_write(leader.place->plan_path, source, run->plan, run_id);
	tasks.gather = leader.gather;
	tasks.plan_path = leader.place->plan_path;
	leader_begin_rows(source, run);
	task_leader_run(&tasks);
	read_missing(&leader, own);
	leader_finish(source);
	check_commands(&leader);
	progress_end();
	task_place_remove(leader.place);
}
