/*
 * index_attach.c
 *		Keeps the indexes of one partition tree from being attached side by
 *		side, or beside its foreign keys.
 *
 * ALTER INDEX ATTACH PARTITION makes a partitioned index valid when all that
 * it needs are.  It looks at the index above, too, but gives up the lock of
 * that before it commits (tablecmds.c:validatePartitionedIndex).  So if the
 * last partitions of two branches are attached side by side, neither sees
 * that the other makes its branch valid: the index above stays invalid for
 * ever, and a foreign key to its table cannot be made.  pg_dump lets
 * pg_restore -j do so, as its dependencies keep apart only what has a table
 * in common.
 *
 * For that look it locks the table above, after an index below.  A foreign
 * key of the table above, or to it, locks that first, and then all indexes
 * below: side by side with one that is being attached, that is a deadlock.
 */
#include "base/fe_compat.h"

#include "toc/index_attach.h"

/* Union-find: the tree that a dump ID belongs to, by one of its dump IDs. */
static int
find_tree(int *trees, int id)
{
	while (trees[id] != id)
		id = trees[id] = trees[trees[id]];
	return id;
}

static void
add_dependency(TocEntry *entry, int dump_id)
{
	entry->deps = pg_realloc(entry->deps, (entry->n_deps + 1) * sizeof(int));
	entry->deps[entry->n_deps++] = dump_id;
}

/* What else uses the table comes after the last INDEX ATTACH of its tree. */
static void
come_after(TocEntry *entry, int *trees, const int *last)
{
	int			n_deps = entry->n_deps;

	for (int i = 0; i < n_deps; i++)
	{
		int			attach = last[find_tree(trees, entry->deps[i])];

		if (attach != 0)
			add_dependency(entry, attach);
	}
}

void
index_attach_chain(Toc *toc)
{
	int		   *trees = pg_malloc((toc->max_dump_id + 1) * sizeof(int));
	int		   *last = pg_malloc0((toc->max_dump_id + 1) * sizeof(int));

	for (int id = 0; id <= toc->max_dump_id; id++)
		trees[id] = id;
	/* an entry depends on both indexes and on their tables */
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		for (int j = 0; toc_entry_is(entry, "INDEX ATTACH") && j < entry->n_deps; j++)
			trees[find_tree(trees, entry->deps[j])] =
				find_tree(trees, entry->dump_id);
	}
	for (int i = 0; i < toc->n_entries; i++)
	{
		TocEntry   *entry = &toc->entries[i];
		int			tree;

		if (!toc_entry_is(entry, "INDEX ATTACH"))
			continue;
		tree = find_tree(trees, entry->dump_id);
		if (last[tree] != 0)
			add_dependency(entry, last[tree]);
		last[tree] = entry->dump_id;
	}
	for (int i = 0; i < toc->n_entries; i++)
	{
		if (toc_entry_is(&toc->entries[i], "FK CONSTRAINT"))
			come_after(&toc->entries[i], trees, last);
	}
	free(last);
	free(trees);
}
