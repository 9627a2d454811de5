/*
 * plan_write.c
 *		Writes a plan's file.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "common/file_utils.h"

#include "stream/sink_buffer.h"
#include "stream/sink_file.h"
#include "tasks/plan_write.h"

/* What is appended goes to the file in pieces of about this size. */
#define PIECE_BYTES 65536

void
plan_write_begin(PlanWriter *writer, const char *path, const TaskRun *run,
				 const PlanField *fields, const void *head)
{
	writer->path = path;
	writer->temp_path = psprintf("%s.tmp", path);
	writer->sink = sink_file_new(writer->temp_path);
	initPQExpBuffer(&writer->buf);
	appendPQExpBufferStr(&writer->buf, "{ ");
	plan_fields_append(&writer->buf, task_run_fields, run);
	appendPQExpBufferStr(&writer->buf, ", ");
	plan_fields_append(&writer->buf, fields, head);
}

void
plan_write_array(PlanWriter *writer, const char *name)
{
	appendPQExpBuffer(&writer->buf, ",\n\"%s\": [", name);
}

void
plan_write_end_array(PlanWriter *writer)
{
	appendPQExpBufferStr(&writer->buf, "]");
}

void
plan_write_element(PlanWriter *writer, int i)
{
	appendPQExpBufferStr(&writer->buf, i > 0 ? ",\n" : "\n");
}

void
plan_write_end_element(PlanWriter *writer)
{
	if (PQExpBufferDataBroken(writer->buf))
		pg_fatal("out of memory");
	if (writer->buf.len >= PIECE_BYTES)
		sink_write_buffer(writer->sink, &writer->buf);
}

void
plan_write_object(PlanWriter *writer, int i, const PlanField *fields,
				  const void *object)
{
	plan_write_element(writer, i);
	appendPQExpBufferChar(&writer->buf, '{');
	plan_fields_append(&writer->buf, fields, object);
	appendPQExpBufferChar(&writer->buf, '}');
	plan_write_end_element(writer);
}

void
plan_write_queue(PlanWriter *writer, const JobQueue *queue,
				 const DataFile *files, int n_files)
{
	plan_write_array(writer, "queue");
	for (int i = 0; i < n_files; i++)
	{
		appendPQExpBuffer(&writer->buf, "%s%d", i > 0 ? ", " : "",
						  (int) (queue->files[i] - files));
		plan_write_end_element(writer);
	}
	plan_write_end_array(writer);
	plan_write_array(writer, "jobs");
	for (int i = 0; i < queue->n_jobs; i++)
		plan_write_object(writer, i, task_job_fields, &queue->jobs[i]);
	plan_write_end_array(writer);
}

void
plan_write_end(PlanWriter *writer)
{
	appendPQExpBufferStr(&writer->buf, " }\n");
	plan_write_end_element(writer);
	sink_write_buffer(writer->sink, &writer->buf);
	sink_finish(writer->sink);
	sink_free(writer->sink);
	if (fsync_fname(writer->temp_path, false) != 0)
		exit(1);
	if (rename(writer->temp_path, writer->path) < 0)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m",
				 writer->temp_path, writer->path);
	termPQExpBuffer(&writer->buf);
	free(writer->temp_path);
}
