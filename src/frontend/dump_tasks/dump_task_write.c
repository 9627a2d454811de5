/*
 * dump_task_write.c
 *		Writes the plan of a dump for tasks.
 */
#include "base/fe_compat.h"

#include "dump_tasks/dump_task_format.h"
#include "dump_tasks/dump_task_write.h"
#include "stream/hex.h"
#include "tasks/plan_write.h"

/* What is written in place of the columns that are masked. */
static void
append_masks(PQExpBuffer buf, const DumpTable *table)
{
	appendPQExpBufferStr(buf, ", \"masks\": [");
	for (int i = 0; i < table->n_columns; i++)
	{
		appendPQExpBufferStr(buf, i > 0 ? ", " : "");
		plan_field_append_text(buf, table->masks[i].sql);
	}
	appendPQExpBufferChar(buf, ']');
}

static void
write_tables(PlanWriter *writer, const DumpPlan *plan)
{
	PQExpBuffer buf = &writer->buf;

	plan_write_array(writer, "tables");
	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		PlannedTable planned = {plan->tables->tables[i], plan->chunks->tables[i]};
		const DumpTable *table = &planned.table;

		plan_write_element(writer, i);
		appendPQExpBufferChar(buf, '{');
		plan_fields_append(buf, dump_task_table_fields, &planned);
		appendPQExpBufferStr(buf, ", \"columns\": [");
		for (int j = 0; j < table->n_columns; j++)
		{
			appendPQExpBufferStr(buf, j > 0 ? ", " : "");
			plan_field_append_text(buf, table->columns[j]);
		}
		appendPQExpBufferChar(buf, ']');
		if (table->masks)
			append_masks(buf, table);
		appendPQExpBufferChar(buf, '}');
		plan_write_end_element(writer);
	}
	plan_write_end_array(writer);
}

static void
append_previous(PQExpBuffer buf, const ManifestFile *file)
{
	PlannedPrevious previous = {
		.file = *file,
		.checksum = hex_encode(file->checksum, file->checksum_len),
	};

	appendPQExpBufferStr(buf, ", \"previous\": {");
	plan_fields_append(buf, dump_task_previous_fields, &previous);
	appendPQExpBufferChar(buf, '}');
	free(previous.checksum);
}

static void
write_files(PlanWriter *writer, const ChunkPlan *chunks)
{
	plan_write_array(writer, "files");
	for (int i = 0; i < chunks->n_files; i++)
	{
		const DataFile *file = &chunks->files[i];

		plan_write_element(writer, i);
		appendPQExpBufferChar(&writer->buf, '{');
		plan_fields_append(&writer->buf, dump_task_file_fields, file);
		if (file->previous)
			append_previous(&writer->buf, file->previous);
		appendPQExpBufferChar(&writer->buf, '}');
		plan_write_end_element(writer);
	}
	plan_write_end_array(writer);
}

static void
write_groups(PlanWriter *writer, const LargeObjects *objects)
{
	plan_write_array(writer, "groups");
	for (int i = 0; i < objects->n_groups; i++)
	{
		const LargeObjectGroup *group = &objects->groups[i];

		plan_write_element(writer, i);
		appendPQExpBuffer(&writer->buf, "{\"first\": %d, \"oids\": [",
						  group->first_object);
		for (int j = 0; j < group->n_oids; j++)
			appendPQExpBuffer(&writer->buf, "%s%u", j > 0 ? ", " : "",
							  group->oids[j]);
		appendPQExpBufferStr(&writer->buf, "]}");
		plan_write_end_element(writer);
	}
	plan_write_end_array(writer);
}

void
dump_task_write(const char *path, const DumpTaskHead *head,
				const PlannedStandby *standbys, int n_standbys,
				const DumpPlan *plan)
{
	PlanWriter	writer;

	plan_write_begin(&writer, path, &head->run, dump_task_head_fields, head);
	plan_write_array(&writer, "standbys");
	for (int i = 0; i < n_standbys; i++)
		plan_write_object(&writer, i, dump_task_standby_fields, &standbys[i]);
	plan_write_end_array(&writer);
	write_tables(&writer, plan);
	write_files(&writer, plan->chunks);
	plan_write_queue(&writer, plan->queue, plan->chunks->files,
					 plan->chunks->n_files);
	write_groups(&writer, plan->objects);
	plan_write_end(&writer);
}
