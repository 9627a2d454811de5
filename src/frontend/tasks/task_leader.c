/*
 * task_leader.c
 *		Has tasks run, and takes what they have made.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fe_utils/string_utils.h"

#include "base/interrupt.h"
#include "base/printable.h"
#include "base/retry.h"
#include "process/child_process.h"
#include "process/child_program.h"
#include "process/task_command.h"
#include "progress/progress.h"
#include "source/leader.h"
#include "source/leader_session.h"
#include "stream/hex.h"
#include "tasks/plan_write.h"
#include "tasks/task_gather.h"
#include "tasks/task_leader.h"
#include "tasks/task_place.h"
#include "tasks/task_server.h"

/* How often to look whether the command has ended, and what has come. */
#define LOOK_US 100000
#define LOOKS_FOR_RESULTS 10

/* So many missing files are named. */
#define MOST_NAMED 10

typedef struct TaskLeader
{
	Source	   *source;
	Run		   *run;
	TaskPlace  *place;
	TaskGather *gather;
	int			n_looks;
} TaskLeader;

/* ----------
 * Before
 * ----------
 */

/*
 * Other hosts have another environment: what decides whom to trust, and what
 * is read, is that of the leader, wherever it had that from.  The last of a
 * keyword counts.
 */
static char *
task_conninfo(const Source *source)
{
	static const char *const keywords[] = {
		"options", "sslmode", "channel_binding", "require_auth", "gssencmode",
		"ssl_min_protocol_version", "requirepeer"
	};
	PQconninfoOption *options = PQconninfo(source->conn);
	PQExpBufferData text;

	initPQExpBuffer(&text);
	appendPQExpBuffer(&text, "%s%s", source->address->conninfo,
					  source->address->tcp_settings);
	for (PQconninfoOption *option = options; option && option->keyword; option++)
		for (int i = 0; option->val && option->val[0] && i < (int) lengthof(keywords); i++)
			if (strcmp(option->keyword, keywords[i]) == 0)
			{
				appendPQExpBuffer(&text, " %s=", option->keyword);
				appendConnStrVal(&text, option->val);
			}
	PQconninfoFree(options);
	return text.data;
}

static void
write_plan(const TaskLeader *leader, const char *run_id)
{
	const Source *source = leader->source;
	const Options *options = source->options;
	const DumpPlan *plan = leader->run->plan;
	char		compression[COMPRESS_SPEC_ERROR_BYTES];
	TaskPlanHead head = {
		.version = PARDUMP_VERSION,
		.run_id = unconstify(char *, run_id),
		.n_tasks = (int) options->tasks,
		.conninfo = task_conninfo(source),
		.server = task_server_read(source->conn),
		.snapshot = unconstify(char *, plan->snapshot),
		.snapshot_identity = unconstify(char *, plan->snapshot_identity),
		.encoding = unconstify(char *, plan->encoding),
		.compression = compression,
		.server_compression = unconstify(char *, plan->server_compress),
		.checksums = pg_checksum_type_name(plan->checksum_type),
		.lock_wait_ms = plan->lock_wait_ms,
		.role = unconstify(char *, options->role),
		.extra_float_digits = unconstify(char *, options->extra_float_digits),
		.quote_all_identifiers = options->quote_all_identifiers,
		.enable_row_security = options->enable_row_security,
		.no_sync = options->sync_method == SYNC_NONE,
		.archive = options->directory ? make_absolute_path(options->directory) : NULL,
		.pipe_command = unconstify(char *, options->pipe_command),
		.retries = options->retries,
		.server_version = plan->tables->server_version,
		.block_bytes = plan->tables->block_bytes,
		.extension_missing = unconstify(char *, plan->extension->missing),
		.extension_functions = plan->extension->functions,
		.extension_table = plan->extension->lock_table,
		.n_objects = plan->objects->n_objects,
	};

	compress_spec_print(&plan->compress, compression, sizeof(compression));
	plan_write(leader->place->plan_path, &head, plan);
}

/* ----------
 * While the command runs
 * ----------
 */
static void
attend(TaskLeader *leader)
{
	LeaderSession *session = leader->source->session;

	interrupt_check();
	progress_tick();
	leader_session_keep(session);
	if (leader->source->conn)
		leader_session_check_age(session);
	if (leader->n_looks++ % LOOKS_FOR_RESULTS == 0)
		task_gather_look(leader->gather);
	pg_usleep(LOOK_US);
}

static char *
describe_end(int status)
{
	if (WIFSIGNALED(status))
		return psprintf("was ended by signal %d", WTERMSIG(status));
	return psprintf("ended with exit code %d", WEXITSTATUS(status));
}

