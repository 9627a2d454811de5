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
#include "tasks/plan_format.h"
#include "tasks/plan_read.h"

/* An array that grows while it is read. */
typedef struct Growing
{
	char	   *elements;
	size_t		size;			/* of one */
	int			n;
	int			space;
} Growing;

/* While it is being read. */
typedef struct PlanReader
{
	JsonReader	json;
	TaskPlan   *task;
	Growing		tables;			/* PlannedTable */
	Growing		files;			/* DataFile */
	Growing		queue;			/* int */
	Growing		groups;			/* LargeObjectGroup */
	Growing		jobs;			/* Job */
} PlanReader;

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

/* Room for one more, all zero. */
static void *
grow(Growing *array)
{
	if (array->n == array->space)
	{
		array->space = Max(64, array->space * 2);
		array->elements = pg_realloc(array->elements,
									 array->space * array->size);
	}
	return memset(array->elements + array->size * array->n++, 0, array->size);
}

static void
wrong(PlanReader *reader, const char *problem)
{
	if (reader->json.error == NULL)
		reader->json.error = problem;
}

static void
read_columns(PlanReader *reader, DumpTable *table)
{
	Growing		columns = {.size = sizeof(char *)};
	bool		first = true;

	json_enter(&reader->json, '[');
	while (json_more(&reader->json, ']', &first))
	{
		char	   *column = plan_field_read_text(&reader->json);

		if (column == NULL)
			wrong(reader, "a column has no name");
		*(char **) grow(&columns) = column;
	}
	table->columns = (char **) columns.elements;
	table->n_columns = columns.n;
}

static void
read_oids(PlanReader *reader, LargeObjectGroup *group)
{
	Growing		oids = {.size = sizeof(Oid)};
	bool		first = true;

	json_enter(&reader->json, '[');
	while (json_more(&reader->json, ']', &first))
	{
		Oid		   *oid = grow(&oids);

		*oid = (Oid) json_number(&reader->json);
	}
	group->oids = (const Oid *) oids.elements;
	group->n_oids = oids.n;
}

/* A member that is no field; names are the format's own. */
static void
read_other(PlanReader *reader, const char *key, void *object)
{
	if (strcmp(key, "columns") == 0)
		read_columns(reader, &((PlannedTable *) object)->table);
	else if (strcmp(key, "oids") == 0)
		read_oids(reader, object);
	else
		json_skip(&reader->json);
}

/* An array of objects. */
static void
read_objects(PlanReader *reader, Growing *array, const PlanField *fields)
{
	bool		first = true;

	json_enter(&reader->json, '[');
	while (json_more(&reader->json, ']', &first))
	{
		void	   *object = grow(array);
		bool		first_member = true;

		json_enter(&reader->json, '{');
		while (json_more(&reader->json, '}', &first_member))
		{
			char	   *key = json_key(&reader->json);

			if (key && !plan_field_read(&reader->json, fields, object, key))
				read_other(reader, key, object);
			free(key);
		}
	}
}

static void
read_queue(PlanReader *reader)
{
	bool		first = true;

	json_enter(&reader->json, '[');
	while (json_more(&reader->json, ']', &first))
	{
		uint64		number = json_number(&reader->json);

		*(int *) grow(&reader->queue) = (int) Min(number, PG_INT32_MAX);
	}
}

static const PlanField group_fields[] = {
	{"first", PLAN_INT, offsetof(LargeObjectGroup, first_object)},
	{NULL}
};

static void
read_member(PlanReader *reader, const char *key)
{
	if (strcmp(key, "tables") == 0)
		read_objects(reader, &reader->tables, plan_table_fields);
	else if (strcmp(key, "files") == 0)
		read_objects(reader, &reader->files, plan_file_fields);
	else if (strcmp(key, "queue") == 0)
		read_queue(reader);
	else if (strcmp(key, "groups") == 0)
		read_objects(reader, &reader->groups, group_fields);
	else if (strcmp(key, "jobs") == 0)
		read_objects(reader, &reader->jobs, plan_job_fields);
	else if (!plan_field_read(&reader->json, plan_head_fields,
							  &reader->task->head, key))
		json_skip(&reader->json);
}

/* ----------
 * The plan
 * ----------
 */
static void
make_tables(PlanReader *reader, DumpTables *tables, ChunkPlan *chunks)
{
	tables->n_tables = reader->tables.n;
	tables->tables = pg_malloc0((tables->n_tables + 1) * sizeof(DumpTable));
	tables->server_version = reader->task->head.server_version;
	tables->block_bytes = reader->task->head.block_bytes;
	chunks->tables = pg_malloc0((tables->n_tables + 1) * sizeof(TablePlan));
	for (int i = 0; i < tables->n_tables; i++)
	{
		PlannedTable *planned = (PlannedTable *) reader->tables.elements + i;

		tables->tables[i] = planned->table;
		chunks->tables[i] = planned->decided;
		if (planned->table.name == NULL)
			wrong(reader, "a table has no name");
	}
}

