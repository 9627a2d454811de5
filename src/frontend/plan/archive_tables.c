/*
 * archive_tables.c
 *		Finds the entries that are wanted, and those of each table's rows.
 *
 * Where a table is in chunks, archive_layout.c has made an entry of each, and
 * the table's own TABLE DATA entry a barrier: without data, and depending on
 * the TABLE first, then on every chunk.  So the barrier alone tells which
 * chunks a table has; what a chunk depends on may be something else than the
 * table.  What depends on the table after the data depends on its completion
 * instead, and on an ID that no entry has.
 */
#include "base/fe_compat.h"

#include "base/message.h"
#include "plan/archive_layout.h"
#include "plan/archive_tables.h"

typedef struct Search
{
	const TocEntry **by_id;		/* entries of the archive */
	const TocEntry **barriers;	/* by dump ID of a chunk, else NULL */
	int		   *chunk_nos;		/* by dump ID of a chunk, from 1 */
	int		   *tables;			/* by dump ID of a completion: the table, else
								 * 0 */
	bool	   *placed;			/* by dump ID: has the result this entry? */
	ArchiveTables *result;
} Search;

static bool
is_setting(const TocEntry *entry)
{
	return toc_entry_is(entry, "ENCODING") ||
		toc_entry_is(entry, "STDSTRINGS") ||
		toc_entry_is(entry, "SEARCHPATH");
}

/* Note which entries are chunks, of what. */
static void
find_chunks(Search *search, const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *barrier = &toc->entries[i];

		if (barrier->had_dumper || !toc_entry_is(barrier, "TABLE DATA"))
			continue;
		for (int j = 1; j < barrier->n_deps; j++)
		{
			int			id = barrier->deps[j];
			const TocEntry *chunk = id > 0 ? search->by_id[id] : NULL;

			if (chunk == NULL || !toc_entry_is_table_data(chunk) ||
				search->barriers[id] != NULL)
				pg_fatal("the archive's table of contents is damaged: the data of table \"%s\" has no chunk %d",
						 printable(barrier->tag), id);
			search->barriers[id] = barrier;
			search->chunk_nos[id] = j;
		}
	}
}

/* Note which entries are completions, of which tables. */
static void
find_completions(Search *search, const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (!toc_entry_is(entry, ARCHIVE_COMPLETION_DESC))
			continue;
		/* one of the chunks is not named, but the ID that no entry has */
		for (int j = 0; j < entry->n_deps; j++)
		{
			const TocEntry *barrier = entry->deps[j] > 0 ?
				search->barriers[entry->deps[j]] : NULL;

			if (barrier)
				search->tables[entry->dump_id] = toc_table_dump_id(barrier);
		}
	}
}

/* What it depends on in pg_dump's table of contents. */
static void
restore_dependencies(const Search *search, TocEntry *entry)
{
	int		   *deps = pg_malloc((entry->n_deps + 1) * sizeof(int));

	for (int i = 0; i < entry->n_deps; i++)
	{
		int			id = entry->deps[i];

		deps[i] = id > 0 && search->tables[id] != 0 ? search->tables[id] : id;
	}
	entry->deps = deps;
}

static TocEntry *
append_entry(Search *search, const TocEntry *entry)
{
	Toc		   *toc = search->result->toc;

	search->placed[entry->dump_id] = true;
	toc->entries[toc->n_entries] = *entry;
	if (entry->section == TOC_SECTION_POST_DATA)
		restore_dependencies(search, &toc->entries[toc->n_entries]);
	return &toc->entries[toc->n_entries++];
}

/* What pg_dump had in the place of a chunk. */
static void
append_table_data(Search *search, const TocEntry *barrier, const TocEntry *chunk)
{
	TocEntry   *entry = append_entry(search, barrier);

	entry->had_dumper = true;
	entry->copy_stmt = chunk->copy_stmt;
	entry->defn = chunk->defn;
	entry->n_deps = 1;			/* its table */
}

static void
append_part(Search *search, const TocEntry *entry)
{
	ArchiveTables *tables = search->result;
	ArchivePart *part = &tables->parts[tables->n_parts++];
	const TocEntry *barrier = search->barriers[entry->dump_id];

	part->entry = entry;
	part->data_id = barrier ? barrier->dump_id : entry->dump_id;
	part->chunk_no = barrier ? search->chunk_nos[entry->dump_id] : 0;
	part->n_chunks = barrier ? barrier->n_deps - 1 : 1;
	if (barrier == NULL)
		append_entry(search, entry);
	else if (!search->placed[barrier->dump_id])
		append_table_data(search, barrier, entry);
}

static void
append_object_list(ArchiveTables *tables, const TocEntry *entry)
{
	tables->object_lists = pg_realloc(tables->object_lists,
									  (tables->n_object_lists + 1) *
									  sizeof(TocEntry *));
	tables->object_lists[tables->n_object_lists++] = entry;
}

static void
append_wanted(Search *search, const int *ids, int n_ids, int max_dump_id)
{
	for (int i = 0; i < n_ids; i++)
	{
		const TocEntry *entry = ids[i] > 0 && ids[i] <= max_dump_id ?
			search->by_id[ids[i]] : NULL;

		if (entry == NULL)
			pg_fatal("pg_restore lists entry %d, which the archive does not have",
					 ids[i]);
		/* a list of the user's may name one twice */
		if (search->placed[ids[i]])
			continue;
		search->placed[ids[i]] = true;
		if (toc_entry_is_table_data(entry))
			append_part(search, entry);
		else if (!is_setting(entry) && !toc_entry_is(entry, "TABLE DATA"))
			append_entry(search, entry);
		if (entry->had_dumper && toc_entry_is(entry, "BLOBS"))
			append_object_list(search->result, entry);
	}
}

ArchiveTables *
archive_tables_find(const Toc *toc, const int *ids, int n_ids)
{
	Search		search = {.by_id = toc_entries_by_id(toc)};
	ArchiveTables *result = pg_malloc0(sizeof(ArchiveTables));

	search.barriers = pg_malloc0((toc->max_dump_id + 1) * sizeof(TocEntry *));
	search.chunk_nos = pg_malloc0((toc->max_dump_id + 1) * sizeof(int));
	search.tables = pg_malloc0((toc->max_dump_id + 1) * sizeof(int));
	search.placed = pg_malloc0((toc->max_dump_id + 1) * sizeof(bool));
	search.result = result;
	result->parts = pg_malloc((n_ids + 1) * sizeof(ArchivePart));
	result->toc = pg_malloc(sizeof(Toc));
	*result->toc = *toc;
	result->toc->n_entries = 0;
	result->toc->entries = pg_malloc((toc->n_entries + 1) * sizeof(TocEntry));

	find_chunks(&search, toc);
	find_completions(&search, toc);
	for (int i = 0; i < toc->n_entries; i++)
		if (is_setting(&toc->entries[i]))
			append_entry(&search, &toc->entries[i]);
	append_wanted(&search, ids, n_ids, toc->max_dump_id);
	free(search.by_id);
	free(search.barriers);
	free(search.chunk_nos);
	free(search.tables);
	free(search.placed);
	return result;
}
