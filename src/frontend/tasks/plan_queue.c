/*
 * plan_queue.c
 *		The queue of jobs in a plan's file.
 *
 * Which task does which jobs is settled by the leader: each job, the longest
 * first, goes to the task that has the least (Graham, Bounds on
 * Multiprocessing Timing Anomalies, 1969).
 */
#include "base/fe_compat.h"

#include "tasks/plan_queue.h"

/*
 * A file costs about a millisecond, whatever is in it: as much as so many
 * bytes.
 */
#define FILE_BYTES 100000

/* What a task has to do. */
typedef struct TaskLoad
{
	uint64		bytes;
	int			task;
} TaskLoad;

static bool
is_less(const TaskLoad *a, const TaskLoad *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->task < b->task;
}

/* Loads are a heap, the least on top: the top has become more. */
static void
sift_down(TaskLoad *loads, int n)
{
	TaskLoad	top = loads[0];
	int			i = 0;

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child + 1 < n && is_less(&loads[child + 1], &loads[child]))
			child++;
		if (child >= n || !is_less(&loads[child], &top))
			break;
		loads[i] = loads[child];
		i = child;
	}
	loads[i] = top;
}

void
plan_queue_deal(const JobQueue *queue, int n_tasks)
{
	TaskLoad   *loads = pg_malloc0(n_tasks * sizeof(TaskLoad));

	for (int i = 0; i < n_tasks; i++)
		loads[i].task = i;
	for (int i = 0; i < queue->n_jobs; i++)
	{
		Job		   *job = &queue->jobs[i];

		job->task = loads[0].task;
		loads[0].bytes += job->est_bytes + (uint64) job->n * FILE_BYTES;
		sift_down(loads, n_tasks);
	}
	free(loads);
}

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
