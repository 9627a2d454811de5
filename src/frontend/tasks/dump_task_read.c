/*
 * dump_task_read.c
 *		Reads what tasks are to read.
 */
#include "base/fe_compat.h"

#include "tasks/dump_task_format.h"
#include "tasks/dump_task_read.h"
#include "base/hex.h"
#include "tasks/plan_queue.h"

/* While it is being read. */
typedef struct DumpReader
{
	PlanReader	reader;			/* first: its callbacks have it */
	DumpTaskPlan *task;
	PlanArray	standbys;		/* PlannedStandby */
	PlanArray	tables;			/* PlannedTable */
	PlanArray	files;			/* DataFile */
	PlanArray	groups;			/* LargeObjectGroup */
} DumpReader;

/* ----------
 * Its arrays
 * ----------
 */
static void
read_columns(PlanReader *reader, DumpTable *table)
{
	PlanArray	columns = {.size = sizeof(char *)};
	bool		first = true;

	json_enter(&reader->json, '[');
	while (json_more(&reader->json, ']', &first))
	{
		char	   *column = plan_field_read_text(&reader->json);

		if (column == NULL)
			plan_read_wrong(reader, "a column has no name");
		*(char **) plan_array_grow(&columns) = column;
	}
	table->columns = (char **) columns.elements;
	table->n_columns = columns.n;
}

static void
read_oids(PlanReader *reader, LargeObjectGroup *group)
{
	PlanArray	oids = {.size = sizeof(Oid)};
	bool		first = true;

	json_enter(&reader->json, '[');
	while (json_more(&reader->json, ']', &first))
	{
		Oid		   *oid = plan_array_grow(&oids);

		*oid = (Oid) json_number(&reader->json);
	}
	group->oids = (const Oid *) oids.elements;
	group->n_oids = oids.n;
}

static void
read_masks(PlanReader *reader, PlannedTable *planned)
{
	PlanArray	masks = {.size = sizeof(ColumnMask)};
	bool		first = true;

	json_enter(&reader->json, '[');
	while (json_more(&reader->json, ']', &first))
	{
		ColumnMask *mask = plan_array_grow(&masks);

		mask->sql = plan_field_read_text(&reader->json);
	}
	planned->table.masks = (ColumnMask *) masks.elements;
	planned->n_masks = masks.n;
}

static void
read_previous(PlanReader *reader, DataFile *file)
{
	PlannedPrevious *previous = pg_malloc0(sizeof(PlannedPrevious));
	ManifestFile *old = &previous->file;
	bool		first = true;

	json_enter(&reader->json, '{');
	while (json_more(&reader->json, '}', &first))
	{
		char	   *key = json_key(&reader->json);

		if (key && !plan_field_read(&reader->json, dump_task_previous_fields,
									previous, key))
			json_skip(&reader->json);
		free(key);
	}
	if (previous->checksum)
		old->checksum_len = hex_decode(previous->checksum, old->checksum,
									   sizeof(old->checksum));
	if (old->path == NULL || old->fingerprint == NULL ||
		old->first_fingerprint == NULL || old->definition == NULL ||
		old->checksum_len <= 0)
		plan_read_wrong(reader, "a file of the previous archive lacks something");
	file->previous = old;
}

/* A member that is no field; names are the format's own. */
static void
read_other(PlanReader *reader, const char *key, void *object)
{
	if (strcmp(key, "columns") == 0)
		read_columns(reader, &((PlannedTable *) object)->table);
	else if (strcmp(key, "masks") == 0)
		read_masks(reader, object);
	else if (strcmp(key, "previous") == 0)
		read_previous(reader, object);
	else if (strcmp(key, "oids") == 0)
		read_oids(reader, object);
	else
		json_skip(&reader->json);
}

static const PlanField group_fields[] = {
	{"first", PLAN_INT, offsetof(LargeObjectGroup, first_object)},
	{NULL}
};

static void
read_member(PlanReader *reader, const char *key)
{
	DumpReader *dump = (DumpReader *) reader;

	if (strcmp(key, "standbys") == 0)
		plan_read_objects(reader, &dump->standbys, dump_task_standby_fields);
	else if (strcmp(key, "tables") == 0)
		plan_read_objects(reader, &dump->tables, dump_task_table_fields);
	else if (strcmp(key, "files") == 0)
		plan_read_objects(reader, &dump->files, dump_task_file_fields);
	else if (strcmp(key, "groups") == 0)
		plan_read_objects(reader, &dump->groups, group_fields);
	else
		json_skip(&reader->json);
}

/* ----------
 * The plan
 * ----------
 */
static void
make_tables(DumpReader *reader, DumpTables *tables, ChunkPlan *chunks)
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
			plan_read_wrong(&reader->reader, "a table has no name");
		if (planned->n_masks > 0 &&
			planned->n_masks != planned->table.n_columns)
			plan_read_wrong(&reader->reader, "not every column has a mask, or none");
	}
}

