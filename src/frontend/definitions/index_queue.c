/*
 * index_queue.c
 *		Which indexes can be built next.
 */
#include "base/fe_compat.h"

#include "definitions/index_queue.h"

/* Below this a table's indexes are one unit. */
#define SMALL_TABLE_BYTES ((uint64) 8 * 1024 * 1024)

typedef struct SortedEntry
{
	ScriptEntry entry;
	int			no;				/* in the script */
	int			table;
	uint64		bytes;			/* of the table */
	uint64		path;			/* with what can only be built after it */
} SortedEntry;

static int
compare_entries(const void *a, const void *b)
{
	const SortedEntry *e1 = a;
	const SortedEntry *e2 = b;

	if (e1->path != e2->path)
		return e1->path > e2->path ? -1 : 1;
	if (e1->table != e2->table)
		return e1->table < e2->table ? -1 : 1;
	return e1->no - e2->no;
}

/*
 * Each takes about as long as its table is large.  Constraints of a table
 * come one after the other, after its indexes, which can be built side by
 * side; a small one's are one unit, and stay together.
 */
static void
set_paths(SortedEntry *sorted, int n, const DumpTables *tables)
{
	int		   *constraints = pg_malloc0((tables->n_tables + 1) * sizeof(int));

	for (int i = n - 1; i >= 0; i--)
		if (toc_entry_is(sorted[i].entry.entry, "CONSTRAINT"))
			sorted[i].path = sorted[i].bytes * ++constraints[sorted[i].table];
	for (int i = 0; i < n; i++)
		if (sorted[i].bytes < SMALL_TABLE_BYTES)
			sorted[i].path = sorted[i].bytes;
		else if (!toc_entry_is(sorted[i].entry.entry, "CONSTRAINT"))
			sorted[i].path = sorted[i].bytes * (1 + constraints[sorted[i].table]);
	free(constraints);
}

static void
add_unit(IndexQueue *queue, const SortedEntry *entry, int no)
{
	DefinitionJobs *jobs = &queue->jobs;
	int			last = jobs->n_jobs - 1;
	bool		small = entry->bytes < SMALL_TABLE_BYTES;

	if (last < 0 || queue->units[last].table != entry->table || !small)
	{
		IndexUnit  *unit = &queue->units[++last];

		unit->table = entry->table;
		unit->exclusive = small || toc_entry_is(entry->entry.entry, "CONSTRAINT");
		jobs->jobs[last].first = no;
		jobs->jobs[last].long_lasting = true;
		jobs->n_jobs++;
	}
	jobs->jobs[last].n++;
}

/* By dump ID: the table whose rows an entry waits for; owned. */
static int *
tables_by_id(const RestoreSchedule *schedule)
{
	const Toc  *toc = schedule->toc;
	int		   *result = pg_malloc0((toc->max_dump_id + 1) * sizeof(int));

	for (int i = 0; i < toc->n_entries; i++)
		result[toc->entries[i].dump_id] = schedule->tables[i];
	return result;
}

IndexQueue *
index_queue_make(Script *script, const RestoreSchedule *schedule,
				 const DumpTables *tables)
{
	IndexQueue *queue = pg_malloc0(sizeof(IndexQueue));
	int		   *by_id = tables_by_id(schedule);
	int			n = script->n_entries;
	SortedEntry *sorted = pg_malloc0((n + 1) * sizeof(SortedEntry));

	for (int i = 0; i < n; i++)
	{
		sorted[i].entry = script->entries[i];
		sorted[i].no = i;
		sorted[i].table = by_id[script->entries[i].entry->dump_id];
		sorted[i].bytes = tables->tables[sorted[i].table].total_bytes;
	}
	set_paths(sorted, n, tables);
	qsort(sorted, n, sizeof(SortedEntry), compare_entries);
	queue->jobs.script = script;
	queue->jobs.toc = schedule->toc;
	queue->jobs.jobs = pg_malloc0((n + 1) * sizeof(DefinitionJob));
	queue->units = pg_malloc0((n + 1) * sizeof(IndexUnit));
	queue->tables = pg_malloc((n + 1) * sizeof(int));
	for (int i = 0; i < n; i++)
	{
		script->entries[i] = sorted[i].entry;
		queue->tables[i] = sorted[i].table;
		add_unit(queue, &sorted[i], i);
	}
	queue->loaded = pg_malloc0(tables->n_tables + 1);
	queue->in_use = pg_malloc0((tables->n_tables + 1) * sizeof(int));
	free(sorted);
	free(by_id);
	return queue;
}

bool
index_queue_take(IndexQueue *queue, int no)
{
	const IndexUnit *unit = &queue->units[no];
	int		   *in_use = &queue->in_use[unit->table];

	if (!queue->loaded[unit->table] || *in_use < 0 ||
		(unit->exclusive && *in_use > 0))
		return false;
	*in_use = unit->exclusive ? -1 : *in_use + 1;
	return true;
}

void
index_queue_release(IndexQueue *queue, int no)
{
	int		   *in_use = &queue->in_use[queue->units[no].table];

	*in_use = queue->units[no].exclusive ? 0 : *in_use - 1;
}
