/*
 * archive_layout.c
 *		The barrier layout: several data entries a table, for stock
 *		pg_restore.
 *
 * pg_restore -j knows one data entry a table: the last TABLE DATA entry whose
 * first dependency is the TABLE (pg_backup_archiver.c:buildTocEntryArrays).
 * If it created the table in the same run it truncates the table before that
 * entry's rows, and indexes, constraints and triggers wait for that entry
 * alone.  With several plain entries that loses rows.  So the chunks of a
 * table are followed by a barrier:
 *
 *	chunk	TABLE DATA, a new dump ID, the table's own COPY, a file,
 *			depends on the TABLE.  Never truncated before: it is not the
 *			last entry of its table.
 *	barrier	TABLE DATA, the table's original dump ID, neither COPY nor
 *			file, depends on the TABLE and on every chunk.  Data that waits
 *			for the table's rows waits for the barrier.  It has no data, so
 *			it is neither truncated for nor printed.
 *
 * Two refinements:
 *
 * Priority.  Of what is ready pg_restore takes what has the largest data
 * file, and of entries after the data what waits for the largest.  A barrier
 * has no file: it is taken when no other data is left, and what waits for it
 * begins as late.  So for every split table two more IDs are used.
 *
 *	reserved ID	no entry has it.  The table's biggest chunk names it as its
 *			first dependency, which makes pg_restore take the chunk for the
 *			data entry of "table" reserved ID.  In entries after the data
 *			pg_restore replaces it by the chunk, its size included.
 *	completion	stands after the data, has neither definition nor file, and
 *			depends on every chunk, on the biggest by the reserved ID.
 *			pg_restore passes over it as soon as these are loaded.
 *
 * What depends on the TABLE after the data depends on completion and reserved
 * ID instead: on the one to wait for all chunks, on the other for its
 * priority, and for pg_restore to see what needs the same table's lock.
 *
 * Chaining.  A dump without the table's definition is restored into tables
 * that exist, often by --data-only --disable-triggers: pg_restore then
 * disables triggers before an entry and enables them after it, which must not
 * happen side by side for one table.  So each chunk depends on the one
 * before, and one table's chunks are loaded one after the other.
 *
 * Extensions' tables.  Their keys and triggers are made by CREATE EXTENSION,
 * before any row, so that rows of such a table depend, after the TABLE, on
 * those of the tables that its keys reference: on entries with the original
 * dump IDs, which of split tables are the barriers.
 *
 * IDs are dense, as they size arrays in pg_restore.
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
	int		   *reserved_id;	/* by dump ID of in: of a split table's TABLE
								 * entry, the reserved ID; else 0 */
	bool		has_completions;	/* out has them already */
} Layout;

static TocEntry *
append_entry(Layout *layout, const TocEntry *model)
{
	TocEntry   *entry = &layout->out->entries[layout->out->n_entries++];

	*entry = *model;
	return entry;
}

/* An entry like that of a table's data, without data. */
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
 * An entry's file as pg_dump names it (pg_backup_directory.c:_ArchiveEntry):
 * without the suffix of a compression.
 */
static char *
file_name(const Toc *toc, const TocEntry *entry)
{
	if (!entry->had_dumper)
		return NULL;
	if (toc_entry_is_table_data(entry))
		return archive_name_rows(entry->dump_id, COMPRESS_NONE);
	/* nothing would write its file */
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

/* Dependencies on the rows of tables that keys of this one reference. */
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
	 * First, as pg_restore takes an entry's first dependency for its table.
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

/* The completions of all split tables, before what waits for them. */
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
 * Entries after the data wait for, and take the priority of, what they need.
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
			 * The reserved IDs go behind all others, so that the first
			 * dependency stays what pg_restore takes it for.
			 */
			deps[n++] = layout->reserved_id[dep];
		}
	}
	entry->deps = deps;
	entry->n_deps = n;
}

/*
 * Which tables are split, and the IDs reserved for them and their
 * completions.
 */
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
			 * One for the biggest chunk's dependency, one for the completion.
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

	/* pg_dump's own IDs stay, as others depend on them; new ones follow */
	layout.next_id = toc->max_dump_id + 1;
	layout.out = pg_malloc(sizeof(Toc));
	*layout.out = *toc;
	layout.out->n_entries = 0;

	/*
	 * a split table has an entry a chunk, a completion, and its own as the
	 * barrier
	 */
	layout.out->entries = pg_malloc((toc->n_entries + 2 * chunks->n_files + 1) *
									sizeof(TocEntry));
	/* before any entry is made: those after the data name reserved IDs */
	survey(&layout, tables);

	/*
	 * In pg_dump's order, chunks where their table's data was: without -j,
	 * pg_restore goes by nothing else.
	 */
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (toc_entry_is_table_data(entry))
		{
			/* files are in the order of the tables, these of the entries */
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
