/*
 * plan_queue.c
 *		The queue of jobs in a plan's file.
 */
#include "base/fe_compat.h"

#include "tasks/plan_queue.h"

JobQueue *
plan_queue_make(PlanReader *reader, const ChunkPlan *chunks, int n_groups)
{
	JobQueue   *queue = pg_malloc0(sizeof(JobQueue));
	const int  *numbers = (const int *) reader->queue.elements;

	queue->jobs = (Job *) reader->jobs.elements;
	queue->n_jobs = reader->jobs.n;
	queue->files = pg_malloc0((reader->queue.n + 1) * sizeof(DataFile *));
	if (reader->queue.n != chunks->n_files)
		plan_read_wrong(reader, "not all files are in the queue");
	for (int i = 0; i < reader->queue.n; i++)
	{
		if (numbers[i] >= chunks->n_files)
			plan_read_wrong(reader, "there is no such file");
		else
			queue->files[i] = &chunks->files[numbers[i]];
	}
	for (int i = 0; i < queue->n_jobs; i++)
	{
		const Job  *job = &queue->jobs[i];
		int			n = job->kind == JOB_DATA_FILES ? reader->queue.n : n_groups;

		if ((job->kind != JOB_DATA_FILES && job->kind != JOB_LARGE_OBJECTS) ||
			job->first > n || job->n > n - job->first || job->n == 0)
			plan_read_wrong(reader, "a job has no files");
		if (job->task >= reader->run->n_tasks)
			plan_read_wrong(reader, "a job is no task's");
	}
	return queue;
}
