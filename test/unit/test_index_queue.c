/*
 * test_index_queue.c
 *		Indexes of the largest tables are built first, none before its table
 *		is loaded, constraints alone, and small tables together.
 */
#include "base/fe_compat.h"

#include "target/index_queue.h"
#include "unit_test.h"

#define MB ((uint64) 1024 * 1024)
#define MANY 500

/* Tables 0 and 3 are small, 1 and 2 large; 2 is the largest. */
static IndexQueue *
new_queue(void)
{
	static TocEntry entries[] = {
		{.dump_id = 1,.desc = "INDEX",.tag = "0a"},
		{.dump_id = 2,.desc = "INDEX",.tag = "1a"},
		{.dump_id = 3,.desc = "TRIGGER",.tag = "no index"},
		{.dump_id = 4,.desc = "CONSTRAINT",.tag = "1b 1b"},
		{.dump_id = 5,.desc = "CONSTRAINT",.tag = "0b 0b"},
		{.dump_id = 6,.desc = "INDEX",.tag = "1c"},
		{.dump_id = 7,.desc = "INDEX",.tag = "2a"},
		{.dump_id = 8,.desc = "INDEX",.tag = "3a"},
	};
	static RestorePhase phases[] = {
		RESTORE_INDEXES, RESTORE_INDEXES, RESTORE_POST_DATA, RESTORE_INDEXES,
		RESTORE_INDEXES, RESTORE_INDEXES, RESTORE_INDEXES, RESTORE_INDEXES
	};
	static int	table_numbers[] = {0, 1, -1, 1, 0, 1, 2, 3};
	static Toc	toc = {.entries = entries,.n_entries = lengthof(entries)};
	static DumpTable tables[] = {
		{.total_bytes = 2000}, {.total_bytes = 8 * MB},
		{.total_bytes = 9 * MB}, {.total_bytes = 1000}
	};
	static DumpTables all = {.tables = tables,.n_tables = lengthof(tables)};
	RestoreSchedule schedule = {.toc = &toc,.phases = phases,.tables = table_numbers};

	return index_queue_make(&schedule, &all);
}

/* The tags of what is taken next; "" if nothing can be. */
static void
takes(IndexQueue *queue, IndexBatch *batch, const char *expected,
	  const char *what)
{
	char		found[128] = "";

	(void) index_queue_take(queue, batch, false);
	for (int i = 0; i < batch->n_units; i++)
		for (int j = 0; j < batch->units[i]->n; j++)
			snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s",
					 *found ? ", " : "",
					 queue->entries[batch->units[i]->first + j].tag);
	is_text(found, expected, what);
}

static void
check_order(void)
{
	IndexQueue *queue = new_queue();
	IndexBatch	first;
	IndexBatch	second;
	IndexBatch	batch;

	is_number(queue->n_entries, 7, "all entries of the phase");
	takes(queue, &batch, "", "nothing before a table is loaded");
	queue->loaded[0] = queue->loaded[1] = queue->loaded[3] = true;
	takes(queue, &first, "1a", "the largest table that is loaded, alone");
	takes(queue, &second, "1c", "beside it another index, but no constraint");
	queue->loaded[2] = true;
	takes(queue, &batch, "2a", "a larger one that came later");
	takes(queue, &batch, "0a, 0b 0b, 3a", "small tables together");
	takes(queue, &batch, "", "the constraint waits");
	index_queue_release(queue, &first);
	takes(queue, &batch, "", "for both indexes");
	index_queue_release(queue, &second);
	takes(queue, &batch, "1b 1b", "and comes then");
	is_number(queue->n_taken, queue->n_units, "all were taken");
}

/* A large table's only index, and three constraints of a smaller one. */
static void
check_paths(void)
{
	TocEntry	entries[] = {
		{.dump_id = 1,.desc = "INDEX",.tag = "0a"},
		{.dump_id = 2,.desc = "CONSTRAINT",.tag = "1a 1a"},
		{.dump_id = 3,.desc = "CONSTRAINT",.tag = "1b 1b"},
		{.dump_id = 4,.desc = "INDEX",.tag = "1c"},
	};
	RestorePhase phases[] = {RESTORE_INDEXES, RESTORE_INDEXES, RESTORE_INDEXES,
	RESTORE_INDEXES};
	int			table_numbers[] = {0, 1, 1, 1};
	Toc			toc = {.entries = entries,.n_entries = lengthof(entries)};
	DumpTable	tables[] = {{.total_bytes = 13 * MB}, {.total_bytes = 9 * MB}};
	DumpTables	all = {.tables = tables,.n_tables = lengthof(tables)};
	RestoreSchedule schedule = {.toc = &toc,.phases = phases,.tables = table_numbers};
	IndexQueue *queue = index_queue_make(&schedule, &all);
	IndexBatch	batch;
	IndexBatch	other;

	queue->loaded[0] = queue->loaded[1] = true;
	takes(queue, &batch, "1c", "first the index that two constraints wait for");
	takes(queue, &other, "0a", "beside it the large table's");
	index_queue_release(queue, &batch);
	takes(queue, &batch, "1a 1a", "then one constraint");
	takes(queue, &other, "", "and not the other beside it");
	index_queue_release(queue, &batch);
	takes(queue, &batch, "1b 1b", "which is last");
}

static void
check_full_batch(void)
{
	TocEntry   *entries = pg_malloc0(MANY * sizeof(TocEntry));
	RestorePhase *phases = pg_malloc(MANY * sizeof(RestorePhase));
	int		   *table_numbers = pg_malloc(MANY * sizeof(int));
	DumpTables	tables = {.tables = pg_malloc0(MANY * sizeof(DumpTable)),.n_tables = MANY};
	Toc			toc = {.entries = entries,.n_entries = MANY};
	RestoreSchedule schedule = {.toc = &toc,.phases = phases,.tables = table_numbers};
	IndexQueue *queue;
	IndexBatch	batch;
	int			n_batches = 0;
	int			n_entries = 0;

	for (int i = 0; i < MANY; i++)
	{
		entries[i].desc = "INDEX";
		phases[i] = RESTORE_INDEXES;
		table_numbers[i] = i;
	}
	queue = index_queue_make(&schedule, &tables);
	memset(queue->loaded, true, MANY);
	queue->loaded[0] = false;
	while (index_queue_take(queue, &batch, true))
	{
		n_batches++;
		n_entries += batch.n_entries;
	}
	is_number(n_batches, MANY / INDEX_BATCH_ENTRIES,
			  "as many small tables in a batch as there may be");
	is_number(queue->n_taken, n_entries, "what is no full batch is left");
	queue->loaded[0] = true;
	while (index_queue_take(queue, &batch, false))
		n_entries += batch.n_entries;
	is_number(n_entries, MANY, "until it is asked for: each of them once");
}

void
test_index_queue(void)
{
	check_order();
	check_paths();
	check_full_batch();
}