static JobQueue *
make_queue(PlanReader *reader, const ChunkPlan *chunks)
{
	JobQueue   *queue = pg_malloc0(sizeof(JobQueue));
	const int  *numbers = (const int *) reader->queue.elements;

	queue->jobs = (Job *) reader->jobs.elements;
	queue->n_jobs = reader->jobs.n;
	queue->files = pg_malloc0((reader->queue.n + 1) * sizeof(DataFile *));
	for (int i = 0; i < reader->queue.n; i++)
	{
		if (numbers[i] >= chunks->n_files)
			wrong(reader, "there is no such file");
		else
			queue->files[i] = &chunks->files[numbers[i]];
	}
	for (int i = 0; i < queue->n_jobs; i++)
	{
		const Job  *job = &queue->jobs[i];
		int			n = job->kind == JOB_DATA_FILES ? reader->queue.n :
			reader->groups.n;

		if ((job->kind != JOB_DATA_FILES && job->kind != JOB_LARGE_OBJECTS) ||
			job->first > n || job->n > n - job->first || job->n == 0)
			wrong(reader, "a job has no files");
	}
	return queue;
}

static LargeObjects *
make_objects(PlanReader *reader)
{
	LargeObjects *objects = pg_malloc0(sizeof(LargeObjects));

	objects->groups = (LargeObjectGroup *) reader->groups.elements;
	objects->n_groups = reader->groups.n;
	objects->n_objects = reader->task->head.n_objects;
	for (int i = 0; i < objects->n_groups; i++)
		if (objects->groups[i].n_oids > objects->n_objects ||
			objects->groups[i].first_object >
			objects->n_objects - objects->groups[i].n_oids)
			wrong(reader, "there is no such large object");
	return objects;
}

static void
make_settings(PlanReader *reader)
{
	const TaskPlanHead *head = &reader->task->head;
	DumpPlan   *plan = &reader->task->plan;
	ServerExtension *extension = pg_malloc0(sizeof(ServerExtension));
	char		error[COMPRESS_SPEC_ERROR_BYTES];

	if (head->run_id == NULL || head->conninfo == NULL ||
		head->server.database == NULL || head->server.user == NULL ||
		head->server.timeline == NULL ||
		head->server.system_identifier == NULL || head->snapshot == NULL ||
		head->snapshot_identity == NULL || head->encoding == NULL ||
		(head->extension_missing == NULL &&
		 (head->extension_functions == NULL || head->extension_table == NULL)))
		wrong(reader, "something is missing");
	else if (head->compression == NULL || head->checksums == NULL ||
			 !compress_spec_parse(head->compression, &plan->compress, error) ||
			 !pg_checksum_parse_type(head->checksums, &plan->checksum_type))
		wrong(reader, "compression or checksums are unknown");
	extension->missing = head->extension_missing;
	extension->functions = head->extension_functions;
	extension->lock_table = head->extension_table;
	extension->use = EXTENSION_READS;
	plan->extension = extension;
	plan->snapshot = head->snapshot;
	plan->snapshot_identity = head->snapshot_identity;
	plan->encoding = head->encoding;
	plan->lock_wait_ms = head->lock_wait_ms;
	plan->server_compress = head->server_compression;
}

static void
make_plan(PlanReader *reader)
{
	DumpPlan   *plan = &reader->task->plan;
	DumpTables *tables = pg_malloc0(sizeof(DumpTables));
	ChunkPlan  *chunks = pg_malloc0(sizeof(ChunkPlan));

	make_settings(reader);
	make_tables(reader, tables, chunks);
	chunks->files = (DataFile *) reader->files.elements;
	chunks->n_files = reader->files.n;
	if (reader->queue.n != chunks->n_files)
		wrong(reader, "not all files are in the queue");
	for (int i = 0; i < chunks->n_files; i++)
		if (chunks->files[i].table >= tables->n_tables)
			wrong(reader, "there is no such table");
	plan->tables = tables;
	plan->chunks = chunks;
	plan->objects = make_objects(reader);
	plan->queue = make_queue(reader, chunks);
}

/* The version first: of another one nothing else need be understood. */
static void
check_version(const char *path, const TaskPlanHead *head)
{
	if (head->version && strcmp(head->version, PARDUMP_VERSION) == 0)
		return;
	pg_log_error("plan \"%s\" was written by pg_pardump %s, and this is %s", path,
				 head->version ? head->version : "of an unknown version",
				 PARDUMP_VERSION);
	pg_log_error_hint("All hosts of a run need the same version.");
	exit(1);
}

TaskPlan *
plan_read(const char *path)
{
	PlanReader	reader = {
		.task = pg_malloc0(sizeof(TaskPlan)),
		.tables.size = sizeof(PlannedTable),
		.files.size = sizeof(DataFile),
		.queue.size = sizeof(int),
		.groups.size = sizeof(LargeObjectGroup),
		.jobs.size = sizeof(Job),
	};
	const char *problem;
	bool		first = true;
	size_t		len;
	char	   *text;
	int			fd = plan_read_open(path, &problem);

	if (fd < 0)
		pg_fatal("plan \"%s\" %s", path, problem);
	text = plan_read_text(fd, path, &len);
	close(fd);
	if (len > PG_INT32_MAX ||
		pg_encoding_verifymbstr(PG_UTF8, text, (int) len) != (int) len)
		pg_fatal("plan \"%s\" is damaged: %s", path, "it is not UTF-8");
	json_begin(&reader.json, text, len);
	json_enter(&reader.json, '{');
	while (json_more(&reader.json, '}', &first))
	{
		char	   *key = json_key(&reader.json);

		if (key)
			read_member(&reader, key);
		free(key);
	}
	json_finish(&reader.json);
	if (reader.json.error == NULL)
		check_version(path, &reader.task->head);
	make_plan(&reader);
	if (reader.json.error)
		pg_fatal("plan \"%s\" is damaged: %s", path, reader.json.error);
	free(text);
	return reader.task;
}
