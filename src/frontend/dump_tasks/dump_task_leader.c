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
#include "source/leader_session.h"
#include "stream/hex.h"
#include "tasks/task_address.h"
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

/* Further standbys, which tasks reach as the leader has; their number. */
static int
plan_standbys(const Source *source, const char *run_id,
			  PlannedStandby **planned)
{
	int			n = source->standbys ? source->standbys->n - 1 : 0;

	*planned = pg_malloc0((n + 1) * sizeof(PlannedStandby));
	for (int i = 0; i < n; i++)
	{
		const Standby *standby = &source->standbys->list[i + 1];

		(*planned)[i].name = standby->name;
		(*planned)[i].conninfo = task_address_of(standby->conn, standby->address);
		(*planned)[i].snapshot = unconstify(char *, standby->snapshot);
		(*planned)[i].identity = unconstify(char *, standby->identity);
		(*planned)[i].holder_query = standby->holder_query;
		task_server_hold(standby->conn, run_id);
	}
	return n;
}

static void
write_plan(const DumpLeader *leader, const char *run_id)
{
	const Source *source = leader->source;
	const Options *options = source->options;
	const DumpPlan *plan = leader->run->plan;
	char		compression[COMPRESS_SPEC_ERROR_BYTES];
	PlannedStandby *standbys;
	int			n_standbys;
	DumpTaskHead head = {
		.run.version = PARDUMP_VERSION,
		.run.what = TASKS_DUMP,
		.run.run_id = unconstify(char *, run_id),
		.run.n_tasks = (int) options->tasks,
		.run.conninfo = task_address_of(source->conn, source->address),
		.run.server = task_server_read(source->conn),
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
	compress_spec_print(&plan->compress, compression, sizeof(compression));
	n_standbys = plan_standbys(source, run_id, &standbys);
	dump_task_write(leader->place->plan_path, &head, standbys, n_standbys,
					plan);
	free(standbys);
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
	LeaderSession *session = leader->source->session;

	progress_tick();
	leader_session_keep(session);
	if (leader->source->standbys)
		standby_keep(leader->source->standbys);
	if (leader->source->conn)
		leader_session_check_age(session);
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
		.n_jobs = leader->run->plan->queue->n_jobs,
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
	{
		if (dump_task_gather_job_is_done(leader->gather, i))
			continue;
		if (!leader_session_do(leader->source->session, own, i))
			leader_session_keep(leader->source->session);
	}
}

/* Its success proves that the session has had its locks all the time. */
static void
finish_session(DumpLeader *leader)
{
	LeaderSession *session = leader->source->session;

	while (!leader_session_is_finished(session))
	{
		leader_session_keep(session);
		leader_session_finish(session);
	}
}

void
dump_task_leader_run(Source *source, Run *run, const WorkerTask *own)
{
	DumpLeader	leader = {.source = source,.run = run};
	char	   *run_id = hex_random(16);

	leader.place = task_place_make(source->options->plan,
								   source->options->directory,
								   ARCHIVE_TASKS_NAME);
	check_place(source->options, leader.place);
	task_server_hold(source->conn, run_id);
	write_plan(&leader, run_id);
	leader.gather = dump_task_gather_new(run, leader.place->directory, run_id);
	leader_begin_rows(source, run);
	run_tasks(&leader);
	run_refused(&leader, own);
	finish_session(&leader);
	check_commands(&leader);
	progress_end();
	task_place_remove(leader.place);
}
