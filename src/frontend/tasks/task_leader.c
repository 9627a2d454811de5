/*
 * task_leader.c
 *		The leader of a distributed dump: starts tasks with the user's
 *		command, and collects the files that the tasks write.
 *
 * With --run-tasks, the workers of this process do not read the rows.  Tasks
 * do: processes that a command of the user starts, usually on other hosts.
 * The leader and the tasks share only a directory.  It contains the plan,
 * which the leader writes, and files of results: each attempt at a task
 * appends to a file of its own.  The leader holds the snapshot and all table
 * locks, looks for new lines in the results, and renames the files into the
 * archive.
 *
 * The leader knows about an attempt only what the attempt writes: an attempt
 * may be killed, may hang, or may run a second time.  So the leader does not
 * judge by the exit code of the command, but by the files that are complete.
 */
#include "base/fe_compat.h"

#include <sys/wait.h>

#include "archive/archive_name.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "options/own_options.h"
#include "source/leader.h"
#include "stream/regular_file.h"
#include "tasks/task_leader.h"
#include "tasks/task_server.h"

/* An attempt at a task, and how much of its results the leader has read. */
typedef struct TaskAttempt
{
	char	   *name;			/* first, for compare_strings() */
	int			task;
	off_t		read;
	bool		is_ours;		/* its first line has our run ID */
	bool		is_wrong;		/* its results are ignored */
	bool		ended;			/* wrote its last line; no command is left */
} TaskAttempt;

/* The results of tasks, which the leader adds to the results of the run. */
typedef struct TaskCollector
{
	Run		   *run;
	const char *directory;		/* that of the plan */
	const char *run_id;
	TaskAttempt *attempts;		/* sorted by name: each is looked up whenever
								 * the directory is listed */
	int			n_attempts;
	bool	   *refused;		/* by job: no session of its task can lock the
								 * job's table */
} TaskCollector;

/* ----------
 * The assignment of jobs to tasks.
 *
 * The leader assigns all jobs before it writes the plan, since tasks cannot
 * ask for their next job.  It assigns the longest jobs first, each to the
 * task with the least work so far (Graham, Bounds on Multiprocessing Timing
 * Anomalies, 1969).
 * ----------
 */

/*
 * Each file costs about a millisecond in addition to the time for its
 * contents, as much time as this number of bytes takes.
 */
#define FILE_BYTES 100000

/* The work that is assigned to a task so far. */
typedef struct TaskLoad
{
	uint64		bytes;
	int			task;
} TaskLoad;

/*
 * Among equal loads, the task's number decides, so that the same plan always
 * leads to the same assignment.
 */
static bool
is_less(const TaskLoad *a, const TaskLoad *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->task < b->task;
}

/*
 * Restore the order of the heap, whose top is the smallest load, after the
 * top has grown.
 */
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
 * Assign the queue's jobs to n_tasks tasks, so that all tasks get about the
 * same amount of work.
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
 * The collection of results and files.
 *
 * Only the leader gives files their names in the archive.  If several
 * attempts have written the same file, the archive and the manifest get the
 * file and the results of the attempt whose results the leader reads first.
 * A later attempt can change neither, except for files that commands store.
 * ----------
 */

/*
 * Give the file its name in the archive.  Returns false if there is no
 * complete file.  With --pipe, there is nothing to do: the commands have
 * stored the file already.
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
		 * The size shows whether the file is complete.  lstat() and the owner
		 * are checked because other users may be able to write to the
		 * directory: a symbolic link could put a file of theirs into the
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
 * Exits with a message if another attempt has stored other contents of a
 * file.  With --pipe, both attempts have used the same name, and it is not
 * known which of them was the last.
 */
static void
check_stored_again(const Options *options, const char *name,
				   const FileResult *result, const FileResult *again)
{
	if (options->pipe_command == NULL ||
		(result->checksum_len == again->checksum_len &&
		 memcmp(result->checksum, again->checksum, result->checksum_len) == 0))
		return;
	pg_log_error("two attempts of a task stored different contents in file \"%s\"",
				 name);
	pg_log_error_detail("The attempts had different settings or libraries, or only one of them copied the file of the previous archive.");
	pg_fatal_hint("Run the dump again, with a new destination.");
}

/*
 * Returns false if the line's numbers do not exist in this run.  The result
 * of a second attempt at the same file is not an error: the function ignores
 * it, and the file stays where it is until the directory is removed.
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
	if (result->done)
	{
		check_stored_again(run->options, name, result, &line->result);
		free(name);
		return true;
	}
	if (!take_file(collector, attempt, name, &line->result))
		return true;
	*result = line->result;
	result->new_reason = NULL;	/* task_result_free() frees it */
	result->worker = attempt->task;
	result->done = true;
	if (file)
	{
		/*
		 * The event log shows the number of the task in place of the
		 * worker's.
		 */
		results->worker = attempt->task;
		run_event_chunk_end(run, file, line->result.new_reason);
		results->worker = 0;
	}
	return true;
}

