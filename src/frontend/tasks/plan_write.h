/*
 * plan_write.h
 *		Writes a plan's file: JSON, those of a TaskRun first.
 *
 *	{ members,
 *	"name": [ element, ...],
 *	... }
 */
#ifndef PLAN_WRITE_H
#define PLAN_WRITE_H

#include "stream/sink.h"
#include "tasks/task_plan.h"

typedef struct PlanWriter
{
	const char *path;
	char	   *temp_path;
	Sink	   *sink;
	PQExpBufferData buf;		/* to be appended to */
} PlanWriter;

/*
 * Begin the file at path, which must not exist; it gets its name when it is
 * whole and flushed.  fields are those of the rest of the head.  All of this
 * exits with a message on failure.
 */
extern void plan_write_begin(PlanWriter *writer, const char *path,
							 const TaskRun *run, const PlanField *fields,
							 const void *head);
extern void plan_write_end(PlanWriter *writer);

/* An array begins, or ends. */
extern void plan_write_array(PlanWriter *writer, const char *name);
extern void plan_write_end_array(PlanWriter *writer);

/* An element of it begins, which is number i, or ends. */
extern void plan_write_element(PlanWriter *writer, int i);
extern void plan_write_end_element(PlanWriter *writer);

/* An element that is an object of these members. */
extern void plan_write_object(PlanWriter *writer, int i,
							  const PlanField *fields, const void *object);

/*
 * The arrays of a queue: of the files' numbers, "queue", in the order of the
 * jobs, and of the jobs, "jobs".  files are all of the plan.
 */
extern void plan_write_queue(PlanWriter *writer, const JobQueue *queue,
							 const DataFile *files, int n_files);

#endif							/* PLAN_WRITE_H */
