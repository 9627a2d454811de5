/*
 * task_leader.c
 *		Has the tasks of a dump run until all is done.
 *
 * With --run-tasks, it is not workers of this process that read the rows, but
 * tasks: processes that a command of the user's starts, as a rule on other
 * hosts.  All that leader and tasks share is a directory, with the plan,
 * which the leader writes, and files of results, of which each attempt at a
 * task appends to its own.  The leader holds the snapshot and all locks,
 * looks for new lines in the results, and gives files their names in the
 * archive.
 *
 * Nothing is known of an attempt but what it writes: it may be killed, may
 * hang, or may run a second time.  So what counts is not how the command
 * ends, but which files are there.
 */
#include "base/fe_compat.h"

#include <sys/wait.h>

#include "archive/archive_name.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/interrupt.h"
#include "process/task_command.h"
#include "source/leader.h"
#include "tasks/task_leader.h"
#include "tasks/task_server.h"

/* An attempt, and how far its results are read. */
typedef struct TaskAttempt
{
	char	   *name;			/* first, for compare_strings() */
	int			task;
	off_t		read;
	bool		is_ours;		/* its first line says so */
	bool		is_wrong;		/* nothing of it is taken */
	bool		ended;			/* by itself: no command of its is left */
} TaskAttempt;

/* The results of tasks, which the leader takes into the run. */
typedef struct TaskCollector
{
	Run		   *run;
	const char *directory;		/* the plan's */
	const char *run_id;
	TaskAttempt *attempts;		/* sorted by name: each is looked up whenever
								 * the directory is listed */
	int			n_attempts;
	bool	   *refused;		/* by job: none of a task's sessions can lock
								 * its table */
} TaskCollector;

/* ----------
 * Which task does which jobs.
 *
 * That is dealt out once, before the plan is written, since tasks cannot ask
 * for their next job.  Each job, the longest first, goes to the task that has
 * the least (Graham, Bounds on Multiprocessing Timing Anomalies, 1969).
 * ----------
 */

/*
 * A file costs about a millisecond beside its contents: as much as this
 * number of bytes.
 */
#define FILE_BYTES 100000

/* What a task has to do. */
typedef struct TaskLoad
{
	uint64		bytes;
	int			task;
} TaskLoad;

/*
 * The number decides between equal loads, so that the same plan is always
 * dealt out in the same way.
 */
static bool
is_less(const TaskLoad *a, const TaskLoad *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->task < b->task;
}

/* Loads are a heap, the least on top: the top has become more. */
static void
sift_down(TaskLoad *loads, int n)
{
	TaskLoad	top = loads[0];
	int			i = 0;

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child + 1 < n && is_less(&loads[child + 1], &loads[child]))
			child++;
		if (child >= n || !is_less(&loads[child], &top))
			break;
		loads[i] = loads[child];
		i = child;
	}
	loads[i] = top;
}

/*
 * Deal out the queue's jobs to n_tasks tasks, so that all have the same to
 * do.
 */
static void
task_deal(const JobQueue *queue, int n_tasks)
{
	TaskLoad   *loads = pg_malloc0(n_tasks * sizeof(TaskLoad));

	for (int i = 0; i < n_tasks; i++)
		loads[i].task = i;
	for (int i = 0; i < queue->n_jobs; i++)
	{
		Job		   *job = &queue->jobs[i];

		job->task = loads[0].task;
		loads[0].bytes += job->est_bytes + (uint64) job->n * FILE_BYTES;
		sift_down(loads, n_tasks);
	}
}

/* ----------
 * Takes the results of tasks, and their files into the archive.
 *
 * The leader alone gives files their names in the archive.  If several
 * attempts have made a file, the first whose results the leader reads has
 * made the archive's, and the manifest gets those results.  A later attempt
 * can change neither.
 * ----------
 */

/*
 * Give the file its name in the archive; false if it is not there, whole.
 * Commands of --pipe have taken it where it belongs.
 */
static bool
take_file(const TaskCollector *collector, const TaskAttempt *attempt, char *name,
		  const FileResult *result)
{
	char	   *path = psprintf("%s/%s.%s", collector->directory, name,
								attempt->name);
	struct stat st;
	bool		taken = true;

	if (collector->run->options->pipe_command == NULL)
	{
		/*
		 * A file that is cut off has another size, and in a directory to
		 * which others may write a link would put a file of theirs into the
		 * archive.
		 */
		taken = lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
			st.st_uid == geteuid() && (uint64) st.st_size == result->stored_bytes;
		if (taken)
			archive_dir_take_file(collector->run->archive, path, name);
		else
		{
			pg_log_warning("file \"%s\" does not match the results of its task",
						   printable(path));
			pg_log_warning_detail("Its rows will be dumped again.");
		}
	}
	free(path);
	free(name);
	return taken;
}

