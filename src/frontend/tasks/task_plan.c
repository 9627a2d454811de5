/*
 * task_plan.c
 *		Writes and reads the files that the leader and the tasks of a
 *		distributed dump share: the plan, a JSON file in a directory of its
 *		own, and the results of tasks.
 *
 * The plan contains everything that a task needs for its jobs, as the same
 * structs that the workers of a dump use.  The tables below name each member
 * once, for both writing and reading, so that the two cannot differ.
 *
 * A plan contains commands and SQL conditions, which tasks execute, so write
 * access to the directory must be limited.  The leader creates a new
 * directory for itself only, and a task does not read files that another user
 * could have written.
 */
#include "base/fe_compat.h"

#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "base/buffer.h"
#include "base/hex.h"
#include "base/interrupt.h"
#include "options/own_options.h"
#include "stream/regular_file.h"
#include "tasks/task_plan.h"

/* ----------
 * The members of the JSON file.
 * ----------
 */
#define HEAD(name, kind, member) name, kind, offsetof(PlanFile, member)
#define STANDBY(name, kind, member) name, kind, offsetof(PlannedStandby, member)
#define TABLE(name, kind, member) name, kind, offsetof(PlannedTable, member)
#define DATA_FILE(name, kind, member) name, kind, offsetof(DataFile, member)
#define PREVIOUS(name, kind, member) name, kind, offsetof(ManifestFile, member)
#define GROUP(name, kind, member) name, kind, offsetof(LargeObjectGroup, member)
#define JOB(name, kind, member) name, kind, offsetof(Job, member)

/*
 * The members of an array's elements, their size, and where its length is
 * stored.
 */
#define ELEMENTS(table, type, object, number) \
	.fields = table,.size = sizeof(type),.count = offsetof(object, number)

#define MAX_HASH_BYTES 64

static const JsonField standby_fields[] = {
	{STANDBY("name", JSON_TEXT, name), JSON_REQUIRED},
	{STANDBY("conninfo", JSON_TEXT, conninfo), JSON_REQUIRED},
	{STANDBY("snapshot", JSON_TEXT, snapshot), JSON_REQUIRED},
	{STANDBY("identity", JSON_TEXT, identity), JSON_REQUIRED},
	{STANDBY("holder", JSON_TEXT, holder_query), JSON_REQUIRED},
	{NULL}
};

static const JsonField column_element[] = {{"", JSON_TEXT, 0, JSON_REQUIRED}, {NULL}};

/* The element is null if the column is not masked. */
static const JsonField mask_element[] = {{"", JSON_TEXT, offsetof(ColumnMask, sql)}, {NULL}};

static const JsonField table_fields[] = {
	{TABLE("name", JSON_TEXT, table.name), JSON_REQUIRED},
	{TABLE("oid", JSON_UINT32, table.oid)},
	{TABLE("kind", JSON_CHAR, table.relkind)},
	{TABLE("stranger", JSON_TEXT, table.stranger)},
	{TABLE("condition", JSON_TEXT, table.condition)},
	{TABLE("filter", JSON_TEXT, table.filter)},
	{TABLE("by_sql", JSON_TEXT, decided.sql_reason)},
	{TABLE("not_reused", JSON_TEXT, decided.new_reason)},
	{TABLE("columns", JSON_ARRAY, table.columns), JSON_REQUIRED, ELEMENTS(column_element, char *, PlannedTable, table.n_columns)},
	{TABLE("masks", JSON_ARRAY, table.masks), JSON_SKIP_NULL, ELEMENTS(mask_element, ColumnMask, PlannedTable, n_masks)},
	{NULL}
};

/*
 * Fingerprints are compared by the server, which gets these digits unchanged.
 */
