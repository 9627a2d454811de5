/*
 * fuzz_plan.c
 *		The head of a dump's plan for tasks, its jobs with some files, and a
 *		line of what an attempt tells, on any bytes.
 */
#include "base/fe_compat.h"

#include "tasks/dump_task_format.h"
#include "tasks/plan_queue.h"
#include "tasks/task_result.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_FILES 3
#define N_GROUPS 2

/* Every job has files that there are, or something is wrong. */
static void
try_jobs(PlanReader *reader)
{
	DataFile	files[N_FILES] = {{0}};
	ChunkPlan	chunks = {.files = files,.n_files = N_FILES};
	JobQueue   *queue = plan_queue_make(reader, &chunks, N_GROUPS);

	for (int i = 0; reader->json.error == NULL && i < queue->n_jobs; i++)
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
skip_member(PlanReader *reader, const char *key)
{
	json_skip(&reader->json);
}

static void
skip_other(PlanReader *reader, const char *key, void *object)
{
	json_skip(&reader->json);
}

static void
try_plan(const char *text, size_t size)
{
	DumpTaskHead head = {{NULL}};
	PlanReader	reader = {
		.run = &head.run,
		.fields = dump_task_head_fields,
		.head = &head,
		.read_member = skip_member,
		.read_other = skip_other,
	};

	plan_read_parse(&reader, text, size);
	if (reader.json.error == NULL)
		try_jobs(&reader);
	plan_fields_free(task_run_fields, &head.run);
	plan_fields_free(dump_task_head_fields, &head);
	free(reader.queue.elements);
	free(reader.jobs.elements);
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
	char	   *text = pg_malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	try_plan(text, size);
	try_line(text, size);
	free(text);
	return 0;
}
