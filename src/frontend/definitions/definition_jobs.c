/*
 * definition_jobs.c
 *		Which definitions are made together, and which side by side.
 */
#include "base/fe_compat.h"

#include "definitions/definition_jobs.h"
#include "definitions/object_groups.h"

/* Entries of a job, or large objects, at most, if they are done at once. */
#define MOST_SHORT OBJECT_GROUPS_PART

/* And of the others, if so many of them are left for each worker. */
#define MOST_LONG 50
#define LONG_JOBS_PER_WORKER 8

/*
 * In which pass pg_restore makes it: privileges after all else, and these
 * last (pg_backup_archiver.c:_tocEntryRestorePass).
 */
static int
pass_of(const TocEntry *entry)
{
	static const char *const last[] = {"EVENT TRIGGER", "MATERIALIZED VIEW DATA", NULL};

	if (toc_entry_is_privilege(entry))
		return 1;
	if (toc_entry_is_one_of(entry, last) ||
		(toc_entry_is(entry, "COMMENT") &&
		 strncmp(entry->tag, "EVENT TRIGGER ", 14) == 0) ||
		(toc_entry_is(entry, "STATISTICS DATA") &&
		 entry->section == TOC_SECTION_POST_DATA))
		return 2;
	return 0;
}

/* May it read all rows of a table? */
static bool
is_long_lasting(const TocEntry *entry)
{
	static const char *const kinds[] = {"INDEX", "CONSTRAINT",
	"CHECK CONSTRAINT", "FK CONSTRAINT", "MATERIALIZED VIEW DATA", NULL};

	return toc_entry_is_one_of(entry, kinds);
}

/*
 * An index, or a query, leaves its tables to others that do the same.  Of
 * short ones there is one at a time, but they may lock any table they name.
 */
static bool
locks_tables(const TocEntry *entry)
{
	return !toc_entry_is(entry, "INDEX") &&
		!toc_entry_is(entry, "MATERIALIZED VIEW DATA");
}

/*
 * Where the pass ends that begins with this entry: at one of another pass, or
 * where pg_restore goes back in the archive's order.
 */
static int
end_of_pass(const Script *script, int first)
{
	int			i = first + 1;

	while (i < script->n_entries &&
		   pass_of(script->entries[i].entry) == pass_of(script->entries[first].entry) &&
		   script->entries[i].entry >= script->entries[i - 1].entry)
		i++;
	return i;
}

static void
add_entry(DefinitionJobs *jobs, int no, int most_long)
{
	const ScriptEntry *entry = &jobs->script->entries[no];
	DefinitionJob *job = jobs->n_jobs == 0 ? NULL : &jobs->jobs[jobs->n_jobs - 1];
	bool		long_lasting = is_long_lasting(entry->entry);
	bool		of_objects = object_groups_has(entry);
	int			n_locks = Max(1, entry->n_oids);

	if (job == NULL || job->long_lasting != long_lasting ||
		job->of_objects != of_objects ||
		job->n_locks + n_locks > (long_lasting ? most_long : MOST_SHORT))
	{
		job = &jobs->jobs[jobs->n_jobs++];
		job->first = no;
		job->n = job->n_locks = 0;
		job->long_lasting = long_lasting;
		job->of_objects = of_objects;
	}
	job->n++;
	job->n_locks += n_locks;
	jobs->job_of[entry->entry->dump_id] = jobs->n_jobs - 1;
}

