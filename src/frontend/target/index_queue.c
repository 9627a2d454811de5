/*
 * index_queue.c
 *		Which indexes can be built next.
 */
#include "base/fe_compat.h"

#include "target/index_queue.h"

/* Below this a table's indexes are one unit. */
#define SMALL_TABLE_BYTES ((uint64) 8 * 1024 * 1024)

typedef struct SortedEntry
{
	const TocEntry *entry;
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
	return e1->entry < e2->entry ? -1 : e1->entry > e2->entry;
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
		if (toc_entry_is(sorted[i].entry, "CONSTRAINT"))
			sorted[i].path = sorted[i].bytes * ++constraints[sorted[i].table];
	for (int i = 0; i < n; i++)
		if (sorted[i].bytes < SMALL_TABLE_BYTES)
			sorted[i].path = sorted[i].bytes;
		else if (!toc_entry_is(sorted[i].entry, "CONSTRAINT"))
			sorted[i].path = sorted[i].bytes * (1 + constraints[sorted[i].table]);
	free(constraints);
}

static void
add_unit(IndexQueue *queue, const SortedEntry *entry, int no)
{
	IndexUnit  *unit = queue->n_units > 0 ?
		&queue->units[queue->n_units - 1] : NULL;
	bool		small = entry->bytes < SMALL_TABLE_BYTES;

	if (unit == NULL || unit->table != entry->table || !small)
	{
		unit = &queue->units[queue->n_units++];
		unit->table = entry->table;
		unit->first = no;
		unit->small = small;
		unit->exclusive = small || toc_entry_is(entry->entry, "CONSTRAINT");
	}
	unit->n++;
}

IndexQueue *
index_queue_make(const RestoreSchedule *schedule, const DumpTables *tables)
{
	const Toc  *toc = schedule->toc;
	IndexQueue *queue = pg_malloc0(sizeof(IndexQueue));
	SortedEntry *sorted = pg_malloc((toc->n_entries + 1) * sizeof(SortedEntry));
	int			n = 0;

	for (int i = 0; i < toc->n_entries; i++)
	{
		if (schedule->phases[i] != RESTORE_INDEXES)
			continue;
		sorted[n].entry = &toc->entries[i];
		sorted[n].table = schedule->tables[i];
		sorted[n].bytes = tables->tables[sorted[n].table].total_bytes;
		n++;
	}
	set_paths(sorted, n, tables);
	qsort(sorted, n, sizeof(SortedEntry), compare_entries);
	queue->entries = pg_malloc((n + 1) * sizeof(TocEntry));
	queue->tables = pg_malloc((n + 1) * sizeof(int));
	queue->units = pg_malloc0((n + 1) * sizeof(IndexUnit));
	queue->n_entries = n;
	for (int i = 0; i < n; i++)
	{
		queue->entries[i] = *sorted[i].entry;
		queue->tables[i] = sorted[i].table;
		add_unit(queue, &sorted[i], i);
	}
	queue->loaded = pg_malloc0(tables->n_tables + 1);
	queue->in_use = pg_malloc0((tables->n_tables + 1) * sizeof(int));
	free(sorted);
	return queue;
}

static bool
can_take(const IndexQueue *queue, const IndexUnit *unit)
{
	return !unit->taken && queue->loaded[unit->table] &&
		(queue->in_use[unit->table] == 0 ||
		 (!unit->exclusive && queue->in_use[unit->table] > 0));
}

static void
take_unit(IndexQueue *queue, IndexUnit *unit)
{
	unit->taken = true;
	queue->n_taken++;
	queue->in_use[unit->table] = unit->exclusive ?
		-1 : queue->in_use[unit->table] + 1;
}

/*
 * Choose what can be taken now: a small table is one unit, so that none is in
 * the way of another.
 */
static void
choose_units(IndexQueue *queue, IndexBatch *batch)
{
	batch->n_units = batch->n_entries = 0;
	while (queue->n_begin < queue->n_units && queue->units[queue->n_begin].taken)
		queue->n_begin++;
	for (int i = queue->n_begin; i < queue->n_units &&
		 batch->n_entries < INDEX_BATCH_ENTRIES; i++)
	{
		IndexUnit  *unit = &queue->units[i];

		/* a large one has a run of its own */
		if (!can_take(queue, unit) || (batch->n_units > 0 && !unit->small))
			continue;
		batch->units[batch->n_units++] = unit;
		batch->n_entries += unit->n;
		if (!unit->small)
			break;
	}
}

bool
index_queue_take(IndexQueue *queue, IndexBatch *batch, bool full)
{
	choose_units(queue, batch);
	if (full && index_batch_is_small(batch) &&
		batch->n_entries < INDEX_BATCH_ENTRIES)
		batch->n_units = 0;
	for (int i = 0; i < batch->n_units; i++)
		take_unit(queue, batch->units[i]);
	return batch->n_units > 0;
}

bool
index_batch_is_small(const IndexBatch *batch)
{
	return batch->n_units > 0 && batch->units[0]->small;
}

void
index_queue_release(IndexQueue *queue, const IndexBatch *batch)
{
	for (int i = 0; i < batch->n_units; i++)
	{
		int		   *in_use = &queue->in_use[batch->units[i]->table];

		*in_use = batch->units[i]->exclusive ? 0 : *in_use - 1;
	}
}
