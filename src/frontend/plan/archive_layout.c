/*
 * archive_layout.c
 *		The barrier layout: several data entries for a table, which stock
 *		pg_restore can restore.
 *
 * pg_restore -j assumes one data entry for each table: the last TABLE DATA
 * entry whose first dependency is the TABLE
 * (pg_backup_archiver.c:buildTocEntryArrays).  If pg_restore created the
 * table in the same run, it truncates the table before it loads the rows of
 * that entry, and indexes, constraints and triggers wait for that entry only.
 * With several plain entries, rows would be lost.  So the chunks of a table
 * are followed by a barrier:
 *
 *	chunk	TABLE DATA with a new dump ID, the table's own COPY and a file;
 *			depends on the TABLE.  pg_restore does not truncate before it,
 *			because it is not the last entry of its table.
 *	barrier	TABLE DATA with the table's original dump ID, without COPY and
 *			file; depends on the TABLE and on every chunk.  Data that waits
 *			for the table's rows waits for the barrier.  It has no data, so
 *			pg_restore neither truncates the table nor prints anything.
 *
 * There are some refinements:
 *
 * Priority.  Of all entries that are ready, pg_restore restores the one with
 * the largest data file first; of entries after the data, the one that waits
 * for the largest file.  A barrier has no file.  So it would be restored
 * after all other data, and entries that wait for it would begin as late.
 * Therefore each split table uses two more IDs:
 *
 *	reserved ID	no entry has it.  The table's biggest chunk names it as its
 *			first dependency, so pg_restore treats the chunk as the data
 *			entry of a "table" with the reserved ID.  In entries after the
 *			data pg_restore replaces it by the chunk, including its size.
 *	completion	comes after the data, has neither definition nor file, and
 *			depends on every chunk, on the biggest one through the reserved
 *			ID.  pg_restore skips it as soon as the chunks are loaded.
 *
 * Entries after the data that depend on the TABLE depend on the completion
 * and on the reserved ID instead: on the first to wait for all chunks, on the
 * second for its priority, and so that pg_restore sees which entries need a
 * lock on the same table.
 *
 * Chaining.  A dump without the table's definition is restored into existing
 * tables, often with --data-only --disable-triggers.  Then pg_restore
 * disables triggers before an entry and enables them after it, which must not
 * happen concurrently for one table.  So each chunk depends on the previous
 * one, and the chunks of a table are loaded one after the other.
 *
 * Tables of extensions.  CREATE EXTENSION creates their keys and triggers
 * before any row.  So the rows of such a table depend, after the TABLE, on
 * the rows of the tables that its keys reference: on the entries with the
 * original dump IDs, which are the barriers of split tables.
 *
 * IDs must be dense, because they determine the size of arrays in pg_restore.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "plan/archive_layout.h"

typedef struct Layout
{
	const Toc  *in;
	const DumpTables *tables;
	Toc		   *out;
	ChunkPlan  *chunks;
	int			next_id;
	const TocEntry **by_id;		/* entries of in */
	int		   *reserved_id;	/* by dump ID of in: for the TABLE entry of a
								 * split table, the reserved ID; else 0 */
	bool		has_completions;	/* out contains them already */
} Layout;

static TocEntry *
append_entry(Layout *layout, const TocEntry *model)
{
	TocEntry   *entry = &layout->out->entries[layout->out->n_entries++];

	*entry = *model;
	return entry;
}

/* Append an entry like that of a table's data, without data. */
static TocEntry *
append_empty(Layout *layout, const TocEntry *data_entry, int n_deps)
{
	TocEntry   *entry = append_entry(layout, data_entry);

	entry->had_dumper = false;
	entry->defn = NULL;
	entry->copy_stmt = NULL;
	entry->filename = NULL;
	entry->n_deps = n_deps;
	entry->deps = pg_malloc(n_deps * sizeof(int));
	return entry;
}

/*
 * The name of an entry's file as pg_dump chooses it (pg_backup_directory.c:
 * _ArchiveEntry), without the suffix of the compression.
 */