static LargeObjects *
make_objects(DumpReader *reader)
{
	LargeObjects *objects = pg_malloc0(sizeof(LargeObjects));

	objects->groups = (LargeObjectGroup *) reader->groups.elements;
	objects->n_groups = reader->groups.n;
	objects->n_objects = reader->task->head.n_objects;
	for (int i = 0; i < objects->n_groups; i++)
		if (objects->groups[i].n_oids > objects->n_objects ||
			objects->groups[i].first_object >
			objects->n_objects - objects->groups[i].n_oids)
			plan_read_wrong(&reader->reader, "there is no such large object");
	return objects;
}

static void
make_settings(DumpReader *reader)
{
	const DumpTaskHead *head = &reader->task->head;
	DumpPlan   *plan = &reader->task->plan;
	ServerExtension *extension = pg_malloc0(sizeof(ServerExtension));
	char		error[COMPRESS_SPEC_ERROR_BYTES];

	if (head->snapshot == NULL || head->snapshot_identity == NULL || head->encoding == NULL ||
		(head->extension_missing == NULL &&
		 (head->extension_functions == NULL || head->extension_table == NULL)))
		plan_read_wrong(&reader->reader, "something is missing");
	else if (head->compression == NULL || head->checksums == NULL ||
			 !compress_spec_parse(head->compression, &plan->compress, error) ||
			 !pg_checksum_parse_type(head->checksums, &plan->checksum_type))
		plan_read_wrong(&reader->reader, "compression or checksums are unknown");
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
make_standbys(DumpReader *reader)
{
	DumpTaskPlan *task = reader->task;

	task->standbys = (PlannedStandby *) reader->standbys.elements;
	task->n_standbys = reader->standbys.n;
	for (int i = 0; i < task->n_standbys; i++)
	{
		const PlannedStandby *standby = &task->standbys[i];

		if (standby->name == NULL || standby->conninfo == NULL ||
			standby->snapshot == NULL || standby->identity == NULL ||
			standby->holder_query == NULL)
			plan_read_wrong(&reader->reader, "a standby lacks something");
	}
}

/* What fingerprints are taken by, and the files that have some. */
static void
make_previous(DumpReader *reader, ChunkPlan *chunks)
{
	const DumpTaskHead *head = &reader->task->head;
	DumpPlan   *plan = &reader->task->plan;
	FingerprintSpec *spec;

	if (head->fingerprint_algorithm == NULL)
		return;
	spec = pg_malloc0(sizeof(FingerprintSpec));
	spec->algorithm = head->fingerprint_algorithm;
	spec->key = head->fingerprint_key;
	spec->settings = head->fingerprint_settings;
	if (spec->key == NULL || spec->settings == NULL)
		plan_read_wrong(&reader->reader, "fingerprints have no key or settings");
	plan->fingerprints = spec;
	if (head->previous == NULL)
		return;
	plan->knows_changes = head->knows_changes;
	plan->previous = previous_archive_reach(head->previous, plan->checksum_type);
	for (int i = 0; plan->previous->dir_fd < 0 && i < reader->tables.n; i++)
		if (chunks->tables[i].new_reason == NULL)
			chunks->tables[i].new_reason = "the previous archive is not within reach of its task";
}

static void
make_plan(DumpReader *reader)
{
	DumpPlan   *plan = &reader->task->plan;
	DumpTables *tables = pg_malloc0(sizeof(DumpTables));
	ChunkPlan  *chunks = pg_malloc0(sizeof(ChunkPlan));

	make_settings(reader);
	make_standbys(reader);
	make_tables(reader, tables, chunks);
	make_previous(reader, chunks);
	chunks->files = (DataFile *) reader->files.elements;
	chunks->n_files = reader->files.n;
	for (int i = 0; i < chunks->n_files; i++)
		if (chunks->files[i].table >= tables->n_tables)
			plan_read_wrong(&reader->reader, "there is no such table");
	plan->tables = tables;
	plan->chunks = chunks;
	plan->objects = make_objects(reader);
	plan->queue = plan_queue_make(&reader->reader, chunks, reader->groups.n);
}

DumpTaskPlan *
dump_task_read(const char *path)
{
	DumpTaskPlan *task = pg_malloc0(sizeof(DumpTaskPlan));
	DumpReader	reader = {
		.reader.run = &task->head.run,
		.reader.fields = dump_task_head_fields,
		.reader.head = &task->head,
		.reader.read_member = read_member,
		.reader.read_other = read_other,
		.task = task,
		.standbys.size = sizeof(PlannedStandby),
		.tables.size = sizeof(PlannedTable),
		.files.size = sizeof(DataFile),
		.groups.size = sizeof(LargeObjectGroup),
	};

	plan_read(&reader.reader, path);
	make_plan(&reader);
	plan_read_check(&reader.reader, path);
	return task;
}