/*
 * False if the line's numbers are not of this run.  The result of a second
 * attempt at the same file is not an error: it is left where it is.
 */
static bool
take_result(TaskCollector *collector, const TaskAttempt *attempt, const TaskLine *line)
{
	Run		   *run = collector->run;
	FileResults *results = run->results;
	const DumpPlan *plan = run->plan;
	bool		is_file = line->kind == TASK_LINE_FILE;
	const DataFile *file = NULL;
	FileResult *result;
	char	   *name;

	if (line->number >= (uint64) (is_file ? results->n_files : results->n_objects) ||
		line->result.server >= Max(run->n_servers, 1))
		return false;
	result = is_file ? &results->files[line->number] : &results->objects[line->number];
	if (result->done)
		return true;
	if (is_file)
	{
		file = &plan->chunks->files[line->number];
		name = archive_name_rows(file->dump_id, plan->compress.method);
	}
	else
	{
		int			number = (int) line->number;
		const LargeObjectGroup *group =
			&plan->objects->groups[large_objects_group_of(plan->objects, number)];

		name = archive_name_large_object(group->oids[number - group->first_object],
										 plan->compress.method);
	}
	if (!take_file(collector, attempt, name, &line->result))
		return true;
	*result = line->result;
	result->new_reason = NULL;	/* freed with the line */
	result->worker = attempt->task;
	result->done = true;
	if (file)
	{
		/* the event log shows the task where it has the worker otherwise */
		results->worker = attempt->task;
		run_event_chunk_end(run, file, line->result.new_reason);
		results->worker = 0;
	}
	return true;
}

/* Its first job, by task_deal(), is what it is shown to be at. */
static void
set_at_work(TaskCollector *collector, int task, bool at_work)
{
	collector->run->results->workers[task].job =
		at_work && task < collector->run->plan->queue->n_jobs ? task : -1;
}

/* False if the line cannot be one of this run; nothing is changed then. */
static bool
take_line(TaskCollector *collector, TaskAttempt *attempt, const TaskLine *line)
{
	/* an attempt is known to be this run's by its first line */
	if (line->kind != TASK_LINE_RUN && !attempt->is_ours)
		return false;
	switch (line->kind)
	{
		case TASK_LINE_NONE:
			return false;
		case TASK_LINE_RUN:
			if (line->run_id == NULL || strcmp(line->run_id, collector->run_id) != 0)
				return false;
			attempt->is_ours = true;
			set_at_work(collector, attempt->task, true);
			return true;
		case TASK_LINE_END:
			attempt->ended = true;
			set_at_work(collector, attempt->task, false);
			return true;
		case TASK_LINE_FILE:
		case TASK_LINE_OBJECT:
			return take_result(collector, attempt, line);
		case TASK_LINE_REFUSED:
			if (line->number >= (uint64) collector->run->plan->queue->n_jobs)
				return false;
			collector->refused[line->number] = true;
			return true;
	}
	return false;
}

/* Complete lines; the next look takes the rest, when it is complete. */
static void
take_lines(TaskCollector *collector, TaskAttempt *attempt, const char *text,
		   size_t len)
{
	const char *newline;

	while (!attempt->is_wrong && (newline = memchr(text, '\n', len)) != NULL)
	{
		size_t		line_len = newline - text;
		TaskLine	line;

		if (!task_result_read(text, line_len, &line) ||
			!take_line(collector, attempt, &line))
		{
			pg_log_warning("ignoring the rest of result file \"%s\", which is damaged or belongs to another run",
						   printable(attempt->name));
			attempt->is_wrong = true;
		}
		task_result_free(&line);
		text += line_len + 1;
		len -= line_len + 1;
		attempt->read += line_len + 1;
	}
}

/*
 * The file is opened each time, so that a network's file system shows what
 * another host has written and closed or flushed.  Attributes asked by name
 * may be old.
 */