static const JsonField previous_fields[] = {
	{PREVIOUS("path", JSON_TEXT, path), JSON_REQUIRED},
	{PREVIOUS("rows", JSON_UINT64, rows)},
	{PREVIOUS("raw_bytes", JSON_UINT64, raw_bytes)},
	{PREVIOUS("stored_bytes", JSON_UINT64, stored_bytes)},
	{PREVIOUS("checksum", JSON_BYTES, checksum), JSON_REQUIRED,.max = PG_CHECKSUM_MAX_LENGTH,
	.count = offsetof(ManifestFile, checksum_len)},
	{PREVIOUS("fingerprint", JSON_DIGITS, fingerprint), JSON_REQUIRED,.max = MAX_HASH_BYTES},
	{PREVIOUS("first_fingerprint", JSON_DIGITS, first_fingerprint), JSON_REQUIRED,.max = MAX_HASH_BYTES},
	{PREVIOUS("definition", JSON_DIGITS, definition), JSON_REQUIRED,.max = MAX_HASH_BYTES},
	{NULL}
};

static const JsonField file_fields[] = {
	{DATA_FILE("table", JSON_INT, table)},
	{DATA_FILE("chunk", JSON_INT, chunk_no)},
	{DATA_FILE("chunks", JSON_INT, n_chunks)},
	{DATA_FILE("start", JSON_UINT32, start_block)},
	{DATA_FILE("end", JSON_UINT32, end_block)},
	{DATA_FILE("bytes", JSON_UINT64, est_bytes)},
	{DATA_FILE("seems_empty", JSON_BOOL, seems_empty)},
	{DATA_FILE("id", JSON_INT, dump_id)},
	{DATA_FILE("untouched", JSON_BOOL, untouched)},
	{DATA_FILE("previous", JSON_OBJECT, previous), JSON_SKIP_NULL,.fields = previous_fields,.size = sizeof(ManifestFile)},
	{NULL}
};

static const JsonField number_element[] = {{"", JSON_INT, 0}, {NULL}};
static const JsonField oid_element[] = {{"", JSON_UINT32, 0}, {NULL}};

static const JsonField group_fields[] = {
	{GROUP("first", JSON_INT, first_object)},
	{GROUP("oids", JSON_ARRAY, oids), JSON_REQUIRED, ELEMENTS(oid_element, Oid, LargeObjectGroup, n_oids)},
	{NULL}
};

static const JsonField job_fields[] = {
	{JOB("kind", JSON_INT, kind),.max = JOB_LARGE_OBJECTS},
	{JOB("first", JSON_INT, first)},
	{JOB("n", JSON_INT, n),.min = 1},
	{JOB("task", JSON_INT, task)},
	{JOB("bytes", JSON_UINT64, est_bytes)},
	{NULL}
};

