/*
 * test_index_queue.c
 *		Indexes of the largest tables are built first, none before its table
 *		is loaded, constraints alone, and those of a small table together.
 */
#include "base/fe_compat.h"

#include "load/index_builder.h"
#include "unit_test.h"

#define MB ((uint64) 1024 * 1024)
#define MOST_ENTRIES 8

/* What a queue is made of; entries have the dump IDs 1, 2, ... */
typedef struct QueueCase
{
	Toc			toc;
	Script		script;
	ScriptEntry entries[MOST_ENTRIES];
	RestoreSchedule schedule;
	DumpTables	tables;
} QueueCase;

/* tables_of: by entry, the number of its table. */
static IndexQueue *
make_queue(QueueCase *made, TocEntry *entries, int n, int *tables_of,
		   DumpTable *tables, int n_tables)
{
	memset(made, 0, sizeof(QueueCase));
	for (int i = 0; i < n; i++)
	{
		entries[i].dump_id = i + 1;
		made->entries[i].entry = &entries[i];
	}
	made->toc.entries = entries;
	made->toc.n_entries = made->toc.max_dump_id = n;
	made->script.entries = made->entries;
	made->script.n_entries = n;
	made->schedule.toc = &made->toc;
	made->schedule.tables = tables_of;
	made->tables.tables = tables;
	made->tables.n_tables = n_tables;
	return index_queue_make(&made->script, &made->schedule, &made->tables);
}

/* Takes the first job that can be: its tags, or "" if none can. */
static int
takes(IndexQueue *queue, bool *taken, const char *expected, const char *what)
{
	const DefinitionJobs *jobs = &queue->jobs;
	char		found[128] = "";
	int			no = 0;

	while (no < jobs->n_jobs && (taken[no] || !index_queue_take(queue, no)))
		no++;
	for (int i = 0; no < jobs->n_jobs && i < jobs->jobs[no].n; i++)
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s",
				 *found ? ", " : "",
				 jobs->script->entries[jobs->jobs[no].first + i].entry->tag);
	taken[no] = true;
	is_text(found, expected, what);
	return no;
}

/*
 * The extension builds indexes of tables with enough bytes and rows.  The
 * number of rows is not always known.
 */
static void
check_large(void)
{
	TocEntry	entries[] = {
		{.desc = "INDEX",.tag = "0a"},
		{.desc = "INDEX",.tag = "1a"},
		{.desc = "INDEX",.tag = "2a"},
		{.desc = "INDEX",.tag = "3a"},
	};
	int			tables_of[] = {0, 1, 2, 3};
	DumpTable	tables[] = {
		{.total_bytes = 11 * MB,.est_rows = 99999},
		{.total_bytes = 10 * MB,.est_rows = 100000},
		{.total_bytes = 9 * MB},
		{.total_bytes = 8 * MB - 1,.est_rows = 200000}
	};
	QueueCase	made;
	IndexQueue *queue = make_queue(&made, entries, lengthof(entries), tables_of,
								   tables, lengthof(tables));

	is_number(queue->jobs.n_jobs, 4, "one job for each table");
	ok(!queue->jobs.jobs[0].large, "too few rows");
	ok(queue->jobs.jobs[1].large, "enough rows");
	ok(queue->jobs.jobs[2].large, "an unknown number of rows");
	ok(!queue->jobs.jobs[3].large, "too few bytes");
}

/* Tables 0 and 3 are small, 1 and 2 large; 2 is the largest. */
static void
check_order(void)
{
	TocEntry	entries[] = {
		{.desc = "INDEX",.tag = "0a"},
		{.desc = "INDEX",.tag = "1a"},
		{.desc = "CONSTRAINT",.tag = "1b 1b"},
		{.desc = "CONSTRAINT",.tag = "0b 0b"},
		{.desc = "INDEX",.tag = "1c"},
		{.desc = "INDEX",.tag = "2a"},
		{.desc = "INDEX",.tag = "3a"},
	};
	int			tables_of[] = {0, 1, 1, 0, 1, 2, 3};
	DumpTable	tables[] = {
		{.total_bytes = 2000}, {.total_bytes = 8 * MB},
		{.total_bytes = 9 * MB}, {.total_bytes = 1000}
	};
	QueueCase	made;
	IndexQueue *queue = make_queue(&made, entries, lengthof(entries), tables_of,
								   tables, lengthof(tables));
	bool		taken[MOST_ENTRIES + 1] = {false};
	int			first;
	int			second;

	is_number(queue->jobs.n_jobs, 6, "one job for each large index, one for a small table");
	takes(queue, taken, "", "nothing before a table is loaded");
	queue->loaded[0] = queue->loaded[1] = queue->loaded[3] = true;
	first = takes(queue, taken, "1a", "the largest table that is loaded, alone");
	second = takes(queue, taken, "1c", "beside it another index, but no constraint");
	queue->loaded[2] = true;
	takes(queue, taken, "2a", "a larger one that came later");
	takes(queue, taken, "0a, 0b 0b", "all of a small table");
	takes(queue, taken, "3a", "and of another");
	takes(queue, taken, "", "the constraint waits");
	index_queue_release(queue, first);
	takes(queue, taken, "", "for both indexes");
	index_queue_release(queue, second);
	takes(queue, taken, "1b 1b", "and comes then");
}

/* A large table's only index, and three constraints of a smaller one. */
static void
check_paths(void)
{
	TocEntry	entries[] = {
		{.desc = "INDEX",.tag = "0a"},
		{.desc = "CONSTRAINT",.tag = "1a 1a"},
		{.desc = "CONSTRAINT",.tag = "1b 1b"},
		{.desc = "INDEX",.tag = "1c"},
	};
	int			tables_of[] = {0, 1, 1, 1};
	DumpTable	tables[] = {{.total_bytes = 13 * MB}, {.total_bytes = 9 * MB}};
	QueueCase	made;
	IndexQueue *queue = make_queue(&made, entries, lengthof(entries), tables_of,
								   tables, lengthof(tables));
	bool		taken[MOST_ENTRIES + 1] = {false};
	int			no;

	queue->loaded[0] = queue->loaded[1] = true;
	no = takes(queue, taken, "1c", "first the index that two constraints wait for");
	takes(queue, taken, "0a", "beside it the large table's");
	index_queue_release(queue, no);
	no = takes(queue, taken, "1a 1a", "then one constraint");
	takes(queue, taken, "", "and not the other beside it");
	index_queue_release(queue, no);
	takes(queue, taken, "1b 1b", "which is last");
}

void
test_index_queue(void)
{
	check_large();
	check_order();
	check_paths();
}