/* Run the command for these tasks; returns how it ended, owned. */
static char *
run_command(TaskLeader *leader, const bool *wanted)
{
	const Options *options = leader->source->options;
	char	   *command = task_command(options->run_tasks,
									   leader->place->plan_path,
									   (int) options->tasks, wanted);
	const char *args[] = {"sh", "-c", command, NULL};
	int			nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int			status = 0;
	pid_t		pid;

	if (nothing < 0)
		pg_fatal("could not open file \"%s\": %m", "/dev/null");
	pg_log_info("running \"%s\"", command);
	pid = child_program_start_reading("/bin/sh", args, nothing,
									  STDERR_FILENO, -1);
	close(nothing);
	while (waitpid(pid, &status, WNOHANG) != pid)
		attend(leader);
	/* tasks that it has left behind do no harm, and end when the run does */
	child_process_set_fed(0);
	task_gather_look(leader->gather);
	task_gather_command_ended(leader->gather);
	free(command);
	return describe_end(status);
}

/* ----------
 * What is missing
 * ----------
 */
/* Is it for a task to do? */
static bool
is_missing(const TaskLeader *leader, int job)
{
	return !task_gather_job_is_done(leader->gather, job) &&
		!task_gather_job_is_refused(leader->gather, job);
}

static void
fail(const TaskLeader *leader, const bool *missing, const char *end)
{
	const Options *options = leader->source->options;
	const DumpPlan *plan = leader->run->plan;
	int			n = 0;

	pg_log_error("not all tasks were done, and the command %s: files of tasks %s are missing",
				 end, task_command_list(missing, (int) options->tasks, ","));
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

/* By task: has it jobs that are neither done nor refused? */
static bool
find_missing(const TaskLeader *leader, bool *missing)
{
	int			n_tasks = (int) leader->source->options->tasks;
	bool		any = false;

	memset(missing, 0, n_tasks * sizeof(bool));
	for (int i = 0; i < leader->run->plan->queue->n_jobs; i++)
	{
		if (!is_missing(leader, i))
			continue;
		missing[i % n_tasks] = true;
		any = true;
	}
	return any;
}

/*
 * A command of --pipe that an attempt has left behind stores what it has
 * under the file's name, whenever it likes, and that may be a part
 * (sink_pipe.c).
 */
static void
check_commands(TaskLeader *leader)
{
	const char *name;

	if (leader->run->options->pipe_command == NULL)
		return;
	task_gather_look(leader->gather);
	name = task_gather_not_ended(leader->gather);
	if (name == NULL)
		return;
	pg_log_error("attempt \"%s\" at a task has not come to its end", printable(name));
	pg_log_error_detail("A command of --pipe that it has left may yet store a part of a file in the place of the whole.");
	exit(1);
}

static void
run_tasks(TaskLeader *leader)
{
	const Options *options = leader->source->options;
	bool	   *missing = pg_malloc0(options->tasks * sizeof(bool));
	Retry		retry = {0};

	while (find_missing(leader, missing))
	{
		char	   *end;

		while (retry.n > 0 && !retry_is_due(&retry))
			attend(leader);
		end = run_command(leader, missing);
		check_commands(leader);
		if (!find_missing(leader, missing))
			break;
		if (retry.n == (int) options->retries)
			fail(leader, missing, end);
		(void) retry_later(&retry);
		pg_log_warning("the command %s; tasks to be run again: %s; retry %d of %d",
					   end, task_command_list(missing, (int) options->tasks, ","),
					   retry.n, (int) options->retries);
		free(end);
	}
	free(missing);
}

/* Tables that no task could lock: the leader has all locks. */
static void
run_refused(TaskLeader *leader, const WorkerTask *own)
{
	for (int i = 0; i < leader->run->plan->queue->n_jobs; i++)
	{
		if (task_gather_job_is_done(leader->gather, i))
			continue;
		if (!leader_session_do(leader->source->session, own, i))
			leader_session_keep(leader->source->session);
	}
}

/* Its success proves that the session has had its locks all the time. */
static void
finish_session(TaskLeader *leader)
{
	LeaderSession *session = leader->source->session;

	while (!leader_session_is_finished(session))
	{
		leader_session_keep(session);
		leader_session_finish(session);
	}
}

void
task_leader_run(Source *source, Run *run, const WorkerTask *own)
{
	TaskLeader	leader = {.source = source,.run = run};
	char	   *run_id = hex_random(16);

	leader.place = task_place_make(source->options);
	task_server_hold(source->conn, run_id);
	write_plan(&leader, run_id);
	leader.gather = task_gather_new(run, leader.place->directory, run_id);
	leader_begin_rows(source, run);
	run_tasks(&leader);
	run_refused(&leader, own);
	finish_session(&leader);
	check_commands(&leader);
	progress_end();
	task_place_remove(leader.place);
}