static void
read_attempt(TaskCollector *collector, TaskAttempt *attempt)
{
	char	   *path;
	const char *problem;
	struct stat st;
	size_t		len;
	char	   *text;
	int			fd;

	if (attempt->is_wrong || attempt->ended)
		return;
	path = psprintf("%s/%s" TASK_RESULT_SUFFIX, collector->directory,
					attempt->name);
	fd = task_place_open(path, &problem);
	if (fd < 0)
	{
		attempt->is_wrong = errno != ENOENT;
		pg_log_warning("ignoring result file \"%s\", which %s",
					   printable(path), problem);
	}
	else if (fstat(fd, &st) == 0 && st.st_size == attempt->read)
		;						/* nothing is new */
	else if (lseek(fd, attempt->read, SEEK_SET) < 0)
		pg_fatal("could not seek in file \"%s\": %m", path);
	else
	{
		text = task_place_read(fd, path, &len);
		take_lines(collector, attempt, text, len);
		free(text);
	}
	if (fd >= 0)
		close(fd);
	free(path);
}

/* The attempt of a file with this name: TASK.HOST.... and the suffix. */
static void
note_attempt(TaskCollector *collector, const char *file_name)
{
	size_t		len = strlen(file_name);
	TaskAttempt attempt = {0};
	int			place;
	char	   *end;
	unsigned long task = strtoul(file_name, &end, 10);

	if (len <= strlen(TASK_RESULT_SUFFIX) || end == file_name || *end != '.' ||
		strcmp(file_name + len - strlen(TASK_RESULT_SUFFIX), TASK_RESULT_SUFFIX) != 0 ||
		task >= collector->run->options->tasks)
		return;
	attempt.name = pnstrdup(file_name, len - strlen(TASK_RESULT_SUFFIX));
	attempt.task = (int) task;
	place = lower_bound(&attempt, collector->attempts, collector->n_attempts,
						sizeof(TaskAttempt), compare_strings);
	if (place < collector->n_attempts &&
		strcmp(collector->attempts[place].name, attempt.name) == 0)
	{
		free(attempt.name);
		return;
	}

	/*
	 * Few attempts are new, and all are looked for again and again: so the
	 * list is kept in order.
	 */
	collector->attempts = array_room(collector->attempts, collector->n_attempts,
									 sizeof(TaskAttempt));
	memmove(&collector->attempts[place + 1], &collector->attempts[place],
			(collector->n_attempts++ - place) * sizeof(TaskAttempt));
	collector->attempts[place] = attempt;
}

/*
 * Take what is new.  An error of readdir() ends the list early, and the next
 * look finds the rest.
 */
static void
task_collector_look(TaskCollector *collector)
{
	DIR		   *listing = opendir(collector->directory);
	struct dirent *entry;

	if (listing == NULL)
		pg_fatal("could not open directory \"%s\": %m", collector->directory);
	while ((entry = readdir(listing)) != NULL)
		note_attempt(collector, entry->d_name);
	closedir(listing);
	for (int i = 0; i < collector->n_attempts; i++)
		read_attempt(collector, &collector->attempts[i]);
}

/* The commands of all tasks are to be begun: nothing has come of them yet. */
static TaskCollector *
task_collector_new(Run *run, const char *directory, const char *run_id)
{
	TaskCollector *collector = pg_malloc0(sizeof(TaskCollector));

	task_deal(run->plan->queue, (int) run->options->tasks);
	collector->run = run;
	collector->directory = directory;
	collector->run_id = run_id;
	collector->refused = pg_malloc0((run->plan->queue->n_jobs + 1) * sizeof(bool));
	return collector;
}

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

/* The order of files, as their numbers: pointers are of no use in a file. */
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

/* Paths are made absolute: tasks have other working directories. */
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
		.extension = *plan->extension,
		.knows_changes = plan->knows_changes,
		.n_objects = plan->objects->n_objects,
	};

	if (plan->fingerprints)
		head.fingerprints = *plan->fingerprints;
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
	TaskCollector *collector;
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
	/* the session that holds the snapshot may be lost meanwhile */
	leader_attend(leader->source);
	if (*n_looks % looks == 0)
		task_collector_look(leader->collector);
	(*n_looks)++;
}