static const JsonField plan_fields[] = {
	{HEAD("version", JSON_TEXT, head.run.version)},
	{HEAD("what", JSON_TEXT, head.run.what)},
	{HEAD("run", JSON_TEXT, head.run.run_id), JSON_REQUIRED},
	{HEAD("tasks", JSON_INT, head.run.n_tasks), JSON_REQUIRED,.min = 1},
	{HEAD("conninfo", JSON_TEXT, head.run.conninfo), JSON_REQUIRED},
	{HEAD("time_zone", JSON_TEXT, head.run.time_zone)},
	{HEAD("date_style", JSON_TEXT, head.run.date_style)},
	{HEAD("system_identifier", JSON_TEXT, head.run.server.system_identifier), JSON_REQUIRED},
	{HEAD("timeline", JSON_TEXT, head.run.server.timeline), JSON_REQUIRED},
	{HEAD("database", JSON_TEXT, head.run.server.database), JSON_REQUIRED},
	{HEAD("user", JSON_TEXT, head.run.server.user), JSON_REQUIRED},
	{HEAD("role", JSON_TEXT, head.run.role)},
	{HEAD("enable_row_security", JSON_BOOL, head.run.enable_row_security)},
	{HEAD("retries", JSON_UINT64, head.run.retries)},
	{HEAD("snapshot", JSON_TEXT, head.snapshot), JSON_REQUIRED},
	{HEAD("snapshot_identity", JSON_TEXT, head.snapshot_identity), JSON_REQUIRED},
	{HEAD("encoding", JSON_TEXT, head.encoding), JSON_REQUIRED},
	{HEAD("compression", JSON_TEXT, head.compression), JSON_REQUIRED},
	{HEAD("server_compression", JSON_TEXT, head.server_compression)},
	{HEAD("checksums", JSON_TEXT, head.checksums), JSON_REQUIRED},
	{HEAD("lock_wait_ms", JSON_INT, head.lock_wait_ms)},
	{HEAD("extra_float_digits", JSON_TEXT, head.extra_float_digits)},
	{HEAD("quote_all_identifiers", JSON_BOOL, head.quote_all_identifiers)},
	{HEAD("no_sync", JSON_BOOL, head.no_sync)},
	{HEAD("archive", JSON_TEXT, head.archive)},
	{HEAD("pipe", JSON_TEXT, head.pipe_command)},
	{HEAD("server_version", JSON_INT, head.server_version)},
	{HEAD("block_bytes", JSON_INT, head.block_bytes)},
	{HEAD("extension_missing", JSON_TEXT, head.extension.missing)},
	{HEAD("extension_functions", JSON_TEXT, head.extension.functions)},
	{HEAD("extension_table", JSON_TEXT, head.extension.lock_table)},
	{HEAD("fingerprint_algorithm", JSON_TEXT, head.fingerprints.algorithm)},
	{HEAD("fingerprint_key", JSON_TEXT, head.fingerprints.key)},
	{HEAD("fingerprint_settings", JSON_TEXT, head.fingerprints.settings)},
	{HEAD("previous", JSON_TEXT, head.previous)},
	{HEAD("pipe_copy", JSON_TEXT, head.pipe_copy)},
	{HEAD("copy_method", JSON_TEXT, head.copy_method)},
	{HEAD("knows_changes", JSON_BOOL, head.knows_changes)},
	{HEAD("objects", JSON_INT, head.n_objects)},
	{HEAD("standbys", JSON_ARRAY, standbys), 0, ELEMENTS(standby_fields, PlannedStandby, PlanFile, n_standbys)},
	{HEAD("tables", JSON_ARRAY, tables), JSON_REQUIRED, ELEMENTS(table_fields, PlannedTable, PlanFile, n_tables)},
	{HEAD("files", JSON_ARRAY, files), JSON_REQUIRED, ELEMENTS(file_fields, DataFile, PlanFile, n_files)},
	{HEAD("queue", JSON_ARRAY, queue), JSON_REQUIRED, ELEMENTS(number_element, int, PlanFile, n_queue)},
	{HEAD("groups", JSON_ARRAY, groups), JSON_REQUIRED, ELEMENTS(group_fields, LargeObjectGroup, PlanFile, n_groups)},
	{HEAD("jobs", JSON_ARRAY, jobs), JSON_REQUIRED, ELEMENTS(job_fields, Job, PlanFile, n_jobs)},
	{NULL}
};

/* ----------
 * Writing the plan.
 * ----------
 */
static void
task_plan_flush(void *sink, PQExpBuffer buf)
{
	sink_write_buffer(sink, buf);
}

/*
 * The file is written under another name first and then renamed, because a
 * task may be started by hand, or by a scheduler that waits for the file: it
 * must never see an incomplete plan.
 */
void
task_plan_write_file(const char *path, const PlanFile *file)
{
	char	   *temp_path = psprintf("%s.tmp", path);
	Sink	   *sink = sink_file_new(temp_path);
	JsonWriter	writer = {.flush = task_plan_flush,.arg = sink};

	initPQExpBuffer(&writer.buf);
	json_append_document(&writer, plan_fields, file);
	appendPQExpBufferStr(&writer.buf, " }\n");
	sink_write_buffer(sink, &writer.buf);
	sink_finish(sink);
	if (fsync_fname(temp_path, false) != 0)
		exit(1);
	if (rename(temp_path, path) < 0)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m", temp_path, path);
}

