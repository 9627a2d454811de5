/*
 * fuzz_plan.c
 *		The plan of a restore for tasks, its jobs with an archive of some
 *		files, and a line of what an attempt tells, on any bytes.
 */
#include "base/fe_compat.h"

#include "restore_tasks/restore_task_plan.h"
#include "tasks/plan_queue.h"
#include "tasks/task_result.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_FILES 3
#define N_GROUPS 2

/* Every job has files that there are, or something is wrong. */
static void
try_jobs(RestoreTaskPlan *plan)
{
	DataFile	files[N_FILES] = {{0}};
	ChunkPlan	chunks = {.files = files,.n_files = N_FILES};
	JobQueue   *queue = plan_queue_make(&plan->reader, &chunks, N_GROUPS);

	for (int i = 0; plan->reader.json.error == NULL && i < queue->n_jobs; i++)
	{
		const Job  *job = &queue->jobs[i];

		if (job->kind == JOB_LARGE_OBJECTS)
		{
			if (job->first < 0 || job->first >= N_GROUPS)
				abort();
			continue;
		}
		for (int j = 0; j < job->n; j++)
			if (queue->files[job->first + j]->n_chunks != 0)
				abort();
	}
	free(queue->files);
	free(queue);
}

static void
try_line(const char *text, size_t size)
{
	TaskLine	line;

	(void) task_result_read(text, size, &line);
	free(line.run_id);
	free(unconstify(char *, line.result.new_reason));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	RestoreTaskPlan plan;
	char	   *text = pg_malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (restore_task_plan_parse(&plan, text, size) == NULL)
		try_jobs(&plan);
	restore_task_plan_free(&plan);
	try_line(text, size);
	free(text);
	return 0;
}