/* A detail of the message before. */
static void
log_end(int level, int status)
{
	if (WIFSIGNALED(status))
		pg_log_generic(level, PG_LOG_DETAIL,
					   "The command was terminated by signal %d: %s.",
					   WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		pg_log_generic(level, PG_LOG_DETAIL,
					   "The command exited with exit code %d.",
					   WEXITSTATUS(status));
}

/*
 * A command of --pipe that an attempt has left behind stores what it has
 * under the file's name, whenever it likes, and that may be a part
 * (sink.c).
 */
static void
check_commands(const TaskLeader *leader)
{
	const TaskCollector *collector = leader->collector;

	if (leader->run->options->pipe_command == NULL)
		return;
	task_collector_look(leader->collector);
	for (int i = 0; i < collector->n_attempts; i++)
	{
		if (!collector->attempts[i].is_ours || collector->attempts[i].ended)
			continue;
		pg_log_error("attempt \"%s\" of a task has not ended",
					 printable(collector->attempts[i].name));
		pg_log_error_detail("A --pipe command of this attempt might still be running, and could replace a complete file with a partial one.");
		pg_fatal_hint("End the commands of this attempt, and run the dump again.");
	}
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

	/*
	 * The command's output is for the user to read, and standard output may
	 * be the event log's.  What reads standard input, such as ssh, must not
	 * take the user's.
	 */
	pid = child_program_start_reading("/bin/sh", args, nothing,
									  STDERR_FILENO, -1);
	close(nothing);
	while (!child_process_wait(pid, &status, LOOK_MS))
		task_leader_attend(leader, &n_looks);
	/* tasks that it has left behind do no harm, and end when the run does */
	child_process_set_fed(0);
	task_collector_look(leader->collector);
	check_commands(leader);
	/* for the progress: attempts that were killed have no last line */
	for (int i = 0; i < (int) options->tasks; i++)
		set_at_work(leader->collector, i, false);
	return status;
}

/* ----------
 * What is missing
 * ----------
 */

/* How many of a job's files are there?  *n is of how many. */
static int
count_done(const Run *run, int job, int *n)
{
	const FileResult *result;
	int			n_done = 0;

	for (*n = 0; (result = run_job_result(run, &run->plan->queue->jobs[job], *n)) != NULL; ++*n)
		n_done += result->done;
	return n_done;
}

/* Is one of the tasks' jobs for them to do, and not done? */
static bool
is_missing(const TaskLeader *leader, int job)
{
	int			n;

	return count_done(leader->run, job, &n) < n && !leader->collector->refused[job];
}

static void
task_leader_fail(const TaskLeader *leader, const bool *missing, int status)
{
	const Options *options = leader->run->options;
	const DumpPlan *plan = leader->run->plan;
	int			n = 0;

	pg_log_error("not all tasks were completed: files of tasks %s are missing",
				 task_command_ranges(missing, (int) options->tasks));
	log_end(PG_LOG_ERROR, status);
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

		while (retry.n > 0 && !retry_is_due(&retry))
		{
			task_leader_attend(leader, &n_looks);
			pg_usleep(LOOK_MS * 1000L);
		}
		status = run_command(leader, missing);
		if (!find_missing(leader, missing))
		{
			/* what the command runs, or where, wants to be looked at */
			if (status != 0)
			{
				pg_log_warning("the command of --run-tasks failed, but no files are missing");
				log_end(PG_LOG_WARNING, status);
			}
			break;
		}
		if (retry.n == (int) options->retries)
			task_leader_fail(leader, missing, status);
		(void) retry_later(&retry);
		pg_log_warning("not all tasks were completed; tasks to run again: %s; retry %d of %d",
					   task_command_ranges(missing, (int) options->tasks),
					   retry.n, (int) options->retries);
		log_end(PG_LOG_WARNING, status);
	}
}

/* ----------
 * The rows
 * ----------
 */

/*
 * rename() does not work across file systems, which would show only after the
 * first file was dumped.
 */
static void
check_place(const Options *options, const TaskPlace *place)
{
	struct stat st;
	struct stat archive;

	if (options->plan && options->directory &&
		stat(place->directory, &st) == 0 &&
		stat(options->directory, &archive) == 0 && st.st_dev != archive.st_dev)
	{
		pg_log_error("the plan's directory \"%s\" is not on the same file system as the archive",
					 place->directory);
		pg_fatal_hint("Use --plan=FILE to specify a file in a new directory on that file system.");
	}
}

/* Tables that no task could lock: the leader has all locks. */
static void
read_missing(const TaskLeader *leader, const WorkerTask *own)
{
	const Run  *run = leader->run;

	for (int i = 0; i < run->plan->queue->n_jobs; i++)
	{
		int			n;
		int			n_done = count_done(run, i, &n);

		if (n_done == n)
			continue;
		/* a job is begun again as a whole, without files that are there */
		if (n_done > 0)
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
								   source->options->directory);
	check_place(source->options, leader.place);

	/*
	 * The lock comes before the plan, by which tasks find out about it: a
	 * task that finds no lock takes the run for ended.
	 */
	task_server_hold(source->conn, run_id);
	leader.collector = task_collector_new(run, leader.place->directory, run_id);
	task_plan_write(leader.place->plan_path, source, run->plan, run_id);
	leader_begin_rows(source, run);
	run_tasks(&leader);
	read_missing(&leader, own);
	leader_finish(source);
	check_commands(&leader);
	progress_end();
	task_place_remove(leader.place);
}