/* ----------
 * Reading the plan, and checking it.
 * ----------
 */
static const char *
check_job(const PlanFile *file, const Job *job)
{
	int			n = job->kind == JOB_DATA_FILES ? file->n_queue : file->n_groups;

	if (job->first > n || job->n > n - job->first ||
		(job->kind == JOB_LARGE_OBJECTS && job->n != 1))
		return "a job has no files";
	if (job->task >= file->head.run.n_tasks)
		return "a job belongs to a task that does not exist";
	return NULL;
}

static const char *
check_head(const DumpTaskHead *head)
{
	if (head->extension.missing == NULL &&
		(head->extension.functions == NULL || head->extension.lock_table == NULL))
		return "the functions of the extension are missing";
	if (head->fingerprints.algorithm &&
		(head->fingerprints.key == NULL || head->fingerprints.settings == NULL))
		return "fingerprints have no key or settings";
	return NULL;
}

/*
 * Check the numbers of tables, files and groups, because they are used as
 * array indexes from here on, and the file may be damaged.
 */
static const char *
check_numbers(const PlanFile *file)
{
	const char *problem = check_head(&file->head);
	int			n_objects = file->head.n_objects;

	if (file->n_queue != file->n_files)
		return "the queue does not contain all files";
	for (int i = 0; i < file->n_queue; i++)
		if (file->queue[i] >= file->n_files)
			return "the queue contains a file that does not exist";
	for (int i = 0; i < file->n_files; i++)
		if (file->files[i].table >= file->n_tables)
			return "a file belongs to a table that does not exist";
	for (int i = 0; i < file->n_tables; i++)
		if (file->tables[i].n_masks > 0 &&
			file->tables[i].n_masks != file->tables[i].table.n_columns)
			return "the number of masks is not the number of columns";
	for (int i = 0; i < file->n_groups; i++)
		if (file->groups[i].n_oids > n_objects ||
			file->groups[i].first_object > n_objects - file->groups[i].n_oids)
			return "a group contains a large object that does not exist";
	for (int i = 0; problem == NULL && i < file->n_jobs; i++)
		problem = check_job(file, &file->jobs[i]);
	return problem;
}

const char *
task_plan_parse(PlanFile *file, const char *text, size_t len)
{
	JsonReader	reader;

	json_read_document(&reader, text, len, plan_fields, file);
	return reader.error ? reader.error : check_numbers(file);
}

void
task_plan_free(PlanFile *file)
{
	json_free_members(plan_fields, file);
}

/* ----------
 * The plan in a task.
 * ----------
 */

#define PLAN_HINT "Specify the plan that pg_pardump --tasks has written."

/*
 * The version is checked first: this program need not understand the other
 * members of another version's plan.  The kind of plan is checked next,
 * because earlier versions also wrote plans of restores and copies.
 */
static void
check_version(const char *path, const TaskRun *run)
{
	if (run->version == NULL || strcmp(run->version, PARDUMP_VERSION) != 0)
	{
		if (run->version)
			pg_log_error("plan \"%s\" was written by pg_pardump %s, but this is pg_pardump %s",
						 path, run->version, PARDUMP_VERSION);
		else
			pg_log_error("plan \"%s\" was written by an unknown version of pg_pardump",
						 path);
		pg_fatal_hint("Use the same version of pg_pardump on all hosts of a run.");
	}
	if (run->what == NULL || strcmp(run->what, TASKS_DUMP) != 0)
	{
		pg_log_error("plan \"%s\" is not the plan of a dump", path);
		pg_log_error_detail("Only a dump can be split into tasks.");
		pg_fatal_hint(PLAN_HINT);
	}
}

/*
 * Set up the fingerprints and the previous archive.  A host may not have
 * mounted the previous archive, which is not an error: the host's tasks read
 * all rows, and the results give that as the reason.
 */
