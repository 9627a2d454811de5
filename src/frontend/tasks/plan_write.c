/*
 * plan_write.c
 *		Writes a plan's file.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "common/file_utils.h"

#include "stream/sink_buffer.h"
#include "stream/sink_file.h"
#include "tasks/plan_format.h"
#include "tasks/plan_write.h"

/* What is appended goes to the file in pieces of about this size. */
#define PIECE_BYTES 65536

typedef struct PlanWriter
{
	Sink	   *sink;
	PQExpBufferData buf;
} PlanWriter;

/* An element of an array is complete. */
static void
end_element(PlanWriter *writer)
{
	if (PQExpBufferDataBroken(writer->buf))
		pg_fatal("out of memory");
	if (writer->buf.len >= PIECE_BYTES)
		sink_write_buffer(writer->sink, &writer->buf);
}

static void
begin_array(PlanWriter *writer, const char *name)
{
	appendPQExpBuffer(&writer->buf, ",\n\"%s\": [", name);
}

static void
begin_element(PlanWriter *writer, int i)
{
	appendPQExpBufferStr(&writer->buf, i > 0 ? ",\n" : "\n");
}

static void
end_array(PlanWriter *writer)
{
	appendPQExpBufferStr(&writer->buf, "]");
}

static void
write_tables(PlanWriter *writer, const DumpPlan *plan)
{
	PQExpBuffer buf = &writer->buf;

	begin_array(writer, "tables");
	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		PlannedTable planned = {plan->tables->tables[i], plan->chunks->tables[i]};
		const DumpTable *table = &planned.table;

		begin_element(writer, i);
		appendPQExpBufferChar(buf, '{');
		plan_fields_append(buf, plan_table_fields, &planned);
		appendPQExpBufferStr(buf, ", \"columns\": [");
		for (int j = 0; j < table->n_columns; j++)
		{
			appendPQExpBufferStr(buf, j > 0 ? ", " : "");
			plan_field_append_text(buf, table->columns[j]);
		}
		appendPQExpBufferStr(buf, "]}");
		end_element(writer);
	}
	end_array(writer);
}

static void
write_files(PlanWriter *writer, const DumpPlan *plan)
{
	const ChunkPlan *chunks = plan->chunks;

	begin_array(writer, "files");
	for (int i = 0; i < chunks->n_files; i++)
	{
		begin_element(writer, i);
		appendPQExpBufferChar(&writer->buf, '{');
		plan_fields_append(&writer->buf, plan_file_fields, &chunks->files[i]);
		appendPQExpBufferChar(&writer->buf, '}');
		end_element(writer);
	}
	end_array(writer);
	begin_array(writer, "queue");
	for (int i = 0; i < chunks->n_files; i++)
	{
		appendPQExpBuffer(&writer->buf, "%s%d", i > 0 ? ", " : "",
						  (int) (plan->queue->files[i] - chunks->files));
		end_element(writer);
	}
	end_array(writer);
}

static void
write_groups(PlanWriter *writer, const LargeObjects *objects)
{
	begin_array(writer, "groups");
	for (int i = 0; i < objects->n_groups; i++)
	{
		const LargeObjectGroup *group = &objects->groups[i];

		begin_element(writer, i);
		appendPQExpBuffer(&writer->buf, "{\"first\": %d, \"oids\": [",
						  group->first_object);
		for (int j = 0; j < group->n_oids; j++)
			appendPQExpBuffer(&writer->buf, "%s%u", j > 0 ? ", " : "",
							  group->oids[j]);
		appendPQExpBufferStr(&writer->buf, "]}");
		end_element(writer);
	}
	end_array(writer);
}

static void
write_jobs(PlanWriter *writer, const JobQueue *queue)
{
	begin_array(writer, "jobs");
	for (int i = 0; i < queue->n_jobs; i++)
	{
		begin_element(writer, i);
		appendPQExpBufferChar(&writer->buf, '{');
		plan_fields_append(&writer->buf, plan_job_fields, &queue->jobs[i]);
		appendPQExpBufferChar(&writer->buf, '}');
		end_element(writer);
	}
	end_array(writer);
}

void
plan_write(const char *path, const TaskPlanHead *head, const DumpPlan *plan)
{
	char	   *temp_path = psprintf("%s.tmp", path);
	PlanWriter	writer = {.sink = sink_file_new(temp_path)};

	initPQExpBuffer(&writer.buf);
	appendPQExpBufferStr(&writer.buf, "{ ");
	plan_fields_append(&writer.buf, plan_head_fields, head);
	write_tables(&writer, plan);
	write_files(&writer, plan);
	write_groups(&writer, plan->objects);
	write_jobs(&writer, plan->queue);
	appendPQExpBufferStr(&writer.buf, " }\n");
	end_element(&writer);
	sink_write_buffer(writer.sink, &writer.buf);
	sink_finish(writer.sink);
	sink_free(writer.sink);
	if (fsync_fname(temp_path, false) != 0)
		exit(1);
	if (rename(temp_path, path) < 0)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m", temp_path, path);
	termPQExpBuffer(&writer.buf);
	free(temp_path);
}
