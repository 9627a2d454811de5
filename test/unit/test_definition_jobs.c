/*
 * test_definition_jobs.c
 *		With any dependencies in an archive, all jobs are begun, and those
 *		that must run alone are begun while no other job runs.
 */
#include "base/fe_compat.h"

#include "load/definition_worker.h"
#include "unit_test.h"

/* Begin all jobs that may begin, then end them, until none may begin. */
static int
run_all(DefinitionJobs *jobs)
{
	bool	   *begun = pg_malloc0(jobs->n_jobs);
	int			n_done = 0;
	int			n_begun;

	do
	{
		n_begun = 0;
		for (int i = 0; i < jobs->n_jobs; i++)
		{
			if (begun[i] || !definition_jobs_may_begin(jobs, i))
				continue;
			definition_jobs_begin(jobs, i);
			begun[i] = true;
			n_begun++;
		}
		for (int i = 0; i < jobs->n_jobs; i++)
		{
			if (!begun[i] || jobs->done[i])
				continue;
			jobs->done[i] = true;
			definition_jobs_end(jobs, i);
			n_done++;
		}
	} while (n_begun > 0);
	free(begun);
	return n_done;
}

void
test_definition_jobs(void)
{
	/*
	 * tables 1 and 2; keys that depend on each other, on themselves, on a
	 * later entry, and on none that is there
	 */
	int			deps[][3] = {{1, 2, 5}, {2, 1, 4}, {1, 6, 6}, {2, 8, 1}, {1, 99, -3}};
	TocEntry	entries[7] = {
		{.dump_id = 1,.desc = "TABLE",.tag = "a"},
		{.dump_id = 2,.desc = "TABLE",.tag = "b"},
	};
	ScriptEntry script_entries[5] = {{NULL}};
	Toc			toc = {.entries = entries,.n_entries = lengthof(entries),.max_dump_id = 9};
	Script		script = {.entries = script_entries,.n_entries = lengthof(script_entries)};
	DefinitionJobs *jobs;
	int			next;

	for (int i = 0; i < lengthof(script_entries); i++)
	{
		entries[2 + i] = (TocEntry)
		{
			.dump_id = 4 + i,.desc = "FK CONSTRAINT",.tag = "k",
				.deps = deps[i],.n_deps = 3
		};
		script_entries[i].entry = &entries[2 + i];
	}
	jobs = definition_jobs_make(&script, 0, &next, &toc, 4);
	is_number(next, lengthof(script_entries), "one pass");
	is_number(jobs->n_jobs, lengthof(script_entries), "a job each");
	is_number(run_all(jobs), lengthof(script_entries), "circles are gone through");
}