static void
make_previous(const DumpTaskHead *head, DumpPlan *plan)
{
	const ChunkPlan *chunks = plan->chunks;
	FingerprintSpec *spec;

	if (head->fingerprints.algorithm == NULL)
		return;
	spec = pg_malloc0(sizeof(FingerprintSpec));
	*spec = head->fingerprints;
	plan->fingerprints = spec;
	if (head->previous == NULL)
		return;
	plan->knows_changes = head->knows_changes;
	plan->previous = previous_archive_reach(head->previous, plan->checksum_type,
											head->pipe_copy, head->run.retries);
	if (plan->previous->copies || plan->previous->dir_fd >= 0)
		return;
	for (int i = 0; i < plan->tables->n_tables; i++)
		if (chunks->tables[i].new_reason == NULL)
			chunks->tables[i].new_reason = "its task cannot access the previous archive";
}

/*
 * Build the plan of a dump from the members of the file.  The plan uses
 * memory of the file, which is never freed: a task has one plan until it
 * ends.  Returns NULL, or a description of what is wrong.
 */
static const char *
make_plan(const PlanFile *file, DumpPlan *plan)
{
	const DumpTaskHead *head = &file->head;
	DumpTables *tables = pg_malloc0(sizeof(DumpTables));
	ChunkPlan  *chunks = pg_malloc0(sizeof(ChunkPlan));
	LargeObjects *objects = pg_malloc0(sizeof(LargeObjects));
	JobQueue   *queue = pg_malloc0(sizeof(JobQueue));
	ServerExtension *extension = pg_malloc0(sizeof(ServerExtension));
	char		error[COMPRESS_SPEC_ERROR_BYTES];

	tables->n_tables = file->n_tables;
	tables->tables = pg_malloc0((file->n_tables + 1) * sizeof(DumpTable));
	tables->server_version = head->server_version;
	tables->block_bytes = head->block_bytes;
	chunks->tables = pg_malloc0((file->n_tables + 1) * sizeof(TablePlan));
	for (int i = 0; i < file->n_tables; i++)
	{
		tables->tables[i] = file->tables[i].table;
		chunks->tables[i] = file->tables[i].decided;
	}
	chunks->files = file->files;
	chunks->n_files = file->n_files;
	objects->groups = file->groups;
	objects->n_groups = file->n_groups;
	objects->n_objects = head->n_objects;
	queue->jobs = file->jobs;
	queue->n_jobs = file->n_jobs;
	queue->files = pg_malloc0((file->n_queue + 1) * sizeof(DataFile *));
	for (int i = 0; i < file->n_queue; i++)
		queue->files[i] = &file->files[file->queue[i]];
	*extension = head->extension;
	extension->use = EXTENSION_READS;

	plan->tables = tables;
	plan->chunks = chunks;
	plan->objects = objects;
	plan->queue = queue;
	plan->extension = extension;
	plan->snapshot = head->snapshot;
	plan->snapshot_identity = head->snapshot_identity;
	plan->encoding = head->encoding;
	plan->lock_wait_ms = head->lock_wait_ms;
	plan->server_compress = head->server_compression;
	if (!compress_spec_parse(head->compression, &plan->compress, error) ||
		!pg_checksum_parse_type(head->checksums, &plan->checksum_type))
		return "it contains an unknown compression method or checksum algorithm";
	make_previous(head, plan);
	return NULL;
}

DumpTaskPlan *
task_plan_read(const char *path)
{
	DumpTaskPlan *task = pg_malloc0(sizeof(DumpTaskPlan));
	PlanFile	file = {{{NULL}}};
	const char *problem;
	size_t		len;
	char	   *text;
	int			fd = regular_file_open_own(path, &problem);

	if (fd < 0)
	{
		pg_log_error("%s", problem);
		pg_fatal_hint(PLAN_HINT);
	}
	text = task_place_read(fd, path, &len);
	close(fd);
	problem = task_plan_parse(&file, text, len);

	/*
	 * A plan of another version may have members that fail to parse.  The
	 * version is the first member, so it has been read anyway, and gives the
	 * better message.
	 */
	if (problem == NULL || (file.head.run.version && file.head.run.what))
		check_version(path, &file.head.run);
	task->head = file.head;
	task->standbys = file.standbys;
	task->n_standbys = file.n_standbys;
	if (problem == NULL)
		problem = make_plan(&file, &task->plan);
	if (problem)
	{
		pg_log_error("plan \"%s\" is damaged", path);
		pg_log_error_detail("%s", message_sentence(problem));
		pg_fatal_hint(PLAN_HINT);
	}
	return task;
}

