/*
 * task_deal.c
 *		Which task does which jobs.
 *
 * Each job, the longest first, goes to the task that has the least (Graham,
 * Bounds on Multiprocessing Timing Anomalies, 1969).
 */
#include "base/fe_compat.h"

#include "tasks/task_deal.h"

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
task_deal(const JobQueue *queue, int n_tasks)
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