/*
 * Show in the progress that a task is running, or not.  The leader does not
 * know which job the task does; the job that is shown is the first of the
 * task, which task_deal() has assigned: the job with the task's own number.
 */
static void
set_at_work(TaskCollector *collector, int task, bool at_work)
{
	collector->run->results->workers[task].job =
		at_work && task < collector->run->plan->queue->n_jobs ? task : -1;
}

/*
 * Returns false, and changes nothing, if the line cannot belong to this run.
 */
static bool
take_line(TaskCollector *collector, TaskAttempt *attempt, const TaskLine *line)
{
	/*
	 * Only the first line contains the run ID, so it must precede all others.
	 */
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

/*
 * Read the complete lines of this text.  The rest is read again when its line
 * is complete.
 */
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
 * The leader opens the file each time, because a network file system shows
 * what another host has written and flushed only after a new open().
 * Attributes that stat() returns for a name may be outdated, so the function
 * uses fstat().
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
	fd = regular_file_open_own(path, &problem);
	if (fd < 0)
	{
		attempt->is_wrong = errno != ENOENT;
		pg_log_warning("ignoring result file \"%s\"", printable(path));
		pg_log_warning_detail("%s", message_sentence(problem));
	}
	else if (fstat(fd, &st) == 0 && st.st_size == attempt->read)
		;						/* no new lines */
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

/*
 * Add the attempt whose result file has this name, TASK.HOST.PROCESS.RANDOM
 * and the suffix, unless it is in the list already.
 */
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
	 * The list is kept sorted because most calls only search it: all attempts
	 * are looked up each time, but few are new.
	 */
	collector->attempts = array_room(collector->attempts, collector->n_attempts,
									 sizeof(TaskAttempt));
	memmove(&collector->attempts[place + 1], &collector->attempts[place],
			(collector->n_attempts++ - place) * sizeof(TaskAttempt));
	collector->attempts[place] = attempt;
}

/*
 * Read new results.  An error of readdir() ends the listing early, which does
 * no harm: the next call finds the rest.
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

/*
 * Assign the jobs to tasks, and create the collector.  Call this before the
 * command runs for the first time.
 */
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

/*
 * The order of the files as numbers, because pointers have no meaning in a
 * file.
 */
static int *
make_queue(const DumpPlan *plan)
{
	const ChunkPlan *chunks = plan->chunks;
	int		   *numbers = pg_malloc0((chunks->n_files + 1) * sizeof(int));

	for (int i = 0; i < chunks->n_files; i++)
		numbers[i] = (int) (plan->queue->files[i] - chunks->files);
	return numbers;
}

/*
 * Add the standbys other than the first to the plan, with the addresses at
 * which the leader has reached them.  The leader's session on each holds the
 * lock of the run too, so that tasks can check for it there.
 */
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

/* Paths are made absolute because tasks have other working directories. */
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
		head.previous = plan->previous->copies ?
			pg_strdup(plan->previous->directory) :
			make_absolute_path(plan->previous->directory);
		head.pipe_copy = unconstify(char *, options->pipe_copy);
		head.copy_method = unconstify(char *, options->incremental_copy_method);
	}
	compress_spec_print(&plan->compress, head.compression,
						COMPRESS_SPEC_ERROR_BYTES);
	return head;
}

/*
 * Write the plan of this run to path, as task_plan_write_file() does.  From
 * now on, the leader's sessions on further standbys hold the lock of the run.
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
 * How often the leader checks its sessions while the command runs.  It looks
 * for results every n-th time.  n grows with the number of tasks, because
 * reading the results costs more with more tasks.
 */
#define LOOK_MS 20
#define TASKS_FOR_LOOK 20
#define MOST_LOOKS_FOR_RESULTS 50

/* The most missing files that a message names. */
#define MOST_NAMED 10

/* The largest number of ranges that a message names. */
#define MOST_RANGES 10

typedef struct TaskLeader
{
	Source	   *source;
	Run		   *run;
	TaskPlace  *place;
	TaskCollector *collector;
} TaskLeader;

/* ----------
 * Running the command of --run-tasks.
 * ----------
 */
static void
task_leader_attend(const TaskLeader *leader, int *n_looks)
{
	int			looks = (int) leader->run->options->tasks / TASKS_FOR_LOOK;

	looks = Min(Max(looks, 1), MOST_LOOKS_FOR_RESULTS);
	interrupt_check();

	/*
	 * The command may run for hours, in which the session that holds the
	 * snapshot can be lost.
	 */
	leader_attend(leader->source);
	if (*n_looks % looks == 0)
		task_collector_look(leader->collector);
	(*n_looks)++;
}

/*
 * Add how the command ended as a detail to the last message.  Files can be
 * missing although the exit code is 0, so the detail does not call it failed.
 */
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
 * Fail if an attempt has not ended and --pipe is used.  A --pipe command of
 * that attempt may still be running.  It stores its input under the file's
 * name whenever it ends, even if the input is only a part of the file (see
 * sink.c), and so could replace the complete file of another attempt.
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
		pg_fatal_hint("The name of the attempt contains the host and the process ID of the task.  End the processes that this task has started, and run the same command again.");
	}
}