/*
 * An exit callback.  An attempt that still runs finds no directory for its
 * next file, and fails.
 */
static void
task_plan_remove_place(void *arg)
{
	const TaskPlace *place = arg;

	archive_clean_directory(place->fd, place->directory);
}

TaskPlace *
task_place_make(const char *plan, const char *archive)
{
	TaskPlace  *place = pg_malloc0(sizeof(TaskPlace));

	if (plan)
	{
		place->plan_path = make_absolute_path(plan);
		place->directory = pg_strdup(place->plan_path);
		get_parent_directory(place->directory);
	}
	else
	{
		place->directory = psprintf("%s/%s", make_absolute_path(archive),
									ARCHIVE_TASKS_NAME);
		place->plan_path = psprintf("%s/plan.json", place->directory);
	}
	if (mkdir(place->directory, 0700) < 0)
	{
		pg_log_error("could not create directory \"%s\": %m", place->directory);
		pg_fatal_hint("Use --plan=FILE to specify a file in a new directory for the plan.");
	}

	/*
	 * The directory is kept open, so that its files can be removed at the end
	 * even if the path leads to another directory by then.
	 */
	place->fd = dirfd(archive_dir_open_empty(place->directory, true));
	cleanup_push(task_plan_remove_place, place);
	return place;
}

void
task_place_remove(TaskPlace *place)
{
	cleanup_pop(task_plan_remove_place, place);
	task_plan_remove_place(place);
}

/* ----------
 * Reading files of the directory.
 * ----------
 */
char *
task_place_read(int fd, const char *path, size_t *len)
{
	char	   *text = regular_file_read_text(fd, len);

	if (text == NULL)
		pg_fatal("could not read file \"%s\": %m", path);
	return text;
}

/* ----------
 * The lines with which attempts at tasks report files to the leader.
 *
 * Each line is a JSON object.  Each attempt writes to a file of its own,
 * because appends of several processes to one file are not atomic on network
 * file systems.  A line is complete when it ends in a newline.  An attempt
 * writes the line after the file that the line describes is complete.
 * ----------
 */

/* The longest part of a host's name that is used in file names. */
#define MOST_HOST_BYTES 60

/* The names of TaskLineKind, in its order. */
static const char *const kinds[] = {"", "run", "file", "object", "refused", "end", NULL};

#define LINE(name, kind, member) name, kind, offsetof(TaskLine, member)
#define BYTES(name, member, number) \
	{LINE(name, JSON_BYTES, result.member), JSON_SKIP_NULL, \
		.max = sizeof(((FileResult *) NULL)->member),.count = offsetof(TaskLine, result.number)}

static const JsonField line_fields[] = {
	{LINE("is", JSON_WORD, kind), JSON_REQUIRED,.min = TASK_LINE_RUN,.words = kinds},
	{LINE("run", JSON_TEXT, run_id), JSON_SKIP_NULL},
	{LINE("number", JSON_UINT64, number)},
	{LINE("server", JSON_INT, result.server)},
	{LINE("rows", JSON_UINT64, result.rows)},
	{LINE("raw_bytes", JSON_UINT64, result.raw_bytes)},
	{LINE("stored_bytes", JSON_UINT64, result.stored_bytes)},
	{LINE("start_us", JSON_UINT64, result.start_us),.max = PG_INT64_MAX},
	{LINE("end_us", JSON_UINT64, result.end_us),.max = PG_INT64_MAX},
	BYTES("checksum", checksum, checksum_len),
	BYTES("fingerprint", fingerprint.bytes, fingerprint.len),
	BYTES("first_fingerprint", first_fingerprint.bytes, first_fingerprint.len),
	BYTES("definition", definition.bytes, definition.len),
	{LINE("reused", JSON_TEXT, reused), JSON_SKIP_NULL},
	{LINE("not_reused", JSON_TEXT, result.new_reason), JSON_SKIP_NULL},
	{NULL}
};

