/*
 * restore_task_plan.c
 *		Writes and reads the plan of a restore for tasks.
 */
#include "base/fe_compat.h"

#include "restore_tasks/restore_task_plan.h"
#include "tasks/plan_queue.h"
#include "tasks/plan_write.h"

#define HEAD(name, kind, member) {name, kind, offsetof(RestoreTaskHead, member)}
#define TABLE(name, kind, member) {name, kind, offsetof(RestoreTaskTable, member)}

static const PlanField head_fields[] = {
	HEAD("archive", PLAN_TEXT, archive),
	HEAD("identity", PLAN_TEXT, identity),
	HEAD("attempt", PLAN_INT, attempt),
	HEAD("history", PLAN_TEXT, history),
	HEAD("incarnation", PLAN_TEXT, incarnation),
	HEAD("chunk_bytes", PLAN_UINT64, chunk_bytes),
	HEAD("data_only", PLAN_BOOL, data_only),
	HEAD("disable_triggers", PLAN_BOOL, disable_triggers),
	HEAD("toast_compression", PLAN_TEXT, toast_compression),
	HEAD("files", PLAN_INT, n_files),
	HEAD("groups", PLAN_INT, n_groups),
	{NULL}
};

static const PlanField table_fields[] = {
	TABLE("oid", PLAN_UINT32, oid),
	TABLE("unlogged", PLAN_BOOL, unlogged),
	TABLE("fresh", PLAN_BOOL, fresh),
	{NULL}
};

/* ----------
 * Writing
 * ----------
 */
static void
write_numbers(PlanWriter *writer, const char *name, const PlanArray *array)
{
	const int  *numbers = (const int *) array->elements;

	plan_write_array(writer, name);
	for (int i = 0; i < array->n; i++)
	{
		appendPQExpBuffer(&writer->buf, "%s%d", i > 0 ? ", " : "", numbers[i]);
		plan_write_end_element(writer);
	}
	plan_write_end_array(writer);
}

void
restore_task_plan_write(const char *path, const RestoreTaskPlan *plan,
						const ChunkPlan *chunks, const JobQueue *queue)
{
	const RestoreTaskTable *tables = (const RestoreTaskTable *) plan->tables.elements;
	PlanWriter	writer;

	plan_write_begin(&writer, path, &plan->head.run, head_fields, &plan->head);
	write_numbers(&writer, "ids", &plan->ids);
	plan_write_array(&writer, "tables");
	for (int i = 0; i < plan->tables.n; i++)
		plan_write_object(&writer, i, table_fields, &tables[i]);
	plan_write_end_array(&writer);
	write_numbers(&writer, "left_out", &plan->left_out);
	write_numbers(&writer, "objects_left_out", &plan->objects_left_out);
	plan_write_queue(&writer, queue, chunks->files, chunks->n_files);
	plan_write_end(&writer);
}

/* ----------
 * Reading
 * ----------
 */
static void
read_member(PlanReader *reader, const char *key)
{
	RestoreTaskPlan *plan = (RestoreTaskPlan *) reader;

	if (strcmp(key, "ids") == 0)
		plan_read_numbers(reader, &plan->ids);
	else if (strcmp(key, "tables") == 0)
		plan_read_objects(reader, &plan->tables, table_fields);
	else if (strcmp(key, "left_out") == 0)
		plan_read_numbers(reader, &plan->left_out);
	else if (strcmp(key, "objects_left_out") == 0)
		plan_read_numbers(reader, &plan->objects_left_out);
	else
		json_skip(&reader->json);
}

static void
read_other(PlanReader *reader, const char *key, void *object)
{
	json_skip(&reader->json);
}

static void
begin(RestoreTaskPlan *plan)
{
	memset(plan, 0, sizeof(RestoreTaskPlan));
	plan->reader.run = &plan->head.run;
	plan->reader.fields = head_fields;
	plan->reader.head = &plan->head;
	plan->reader.read_member = read_member;
	plan->reader.read_other = read_other;
	plan->ids.size = plan->left_out.size = plan->objects_left_out.size =
		sizeof(int);
	plan->tables.size = sizeof(RestoreTaskTable);
}

static void
check_head(RestoreTaskPlan *plan)
{
	const RestoreTaskHead *head = &plan->head;

	if (head->archive == NULL || head->identity == NULL ||
		head->history == NULL || head->incarnation == NULL)
		plan_read_wrong(&plan->reader, "something is missing");
}

RestoreTaskPlan *
restore_task_plan_read(const char *path)
{
	RestoreTaskPlan *plan = pg_malloc(sizeof(RestoreTaskPlan));

	begin(plan);
	plan_read(&plan->reader, path, TASKS_RESTORE);
	check_head(plan);
	plan_read_check(&plan->reader, path);
	return plan;
}

const char *
restore_task_plan_parse(RestoreTaskPlan *plan, const char *text, size_t len)
{
	begin(plan);
	plan_read_parse(&plan->reader, text, len);
	check_head(plan);
	return plan->reader.json.error;
}

void
restore_task_plan_free(RestoreTaskPlan *plan)
{
	plan_fields_free(task_run_fields, &plan->head.run);
	plan_fields_free(head_fields, &plan->head);
	free(plan->ids.elements);
	free(plan->tables.elements);
	free(plan->left_out.elements);
	free(plan->objects_left_out.elements);
	free(plan->reader.queue.elements);
	free(plan->reader.jobs.elements);
}

/* ----------
 * With the archive's
 * ----------
 */
static void
check_numbers(RestoreTaskPlan *plan, const PlanArray *array, int end,
			  const char *problem)
{
	const int  *numbers = (const int *) array->elements;

	for (int i = 0; i < array->n; i++)
		if (numbers[i] >= end)
			plan_read_wrong(&plan->reader, problem);
}

JobQueue *
restore_task_plan_queue(RestoreTaskPlan *plan, const char *path,
						const DumpPlan *archive)
{
	JobQueue   *queue;

	if (plan->tables.n != archive->tables->n_tables ||
		plan->head.n_files != archive->chunks->n_files ||
		plan->head.n_groups != archive->objects->n_groups)
		plan_read_wrong(&plan->reader, "the archive has other tables, or files");
	check_numbers(plan, &plan->left_out, plan->head.n_files,
				  "there is no such file");
	check_numbers(plan, &plan->objects_left_out, plan->head.n_groups,
				  "there is no such group");
	queue = plan_queue_make(&plan->reader, archive->chunks,
							plan->head.n_groups);
	plan_read_check(&plan->reader, path);
	return queue;
}
