/*
 * task_result.c
 *		The lines by which attempts at tasks report files to the leader.
 *
 * A line is one JSON object.  An attempt appends to a file of its own, so
 * that no two processes write to the same one: on file systems of a network,
 * appending is not atomic.  A line is complete with its newline, and it is
 * written after the file that it is about.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "options/own_options.h"
#include "stream/sink.h"
#include "tasks/task_result.h"

/* Of a host's name, in those of files. */
#define MOST_HOST_BYTES 60

/* By kind. */
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
 * This host's name, as a part of those of files; owned.  It is there for
 * users, who see where a task has run.
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
	/* another attempt's may have the same host and process, in a container */
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
		pg_fatal("could not flush \"%s\" to disk: %m", results->path);
}

/*
 * The leader may only see what has been flushed, as a network's file system
 * keeps writes in the client.
 */
void
task_result_end(TaskResults *results)
{
	TaskLine	line = {.kind = TASK_LINE_END};

	task_result_write(results, &line);
	task_result_flush(results);
}

/*
 * Those who show results compare this pointer with NULL and never free it, so
 * the text of a line is replaced by the constant of that name.
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