static char *
file_name(const Toc *toc, const TocEntry *entry)
{
	if (!entry->had_dumper)
		return NULL;
	if (toc_entry_is_table_data(entry))
		return archive_name_rows(entry->dump_id, COMPRESS_NONE);
	/* No part of this program would write the file of such an entry. */
	if (!toc_entry_is(entry, "BLOBS"))
		toc_reject_pg_dump(psprintf("It contains data of an unknown kind: \"%s\".",
									printable(entry->desc)));
	return archive_name_object_list(toc->minor, entry->dump_id);
}

static const DataFile *
biggest_chunk(const DataFile *files, int n_files)
{
	const DataFile *result = files;

	for (int i = 1; i < n_files; i++)
		if (files[i].est_bytes > result->est_bytes)
			result = &files[i];
	return result;
}

/*
 * Append dependencies on the rows of the tables that keys of this one
 * reference.
 */
static void
append_referenced(const Layout *layout, TocEntry *entry, int table)
{
	const DumpTable *dumped = &layout->tables->tables[table];
	int		   *deps;

	if (dumped->n_referenced == 0)
		return;
	deps = pg_malloc((entry->n_deps + dumped->n_referenced) * sizeof(int));
	memcpy(deps, entry->deps, entry->n_deps * sizeof(int));
	for (int i = 0; i < dumped->n_referenced; i++)
		deps[entry->n_deps++] =
			layout->tables->tables[dumped->referenced[i]].entry->dump_id;
	entry->deps = deps;
}

static void
append_split_table(Layout *layout, const TocEntry *data_entry,
				   DataFile *files, int n_files)
{
	int			table_id = toc_table_dump_id(data_entry);
	bool		table_is_in_archive = layout->by_id[table_id] != NULL;
	const DataFile *biggest = biggest_chunk(files, n_files);
	TocEntry   *barrier;

	for (int i = 0; i < n_files; i++)
	{
		TocEntry   *chunk = append_entry(layout, data_entry);

		files[i].dump_id = layout->next_id++;
		chunk->dump_id = files[i].dump_id;
		chunk->deps = pg_malloc(2 * sizeof(int));
		chunk->n_deps = 0;

		/*
		 * The two refinements exclude each other: priority needs the TABLE in
		 * the archive, and chaining is for archives without it.
		 */
		if (!table_is_in_archive && i > 0)
			chunk->deps[chunk->n_deps++] = files[i - 1].dump_id;
		else if (table_is_in_archive && &files[i] == biggest)
			chunk->deps[chunk->n_deps++] = layout->reserved_id[table_id];
		chunk->deps[chunk->n_deps++] = table_id;
		chunk->filename = file_name(layout->out, chunk);
		append_referenced(layout, chunk, files[i].table);
	}
	barrier = append_empty(layout, data_entry, n_files + 1);

	/*
	 * It comes first, because pg_restore considers an entry's first
	 * dependency its table.
	 */
	barrier->deps[0] = toc_table_dump_id(data_entry);
	for (int i = 0; i < n_files; i++)
		barrier->deps[i + 1] = files[i].dump_id;
}

static int
completion_id(const Layout *layout, int table_id)
{
	return layout->reserved_id[table_id] + 1;
}

static void
append_completion(Layout *layout, const TocEntry *data_entry,
				  const DataFile *files, int n_files)
{
	TocEntry   *completion = append_empty(layout, data_entry, n_files);
	int			table_id = toc_table_dump_id(data_entry);
	const DataFile *biggest = biggest_chunk(files, n_files);

	completion->dump_id = completion_id(layout, table_id);
	completion->desc = ARCHIVE_COMPLETION_DESC;
	completion->section = TOC_SECTION_POST_DATA;
	for (int i = 0; i < n_files; i++)
		completion->deps[i] = &files[i] == biggest ?
			layout->reserved_id[table_id] : files[i].dump_id;
}

/*
 * Append the completions of all split tables, before the entries that wait
 * for them.
 */
