/*
 * task_result.c
 *		What attempts at tasks tell of the files they have made.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "mb/pg_wchar.h"

#include "options/copy_method.h"
#include "base/hex.h"
#include "tasks/plan_field.h"
#include "tasks/task_result.h"

/* Of a host's name, in those of files. */
#define MOST_HOST_BYTES 60

/* A line's, as fields can be. */
typedef struct LineMembers
{
	char	   *is;
	char	   *run_id;
	uint64		number;
	int			server;
	uint64		rows;
	uint64		raw_bytes;
	uint64		stored_bytes;
	uint64		start_us;
	uint64		end_us;
	char	   *checksum;		/* hexadecimal, as those below */
	char	   *fingerprint;
	char	   *first_fingerprint;
	char	   *definition;
	char	   *reused;
	char	   *new_reason;
} LineMembers;

#define MEMBER(name, kind, member) {name, kind, offsetof(LineMembers, member)}

static const PlanField members[] = {
	MEMBER("is", PLAN_TEXT, is),
	MEMBER("run", PLAN_TEXT, run_id),
	MEMBER("number", PLAN_UINT64, number),
	MEMBER("server", PLAN_INT, server),
	MEMBER("rows", PLAN_UINT64, rows),
	MEMBER("raw_bytes", PLAN_UINT64, raw_bytes),
	MEMBER("stored_bytes", PLAN_UINT64, stored_bytes),
	MEMBER("start_us", PLAN_UINT64, start_us),
	MEMBER("end_us", PLAN_UINT64, end_us),
	MEMBER("checksum", PLAN_TEXT, checksum),
	MEMBER("fingerprint", PLAN_TEXT, fingerprint),
	MEMBER("first_fingerprint", PLAN_TEXT, first_fingerprint),
	MEMBER("definition", PLAN_TEXT, definition),
	MEMBER("reused", PLAN_TEXT, reused),
	MEMBER("not_reused", PLAN_TEXT, new_reason),
	{NULL}
};

/* By kind. */
static const char *const kinds[] = {"", "run", "file", "object", "refused", "end"};

/* This host's name, as a part of those of files; owned. */
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
	results->fd = open(results->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
					   0600);
	if (results->fd < 0)
		pg_fatal("could not create file \"%s\": %m", results->path);
	task_result_write(results, &line);
}

static void
write_all(int fd, const char *path, const char *data, size_t len)
{
	while (len > 0)
	{
		ssize_t		written = write(fd, data, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written == 0)
			errno = ENOSPC;
		if (written <= 0)
			pg_fatal("could not write file \"%s\": %m", path);
		data += written;
		len -= written;
	}
}

/* Owned; NULL if there is none. */
static char *
hash_text(const FileHash *hash)
{
	return hash->len == 0 ? NULL : hex_encode(hash->bytes, hash->len);
}

static void
free_texts(LineMembers *values)
{
	free(values->checksum);
	free(values->fingerprint);
	free(values->first_fingerprint);
	free(values->definition);
}

void
task_result_write(const TaskResults *results, const TaskLine *line)
{
	const FileResult *result = &line->result;
	LineMembers values = {
		.is = unconstify(char *, kinds[line->kind]),
		.run_id = line->run_id,
		.number = line->number,
		.server = result->server,
		.rows = result->rows,
		.raw_bytes = result->raw_bytes,
		.stored_bytes = result->stored_bytes,
		.start_us = result->start_us,
		.end_us = result->end_us,
		.checksum = hex_encode(result->checksum, result->checksum_len),
		.fingerprint = hash_text(&result->fingerprint),
		.first_fingerprint = hash_text(&result->first_fingerprint),
		.definition = hash_text(&result->definition),
		.reused = unconstify(char *, result->reused),
		.new_reason = unconstify(char *, result->new_reason),
	};
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	appendPQExpBufferChar(&buf, '{');
	plan_fields_append(&buf, members, &values);
	appendPQExpBufferStr(&buf, "}\n");
	if (PQExpBufferDataBroken(buf))
		pg_fatal("out of memory");
	write_all(results->fd, results->path, buf.data, buf.len);
	termPQExpBuffer(&buf);
	free_texts(&values);
}

void
task_result_tell(const TaskResults *to, const FileResults *results,
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

void
task_result_end(const TaskResults *results)
{
	TaskLine	line = {.kind = TASK_LINE_END};

	task_result_write(results, &line);
	task_result_flush(results);
}

/* False if it is none. */
static bool
take_hash(const char *text, FileHash *hash)
{
	int			len = text ? hex_decode(text, hash->bytes, sizeof(hash->bytes)) : 0;

	hash->len = (uint8) Max(len, 0);
	return len >= 0;
}

/* As results have it: a constant. */
static bool
take_method(const char *text, FileResult *result)
{
	CopyMethod	method;

	if (text == NULL)
		return true;
	if (!copy_method_find(text, &method))
		return false;
	result->reused = copy_method_name(method);
	return true;
}

/* Of a line that has been read: false if it cannot be. */
static bool
take_members(const LineMembers *values, TaskLine *line)
{
	FileResult *result = &line->result;

	for (int kind = TASK_LINE_RUN; values->is && kind <= TASK_LINE_END; kind++)
		if (strcmp(values->is, kinds[kind]) == 0)
			line->kind = (TaskLineKind) kind;
	line->run_id = values->run_id;
	line->number = values->number;
	result->server = values->server;
	result->rows = values->rows;
	result->raw_bytes = values->raw_bytes;
	result->stored_bytes = values->stored_bytes;
	result->start_us = (int64) values->start_us;
	result->end_us = (int64) values->end_us;
	result->new_reason = values->new_reason;
	if (values->checksum == NULL ||
		!take_hash(values->fingerprint, &result->fingerprint) ||
		!take_hash(values->first_fingerprint, &result->first_fingerprint) ||
		!take_hash(values->definition, &result->definition) ||
		!take_method(values->reused, result))
		return false;
	result->checksum_len = hex_decode(values->checksum, result->checksum,
									  sizeof(result->checksum));
	return line->kind != TASK_LINE_NONE && result->checksum_len >= 0;
}

bool
task_result_read(const char *text, size_t len, TaskLine *line)
{
	LineMembers values = {0};
	JsonReader	reader;
	bool		first = true;
	bool		right;

	memset(line, 0, sizeof(TaskLine));
	if (len > PG_INT32_MAX ||
		pg_encoding_verifymbstr(PG_UTF8, text, (int) len) != (int) len)
		return false;
	json_begin(&reader, text, len);
	json_enter(&reader, '{');
	while (json_more(&reader, '}', &first))
	{
		char	   *key = json_key(&reader);

		if (key && !plan_field_read(&reader, members, &values, key))
			json_skip(&reader);
		free(key);
	}
	json_finish(&reader);
	right = take_members(&values, line) && reader.error == NULL;
	free(values.is);
	free(values.reused);
	free_texts(&values);
	return right;
}