/*
 * Returns the name of this host for use in file names; the caller owns it.
 * It only shows users where a task has run.  Characters that could be special
 * in paths are replaced.
 */
static char *
host_name(void)
{
	char	   *name = pg_malloc0(256);

	if (gethostname(name, 255) < 0)
		strcpy(name, "host");
	name[MOST_HOST_BYTES] = '\0';
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char) *c))
			*c = '-';
	return name;
}

void
task_result_begin(TaskResults *results, const char *plan, int task,
				  const char *run_id)
{
	TaskLine	line = {.kind = TASK_LINE_RUN,.run_id = unconstify(char *, run_id)};

	results->directory = make_absolute_path(plan);
	get_parent_directory(results->directory);

	/*
	 * In containers, another attempt may have the same host name and process
	 * ID, so the name ends in random digits.
	 */
	results->attempt = psprintf("%d.%s.%d.%s", task, host_name(),
								(int) getpid(), hex_random(4));
	results->path = psprintf("%s/%s" TASK_RESULT_SUFFIX, results->directory,
							 results->attempt);
	results->fd = open(results->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
					   0600);
	if (results->fd < 0)
		pg_fatal("could not create file \"%s\": %m", results->path);
	task_result_write(results, &line);
}

void
task_result_write(TaskResults *results, const TaskLine *line)
{
	TaskLine	written = *line;
	JsonWriter	writer = {0};

	written.reused = unconstify(char *, line->result.reused);
	initPQExpBuffer(&writer.buf);
	json_append_object(&writer, line_fields, &written);
	appendPQExpBufferChar(&writer.buf, '\n');
	if (!write_at(results->fd, buffer_text(&writer.buf), writer.buf.len,
				  results->written))
		pg_fatal("could not write file \"%s\": %m", results->path);
	results->written += writer.buf.len;
	termPQExpBuffer(&writer.buf);
}

void
task_result_report(TaskResults *to, const FileResults *results,
				   const Job *job, const FileResult *result)
{
	bool		is_file = job->kind == JOB_DATA_FILES;
	TaskLine	line = {
		.kind = is_file ? TASK_LINE_FILE : TASK_LINE_OBJECT,
		.number = result - (is_file ? results->files : results->objects),
		.result = *result,
	};

	task_result_write(to, &line);
}

void
task_result_flush(const TaskResults *results)
{
	if (fsync(results->fd) < 0)
		pg_fatal("could not fsync file \"%s\": %m", results->path);
}

/*
 * The line is flushed because a network file system may keep written data on
 * this host until then, where the leader does not see it.
 */
void
task_result_end(TaskResults *results)
{
	TaskLine	line = {.kind = TASK_LINE_END};

	task_result_write(results, &line);
	task_result_flush(results);
}

/*
 * Replace the text of the line with the constant of the same value: the code
 * that shows results never frees this member.
 */
static bool
take_method(TaskLine *line)
{
	CopyMethod	method;

	if (line->reused == NULL)
		return true;
	if (!copy_method_find(line->reused, &method))
		return false;
	line->result.reused = copy_method_name(method);
	return true;
}

bool
task_result_read(const char *text, size_t len, TaskLine *line)
{
	JsonReader	reader;

	memset(line, 0, sizeof(TaskLine));
	json_read_document(&reader, text, len, line_fields, line);
	return reader.error == NULL && take_method(line);
}

void
task_result_free(TaskLine *line)
{
	json_free_members(line_fields, line);
}