static void
append_completions(Layout *layout, const DumpTables *tables)
{
	const ChunkPlan *chunks = layout->chunks;

	for (int i = 0; i < chunks->n_files; i += chunks->files[i].n_chunks)
	{
		const DataFile *files = &chunks->files[i];
		const TocEntry *data_entry = tables->tables[files->table].entry;

		if (files->n_chunks > 1 &&
			layout->reserved_id[toc_table_dump_id(data_entry)] != 0)
			append_completion(layout, data_entry, files, files->n_chunks);
	}
}

/*
 * Append an entry after the data, which waits for the entries that it needs,
 * and gets their priority.
 */
static void
append_post_data(Layout *layout, const TocEntry *model)
{
	TocEntry   *entry = append_entry(layout, model);
	int			n = model->n_deps;
	int		   *deps = pg_malloc(Max(1, 2 * n) * sizeof(int));

	for (int i = 0; i < model->n_deps; i++)
	{
		int			dep = model->deps[i];

		deps[i] = dep;
		if (dep > 0 && layout->reserved_id[dep] != 0)
		{
			deps[i] = completion_id(layout, dep);

			/*
			 * Reserved IDs come after all others, because the first
			 * dependency has a meaning for pg_restore.
			 */
			deps[n++] = layout->reserved_id[dep];
		}
	}
	entry->deps = deps;
	entry->n_deps = n;
}

/* Find the split tables, and reserve IDs for them and their completions. */
static void
survey(Layout *layout, const DumpTables *tables)
{
	const Toc  *in = layout->in;

	layout->by_id = toc_entries_by_id(in);
	layout->reserved_id = pg_malloc0((in->max_dump_id + 1) * sizeof(int));
	for (int i = 0; i < layout->chunks->n_files; i++)
	{
		const DataFile *file = &layout->chunks->files[i];
		int			table_id;

		if (file->chunk_no != 1)
			continue;
		table_id = toc_table_dump_id(tables->tables[file->table].entry);
		if (layout->by_id[table_id])
		{
			layout->reserved_id[table_id] = layout->next_id;

			/*
			 * One ID for the dependency of the biggest chunk, and one for the
			 * completion.
			 */
			layout->next_id += 2;
		}
	}
}

Toc *
archive_layout_make(const Toc *toc, const DumpTables *tables,
					ChunkPlan *chunks)
{
	Layout		layout = {.in = toc,.tables = tables,.chunks = chunks};
	DataFile   *file = chunks->files;

	/*
	 * pg_dump's IDs stay, because other entries depend on them; new ones
	 * follow.
	 */
	layout.next_id = toc->max_dump_id + 1;
	layout.out = pg_malloc(sizeof(Toc));
	*layout.out = *toc;
	layout.out->n_entries = 0;

	/*
	 * A split table has an entry for each chunk, a completion, and its own
	 * entry as the barrier.
	 */
	layout.out->entries = pg_malloc((toc->n_entries + 2 * chunks->n_files + 1) *
									sizeof(TocEntry));

	/*
	 * This comes before all entries, because those after the data name
	 * reserved IDs.
	 */
	survey(&layout, tables);

	/*
	 * Keep pg_dump's order, with chunks at the position of their table's
	 * data: without -j, pg_restore uses only this order.
	 */
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (toc_entry_is_table_data(entry))
		{
			/*
			 * Files are in the order of tables, but this loop is in the order
			 * of entries.
			 */
			int			n_files = file->n_chunks;

			Assert(tables->tables[file->table].entry == entry);
			if (n_files > 1)
				append_split_table(&layout, entry, file, n_files);
			else
			{
				TocEntry   *whole = append_entry(&layout, entry);

				file->dump_id = entry->dump_id;
				whole->filename = file_name(toc, entry);
				append_referenced(&layout, whole, file->table);
			}
			file += n_files;
		}
		else if (entry->section == TOC_SECTION_POST_DATA)
		{
			if (!layout.has_completions)
				append_completions(&layout, tables);
			layout.has_completions = true;
			append_post_data(&layout, entry);
		}
		else
			append_entry(&layout, entry)->filename = file_name(toc, entry);
	}
	layout.out->max_dump_id = layout.next_id - 1;
	return layout.out;
}
