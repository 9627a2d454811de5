/*
 * run.c
 *		What can be asked of a run.
 */
#include "base/fe_compat.h"

#include "status/run.h"

void
run_make_results(Run *run, pg_checksum_type checksum_type)
{
	const DumpPlan *plan = run->plan;

	run->results = file_results_new(plan->chunks->n_files,
									plan->objects->n_objects,
									run->archive ? plan->objects->n_lists : 0,
									Max(run->options->jobs,
										run->options->jobs),
									checksum_type);
}

FileResult *
run_file_result(const Run *run, const DataFile *file)
{
	return &run->results->files[file - run->plan->chunks->files];
}

FileResult *
run_job_result(const Run *run, const Job *job, int i)
{
	const DumpPlan *plan = run->plan;
	const LargeObjectGroup *group;

	if (job->kind == JOB_DATA_FILES)
		return i == job->n ? NULL :
			run_file_result(run, plan->queue->files[job->first + i]);
	group = &plan->objects->groups[job->first];
	return i == group->n_oids ? NULL :
		&run->results->objects[group->first_object + i];
}

void
run_job_is_done(const Run *run, const Job *job, const volatile bool *left)
{
	FileResult *result;

	__sync_synchronize();
	for (int i = 0; (result = run_job_result(run, job, i)) != NULL; i++)
		if (job->kind != JOB_DATA_FILES || left == NULL ||
			!left[result - run->results->files])
			result->done = true;
}

bool
run_table_is_done(const void *arg, int table)
{
	const Run  *run = arg;
	const TablePlan *decided = &run->plan->chunks->tables[table];

	for (int i = 0; i < decided->n_files; i++)
		if (!run->results->files[decided->first_file + i].done)
			return false;
	return true;
}

bool
run_table_is_complete(const Run *run, int table)
{
	const TablePlan *decided = &run->plan->chunks->tables[table];

	for (int i = 0; i < decided->n_files; i++)
		if (run->results->files[decided->first_file + i].incomplete)
			return false;
	return run_table_is_done(run, table);
}

RunBefore
run_before(const Run *run)
{
	const FileResults *results = run->results;
	RunBefore	before = {0};

	for (int i = 0; i < results->n_files; i++)
	{
		const FileResult *file = &results->files[i];

		if (run_was_done_before(file))
		{
			before.files++;
			before.bytes += run->plan->chunks->files[i].est_bytes;
			continue;
		}
		before.parts += file->parts_before;
		before.bytes += file->bytes_before;
	}
	for (int i = 0; i < results->n_objects; i++)
		before.objects += run_was_done_before(&results->objects[i]);
	if (results->n_objects > 0)
		before.bytes += (double) run->plan->objects->est_bytes *
			before.objects / results->n_objects;
	return before;
}
