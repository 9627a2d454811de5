/*
 * task_plan_read.c
 *		Reads the plan of a dump in a task.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "tasks/task_place.h"
#include "tasks/task_plan_read.h"

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
make_tables(const PlanFile *file, DumpTables *tables, ChunkPlan *chunks)
{
	tables->n_tables = file->n_tables;
	tables->tables = pg_malloc0((file->n_tables + 1) * sizeof(DumpTable));
	tables->server_version = file->head.server_version;
	tables->block_bytes = file->head.block_bytes;
	chunks->tables = pg_malloc0((file->n_tables + 1) * sizeof(TablePlan));
	for (int i = 0; i < file->n_tables; i++)
	{
		tables->tables[i] = file->tables[i].table;
		chunks->tables[i] = file->tables[i].decided;
	}
}

static LargeObjects *
make_objects(const PlanFile *file)
{
	LargeObjects *objects = pg_malloc0(sizeof(LargeObjects));

	objects->groups = file->groups;
	objects->n_groups = file->n_groups;
	objects->n_objects = file->head.n_objects;
	return objects;
}

static JobQueue *
make_queue(const PlanFile *file)
{
	JobQueue   *queue = pg_malloc0(sizeof(JobQueue));

	queue->jobs = file->jobs;
	queue->n_jobs = file->n_jobs;
	queue->files = pg_malloc0((file->n_queue + 1) * sizeof(DataFile *));
	for (int i = 0; i < file->n_queue; i++)
		queue->files[i] = &file->files[file->queue[i]];
	return queue;
}

static ServerExtension *
make_extension(const DumpTaskHead *head)
{
	ServerExtension *extension = pg_malloc0(sizeof(ServerExtension));

	extension->missing = head->extension_missing;
	extension->functions = head->extension_functions;
	extension->lock_table = head->extension_table;
	extension->use = EXTENSION_READS;
	return extension;
}

static const char *
make_settings(const DumpTaskHead *head, DumpPlan *plan)
{
	char		error[COMPRESS_SPEC_ERROR_BYTES];

	plan->extension = make_extension(head);
	plan->snapshot = head->snapshot;
	plan->snapshot_identity = head->snapshot_identity;
	plan->encoding = head->encoding;
	plan->lock_wait_ms = head->lock_wait_ms;
	plan->server_compress = head->server_compression;
	if (!compress_spec_parse(head->compression, &plan->compress, error) ||
		!pg_checksum_parse_type(head->checksums, &plan->checksum_type))
		return "compression or checksums are unknown";
	return NULL;
}

/* What fingerprints are taken by, and the files that have some. */
static void
make_previous(const DumpTaskHead *head, DumpPlan *plan)
{
	const ChunkPlan *chunks = plan->chunks;
	FingerprintSpec *spec;

	if (head->fingerprint_algorithm == NULL)
		return;
	spec = pg_malloc0(sizeof(FingerprintSpec));
	spec->algorithm = head->fingerprint_algorithm;
	spec->key = head->fingerprint_key;
	spec->settings = head->fingerprint_settings;
	plan->fingerprints = spec;
	if (head->previous == NULL)
		return;
	plan->knows_changes = head->knows_changes;
	plan->previous = previous_archive_reach(head->previous, plan->checksum_type);
	for (int i = 0; plan->previous->dir_fd < 0 && i < plan->tables->n_tables; i++)
		if (chunks->tables[i].new_reason == NULL)
			chunks->tables[i].new_reason = "the previous archive is not within reach of its task";
}

/* NULL, or what is wrong. */
static const char *
make_plan(const PlanFile *file, DumpPlan *plan)
{
	DumpTables *tables = pg_malloc0(sizeof(DumpTables));
	ChunkPlan  *chunks = pg_malloc0(sizeof(ChunkPlan));
	const char *problem = make_settings(&file->head, plan);

	make_tables(file, tables, chunks);
	chunks->files = file->files;
	chunks->n_files = file->n_files;
	plan->tables = tables;
	plan->chunks = chunks;
	plan->objects = make_objects(file);
	plan->queue = make_queue(file);
	if (problem == NULL)
		make_previous(&file->head, plan);
	return problem;
}

DumpTaskPlan *
task_plan_read(const char *path)
{
	DumpTaskPlan *task = pg_malloc0(sizeof(DumpTaskPlan));
	PlanFile	file = {{{NULL}}};
	const char *problem;
	size_t		len;
	char	   *text;
	int			fd = task_place_open(path, &problem);

	if (fd < 0)
		pg_fatal("plan \"%s\" %s", path, problem);
	text = task_place_read(fd, path, &len);
	close(fd);
	problem = task_plan_parse(&file, text, len);
	if (problem == NULL || (file.head.run.version && file.head.run.what))
		check_version(path, &file.head.run);
	free(text);
	task->head = file.head;
	task->standbys = file.standbys;
	task->n_standbys = file.n_standbys;
	if (problem == NULL)
		problem = make_plan(&file, &task->plan);
	if (problem)
		pg_fatal("plan \"%s\" is damaged: %s", path, problem);
	return task;
}