/* Run the command for these tasks.  Returns its status, as from waitpid(). */
static int
run_command(const TaskLeader *leader, const bool *wanted)
{
	const Options *options = leader->run->options;
	char	   *command = task_options_command(options->run_tasks,
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
	 * The command's output goes to standard error, because standard output
	 * may be the event log.  Its input is /dev/null, so that programs such as
	 * ssh do not read the user's standard input.
	 */
	pid = child_program_start_reading("/bin/sh", args, nothing,
									  STDERR_FILENO, -1);
	close(nothing);
	while (!child_process_wait(pid, &status, LOOK_MS))
		task_leader_attend(leader, &n_looks);

	/*
	 * Tasks that still run in the background may continue: they do no harm,
	 * and end when the run ends.
	 */
	child_process_set_fed(0);
	task_collector_look(leader->collector);
	check_commands(leader);

	/*
	 * Attempts that were killed wrote no last line, so the progress would
	 * show them as running.
	 */
	for (int i = 0; i < (int) options->tasks; i++)
		set_at_work(leader->collector, i, false);
	return status;
}

/* ----------
 * Missing files and retries.
 * ----------
 */

/*
 * Returns how many of the job's files are complete; *n is set to the number
 * of its files.
 */
static int
count_done(const Run *run, int job, int *n)
{
	const FileResult *result;
	int			n_done = 0;

	for (*n = 0; (result = run_job_result(run, &run->plan->queue->jobs[job], *n)) != NULL; ++*n)
		n_done += result->done;
	return n_done;
}

/*
 * Is the job incomplete, and can its task do it?  A job whose table the task
 * cannot lock is left to the leader.
 */
static bool
is_missing(const TaskLeader *leader, int job)
{
	int			n;

	return count_done(leader->run, job, &n) < n && !leader->collector->refused[job];
}

/*
 * The numbers of these tasks for a message, with ranges as "0-4095".  If
 * there are many ranges, only the first are named, with the number of
 * remaining tasks.  Owned.
 */
static char *
task_ranges(const bool *wanted, int n_tasks)
{
	PQExpBufferData list = buffer_new();
	int			n_ranges = 0;
	int			n_rest = 0;

	for (int i = 0; i < n_tasks; i++)
	{
		int			first = i;

		if (!wanted[i])
			continue;
		while (i + 1 < n_tasks && wanted[i + 1])
			i++;
		if (n_ranges++ >= MOST_RANGES)
		{
			n_rest += i + 1 - first;
			continue;
		}
		appendPQExpBuffer(&list, "%s%d", list.len > 0 ? "," : "", first);
		if (i > first)
			appendPQExpBuffer(&list, "%c%d", i == first + 1 ? ',' : '-', i);
	}
	if (n_rest > 0)
		appendPQExpBuffer(&list, " and %d more", n_rest);
	return buffer_text(&list);
}

static void
task_leader_fail(const TaskLeader *leader, const bool *missing, int status)
{
	const Options *options = leader->run->options;
	const DumpPlan *plan = leader->run->plan;
	PQExpBufferData jobs = buffer_new();
	int			n = 0;

	pg_log_error("not all tasks were completed; tasks with missing files: %s",
				 task_ranges(missing, (int) options->tasks));
	log_end(PG_LOG_ERROR, status);
	for (int i = 0; i < plan->queue->n_jobs; i++)
		if (is_missing(leader, i) && n++ < MOST_NAMED)
			units_list_add(&jobs, dump_plan_describe_job(plan, i, -1));
	if (n > 0)
		pg_log_error_detail("Incomplete jobs: %s.",
							units_names(jobs.data, n, MOST_NAMED));
	if (options->retries > 0)
		pg_log_error_detail("Tasks were run " UINT64_FORMAT " times.",
							options->retries + 1);
	pg_fatal_hint("Fix the cause, which the output of the tasks shows, and run the same command again.");
}

/*
 * Set missing[] for each task that has incomplete jobs.  Returns whether
 * there is any such task.
 */
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

/*
 * Run the command until no files are missing, at most 1 + --retries times.
 * Exits with a message if files are still missing then.
 */
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
			/*
			 * All files are complete, but the user should know about the
			 * failure: the next run may fail for the same reason.
			 */
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
					   task_ranges(missing, (int) options->tasks),
					   retry.n, (int) options->retries);
		log_end(PG_LOG_WARNING, status);
	}
}

/* ----------
 * The run.
 * ----------
 */

/*
 * Fail early if the plan's directory is on another file system than the
 * archive: rename() does not work across file systems, which would only be
 * noticed after the first file was dumped.
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

/*
 * Do the jobs whose tables no task could lock.  The leader can, because its
 * own session has held all locks since the start.
 */
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

		/*
		 * The leader repeats the whole job, so remove the results of the
		 * files that are complete.
		 */
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
	 * Take the lock before the plan is written: a task starts as soon as it
	 * finds the plan, and concludes that the run has ended if it finds no
	 * lock.
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