DefinitionJobs *
definition_jobs_make(const Script *script, int first, int *next,
					 const Toc *toc, int n_workers)
{
	DefinitionJobs *jobs = pg_malloc0(sizeof(DefinitionJobs));
	int			n_ids = toc->max_dump_id + 1;
	int			n_long = 0;
	int			most_long;

	*next = end_of_pass(script, first);
	jobs->script = script;
	jobs->toc = toc;
	jobs->jobs = pg_malloc0((*next - first) * sizeof(DefinitionJob));
	jobs->done = pg_malloc0(*next - first);
	jobs->job_of = pg_malloc(n_ids * sizeof(int));
	memset(jobs->job_of, -1, n_ids * sizeof(int));
	jobs->is_table = pg_malloc0(n_ids);
	jobs->users = pg_malloc0(n_ids * sizeof(int));
	jobs->owners = pg_malloc0(n_ids * sizeof(int));
	for (int i = 0; i < toc->n_entries; i++)
		jobs->is_table[toc->entries[i].dump_id] =
			toc_entry_is(&toc->entries[i], "TABLE");
	for (int i = first; i < *next; i++)
		n_long += is_long_lasting(script->entries[i].entry);
	most_long = n_workers == 1 ? MOST_LONG :
		Max(1, Min(MOST_LONG, n_long / (n_workers * LONG_JOBS_PER_WORKER)));
	for (int i = first; i < *next; i++)
		add_entry(jobs, i, most_long);
	return jobs;
}

void
definition_jobs_free(DefinitionJobs *jobs)
{
	free(jobs->owners);
	free(jobs->users);
	free(jobs->is_table);
	free(jobs->job_of);
	free(jobs->done);
	free(jobs->jobs);
	free(jobs);
}

/* ----------
 * While they run
 * ----------
 */

/*
 * Is this dependency of an entry in the way of its job?  Jobs come in an
 * order in which none depends on a later one.
 */
static bool
is_in_the_way(const DefinitionJobs *jobs, int job, const TocEntry *entry,
			  int dump_id)
{
	int			other;

	if (dump_id <= 0 || dump_id > jobs->toc->max_dump_id)
		return false;
	other = jobs->job_of[dump_id];
	if (other >= 0 && other < job && !jobs->done[other])
		return true;
	return jobs->owners[dump_id] > 0 ||
		(locks_tables(entry) && jobs->users[dump_id] > 0);
}

bool
definition_jobs_may_begin(const DefinitionJobs *jobs, int no)
{
	const DefinitionJob *job = &jobs->jobs[no];

	if (!job->long_lasting && jobs->n_short > 0)
		return false;
	for (int i = 0; i < job->n; i++)
	{
		const TocEntry *entry = jobs->script->entries[job->first + i].entry;

		for (int j = 0; j < entry->n_deps; j++)
			if (is_in_the_way(jobs, no, entry, entry->deps[j]))
				return false;
	}
	return true;
}

/* One job more, or less (-1), is at the tables of this one. */
static void
count_tables(DefinitionJobs *jobs, const DefinitionJob *job, int more)
{
	for (int i = 0; i < job->n; i++)
	{
		const TocEntry *entry = jobs->script->entries[job->first + i].entry;
		int		   *counts = locks_tables(entry) ? jobs->owners : jobs->users;

		for (int j = 0; j < entry->n_deps; j++)
			if (entry->deps[j] > 0 && entry->deps[j] <= jobs->toc->max_dump_id &&
				jobs->is_table[entry->deps[j]])
				counts[entry->deps[j]] += more;
	}
	if (!job->long_lasting)
		jobs->n_short += more;
}

void
definition_jobs_begin(DefinitionJobs *jobs, int job)
{
	count_tables(jobs, &jobs->jobs[job], 1);
}

void
definition_jobs_end(DefinitionJobs *jobs, int job)
{
	count_tables(jobs, &jobs->jobs[job], -1);
	jobs->done[job] = true;
}

char *
definition_jobs_describe(const DefinitionJobs *jobs, int job, int step)
{
	int			no = jobs->jobs[job].first + Max(0, step);
	const TocEntry *entry = jobs->script->entries[no].entry;

	return entry->namespace ? psprintf("%s %s.%s", entry->desc, entry->namespace,
									   entry->tag)
		: psprintf("%s %s", entry->desc, entry->tag);
}
