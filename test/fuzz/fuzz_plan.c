/*
 * fuzz_plan.c
 *		The plan of a dump for tasks, on any bytes.
 */
#include "base/fe_compat.h"

#include "tasks/task_plan.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every job has files that there are, and every file a table. */
static void
check_numbers(const PlanFile *file)
{
	for (int i = 0; i < file->n_jobs; i++)
	{
		const Job  *job = &file->jobs[i];

		for (int j = 0; j < job->n; j++)
		{
			int			n = job->first + j;

			if (job->kind == JOB_LARGE_OBJECTS ? n < 0 || n >= file->n_groups :
				file->files[file->queue[n]].table >= file->n_tables)
				abort();
		}
	}
}

static void
try_plan(const char *text, size_t size)
{
	PlanFile	file = {{{NULL}}};

	if (task_plan_parse(&file, text, size) == NULL)
		check_numbers(&file);
	task_plan_free(&file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *text = pg_malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	try_plan(text, size);
	free(text);
	return 0;
}
