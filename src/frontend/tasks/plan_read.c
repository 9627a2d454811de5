/*
 * plan_read.c
 *		Reads a plan's file, and takes no other user's.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mb/pg_wchar.h"

#include "stream/regular_file.h"
#include "tasks/plan_read.h"

/* ----------
 * The file
 * ----------
 */
int
plan_read_open(const char *path, const char **problem)
{
	struct stat st;
	int			fd = regular_file_open(AT_FDCWD, path, problem);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		(st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return fd;
	*problem = st.st_uid != geteuid() ? "belongs to another user" :
		"can be written by other users";
	close(fd);
	errno = EPERM;
	return -1;
}

char *
plan_read_text(int fd, const char *path, size_t *len)
{
	size_t		space = 64 * 1024;
	char	   *text = pg_malloc(space);
	ssize_t		got;

	*len = 0;
	while ((got = read(fd, text + *len, space - *len - 1)) != 0)
	{
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			pg_fatal("could not read file \"%s\": %m", path);
		*len += got;
		if (*len == space - 1)
		{
			space *= 2;
			text = pg_realloc(text, space);
		}
	}
	text[*len] = '\0';
	return text;
}

/* ----------
 * Its arrays
 * ----------
 */
void *
plan_array_grow(PlanArray *array)
{
	if (array->n == array->space)
	{
		array->space = Max(64, array->space * 2);
		array->elements = pg_realloc(array->elements,
									 array->space * array->size);
	}
	return memset(array->elements + array->size * array->n++, 0, array->size);
}

void
plan_read_wrong(PlanReader *reader, const char *problem)
{
	if (reader->json.error == NULL)
		reader->json.error = problem;
}

void
plan_read_objects(PlanReader *reader, PlanArray *array, const PlanField *fields)
{
	bool		first = true;

	json_enter(&reader->json, '[');
	while (json_more(&reader->json, ']', &first))
	{
		void	   *object = plan_array_grow(array);
		bool		first_member = true;

		json_enter(&reader->json, '{');
		while (json_more(&reader->json, '}', &first_member))
		{
			char	   *key = json_key(&reader->json);

			if (key && !plan_field_read(&reader->json, fields, object, key))
				reader->read_other(reader, key, object);
			free(key);
		}
	}
}

/* int, at most PG_INT32_MAX */
static void
read_numbers(PlanReader *reader, PlanArray *array)
{
	bool		first = true;

	json_enter(&reader->json, '[');
	while (json_more(&reader->json, ']', &first))
	{
		uint64		number = json_number(&reader->json);

		*(int *) plan_array_grow(array) = (int) Min(number, PG_INT32_MAX);
	}
}

/* ----------
 * The plan
 * ----------
 */
static void
read_member(PlanReader *reader, const char *key)
{
	if (strcmp(key, "queue") == 0)
		read_numbers(reader, &reader->queue);
	else if (strcmp(key, "jobs") == 0)
		plan_read_objects(reader, &reader->jobs, task_job_fields);
	else if (!plan_field_read(&reader->json, task_run_fields, reader->run, key) &&
			 !plan_field_read(&reader->json, reader->fields, reader->head, key))
		reader->read_member(reader, key);
}

/*
 * First: of another version, or for something else, nothing else need be
 * understood.
 */
static void
check_version(const char *path, const TaskRun *run)
{
	if (run->version == NULL || strcmp(run->version, PARDUMP_VERSION) != 0)
	{
		pg_log_error("plan \"%s\" was written by pg_pardump %s, and this is %s", path,
					 run->version ? run->version : "of an unknown version",
					 PARDUMP_VERSION);
		pg_log_error_hint("All hosts of a run need the same version.");
		exit(1);
	}
	if (run->what == NULL || strcmp(run->what, TASKS_DUMP) != 0)
		pg_fatal("plan \"%s\" is not that of a dump", path);
}

static void
check_run(PlanReader *reader)
{
	const TaskRun *run = reader->run;

	if (run->run_id == NULL || run->conninfo == NULL ||
		run->server.database == NULL || run->server.user == NULL ||
		run->server.timeline == NULL || run->server.system_identifier == NULL)
		plan_read_wrong(reader, "something is missing");
}

void
plan_read_parse(PlanReader *reader, const char *text, size_t len)
{
	bool		first = true;

	reader->queue.size = sizeof(int);
	reader->jobs.size = sizeof(Job);
	json_begin(&reader->json, text, len);
	if (len > PG_INT32_MAX ||
		pg_encoding_verifymbstr(PG_UTF8, text, (int) len) != (int) len)
		plan_read_wrong(reader, "it is not UTF-8");
	json_enter(&reader->json, '{');
	while (json_more(&reader->json, '}', &first))
	{
		char	   *key = json_key(&reader->json);

		if (key)
			read_member(reader, key);
		free(key);
	}
	json_finish(&reader->json);
}

void
plan_read(PlanReader *reader, const char *path)
{
	const char *problem;
	size_t		len;
	char	   *text;
	int			fd = plan_read_open(path, &problem);

	if (fd < 0)
		pg_fatal("plan \"%s\" %s", path, problem);
	text = plan_read_text(fd, path, &len);
	close(fd);
	plan_read_parse(reader, text, len);
	if (reader->json.error == NULL ||
		(reader->run->version && reader->run->what))
		check_version(path, reader->run);
	check_run(reader);
	free(text);
}

void
plan_read_check(const PlanReader *reader, const char *path)
{
	if (reader->json.error)
		pg_fatal("plan \"%s\" is damaged: %s", path, reader->json.error);
}
