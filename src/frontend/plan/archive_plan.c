/*
 * archive_plan.c
 *		Makes the plan of a restore from an archive: which entries, in which
 *		pieces.
 *
 * First, the selected entries are changed into those of pg_dump's own table
 * of contents, as if no table had been split.  Then data files, jobs and
 * groups of large objects are planned, in the same structs as for a dump.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"
#include "mb/pg_wchar.h"

#include "archive/archive_member.h"
#include "archive/archive_read.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "plan/archive_layout.h"
#include "plan/archive_plan.h"

/* ----------
 * Finding the selected entries, and those with the rows of each table.
 *
 * If a table is split, archive_layout.c has created an entry for each chunk,
 * and has changed the table's own TABLE DATA entry into a barrier: an entry
 * without data that depends on the TABLE first, and then on every chunk.
 * Only the barrier shows which chunks a table has, because a chunk may depend
 * on something else than the table.  Post-data entries that depended on the
 * table depend on its completion instead, and on an ID that no entry has.
 * ----------
 */

/* An entry with rows of a table. */
typedef struct ArchivePart
{
	const TocEntry *entry;		/* entry of the archive; borrowed */
	int			data_id;		/* dump ID of the table's TABLE DATA entry in
								 * pg_dump's table of contents */
	int			chunk_no;		/* counted from 1; 0 = all rows */
	int			n_chunks;		/* all chunks of the table, selected or not; 1
								 * = not split */
} ArchivePart;

typedef struct ArchiveTables
{
	Toc		   *toc;			/* pg_dump's, with the selected entries */
	ArchivePart *parts;			/* in the order of the selected entries */
	int			n_parts;
	const TocEntry **object_lists;	/* entries of the archive with large
									 * objects */
	int			n_object_lists;
} ArchiveTables;

typedef struct Search
{
	const TocEntry **by_id;		/* entries of the archive */
	const TocEntry **barriers;	/* by dump ID of a chunk; otherwise NULL */
	int		   *chunk_nos;		/* by dump ID of a chunk, counted from 1 */
	int		   *tables;			/* by dump ID of a completion: dump ID of the
								 * table; otherwise 0 */
	bool	   *placed;			/* by dump ID: does the result contain this
								 * entry? */
	ArchiveTables *result;
} Search;

static TocEntry *
append_entry(Search *search, const TocEntry *entry)
{
	Toc		   *toc = search->result->toc;
	TocEntry   *copy = &toc->entries[toc->n_entries++];

	search->placed[entry->dump_id] = true;
	*copy = *entry;
	if (entry->section == TOC_SECTION_POST_DATA)
	{
		/* restore the dependencies in pg_dump's table of contents */
		copy->deps = pg_malloc((entry->n_deps + 1) * sizeof(int));
		for (int i = 0; i < entry->n_deps; i++)
		{
			int			id = entry->deps[i];

			copy->deps[i] = id > 0 && search->tables[id] != 0 ?
				search->tables[id] : id;
		}
	}
	return copy;
}

/*
 * Append the TABLE DATA entry that pg_dump created for the table of a chunk.
 */
static void
append_table_data(Search *search, const TocEntry *barrier, const TocEntry *chunk)
{
	TocEntry   *entry = append_entry(search, barrier);

	entry->had_dumper = true;
	entry->copy_stmt = chunk->copy_stmt;
	entry->defn = chunk->defn;
	entry->n_deps = 1;			/* only the dependency on its table */
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
append_wanted(Search *search, const int *ids, int n_ids, int max_dump_id)
{
	ArchiveTables *result = search->result;

	for (int i = 0; i < n_ids; i++)
	{
		const TocEntry *entry = ids[i] > 0 && ids[i] <= max_dump_id ?
			search->by_id[ids[i]] : NULL;

		if (entry == NULL)
		{
			pg_log_error("could not use the list written by pg_restore");
			pg_log_error_detail("Entry %d is not in the archive.", ids[i]);
			pg_fatal_hint("Check that no other program is replacing the archive, and run the same command again.");
		}
		/* a user's list may contain an entry twice */
		if (search->placed[ids[i]])
			continue;
		search->placed[ids[i]] = true;
		if (toc_entry_is_table_data(entry))
			append_part(search, entry);
		else if (!toc_entry_is_setting(entry) &&
				 !toc_entry_is(entry, "TABLE DATA"))
			append_entry(search, entry);
		if (entry->had_dumper && toc_entry_is(entry, "BLOBS"))
			*array_add(result->object_lists, result->n_object_lists) = entry;
	}
}

/*
 * Keep the entries with these dump IDs, in this order, and the settings.  If
 * pg_pardump wrote the archive, undo the changes of archive_layout.h: a split
 * table has one TABLE DATA entry again, at the place of its first selected
 * chunk.  The entries borrow from toc, which may be damaged or forged.  Never
 * freed.
 */
static ArchiveTables *
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

	/* Note which entries are chunks, and their barriers. */
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *barrier = &toc->entries[i];

		if (barrier->had_dumper || !toc_entry_is(barrier, "TABLE DATA"))
			continue;
		for (int j = 1; j < barrier->n_deps; j++)
		{
			int			id = barrier->deps[j];
			const TocEntry *chunk = id > 0 ? search.by_id[id] : NULL;

			/*
			 * A chunk of two tables would be loaded twice, and the rows of a
			 * missing chunk would be lost without a message.
			 */
			if (chunk == NULL)
				toc_damaged(psprintf("chunk %d of table \"%s\" (entry %d) is missing",
									 j, printable(barrier->tag), id));
			if (!toc_entry_is_table_data(chunk) || search.barriers[id] != NULL)
				toc_damaged(psprintf("chunk %d of table \"%s\" (entry %d) has another kind or belongs to another table",
									 j, printable(barrier->tag), id));
			search.barriers[id] = barrier;
			search.chunk_nos[id] = j;
		}
	}
	/* Note which entries are completions, and their tables. */
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (!toc_entry_is(entry, ARCHIVE_COMPLETION_DESC))
			continue;

		/*
		 * the largest chunk is named by the reserved ID, which no entry has
		 */
		for (int j = 0; j < entry->n_deps; j++)
		{
			const TocEntry *barrier = entry->deps[j] > 0 ?
				search.barriers[entry->deps[j]] : NULL;

			if (barrier)
				search.tables[entry->dump_id] = toc_table_dump_id(barrier);
		}
	}
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is_setting(&toc->entries[i]))
			append_entry(&search, &toc->entries[i]);
	append_wanted(&search, ids, n_ids, toc->max_dump_id);
	return result;
}

/* ----------
 * Making the plan.
 * ----------
 */

/*
 * Returns the manifest's entry for the rows of an entry, or NULL.  The file
 * name in the table of contents has no suffix.
 */
static const ManifestFile *
find_rows(const Archive *archive, const TocEntry *entry)
{
	const ManifestFile *file = archive->manifest && entry->filename ?
		manifest_find(archive->manifest, entry->filename) : NULL;

	return file && file->kind == MANIFEST_ROWS ? file : NULL;
}

/* ----------
 * Rows
 * ----------
 */

/*
 * Returns the number of each table, by the dump ID of its TABLE DATA entry.
 */
static int *
number_tables(const DumpTables *tables, int max_dump_id)
{
	int		   *result = pg_malloc((max_dump_id + 1) * sizeof(int));

	for (int i = 0; i <= max_dump_id; i++)
		result[i] = -1;
	for (int i = 0; i < tables->n_tables; i++)
		result[tables->tables[i].entry->dump_id] = i;
	return result;
}

static void
set_file(DataFile *file, ArchiveRows *rows, int table, const ArchivePart *part,
		 const Archive *archive)
{
	rows->entry = part->entry;
	rows->want = find_rows(archive, part->entry);
	file->table = table;
	file->chunk_no = part->chunk_no;
	file->n_chunks = part->n_chunks;
	file->end_block = InvalidBlockNumber;
	file->dump_id = part->entry->dump_id;
	if (rows->want)
	{
		file->start_block = (BlockNumber) rows->want->start_block;
		if (rows->want->end_block != MANIFEST_NO_END)
			file->end_block = (BlockNumber) rows->want->end_block;
		file->est_bytes = rows->want->raw_bytes;
	}
	else
		file->est_bytes =
			archive->stored_bytes[part->entry - archive->toc->entries];
}

/*
 * From this length of a row on, the server stores values of it out of line.
 */
#define LONG_ROW_BYTES 2000

/*
 * The files of a table must be neighbors, so count the files of each table
 * first.
 */
static ChunkPlan *
plan_rows(const Archive *archive, const ArchiveTables *found, DumpTables *tables,
		  ArchiveRows *rows)
{
	ChunkPlan  *chunks = pg_malloc0(sizeof(ChunkPlan));
	int		   *table_of = number_tables(tables, found->toc->max_dump_id);
	int			next = 0;

	chunks->n_files = found->n_parts;
	chunks->files = pg_malloc0((found->n_parts + 1) * sizeof(DataFile));
	chunks->tables = pg_malloc0((tables->n_tables + 1) * sizeof(TablePlan));
	for (int i = 0; i < found->n_parts; i++)
		chunks->tables[table_of[found->parts[i].data_id]].n_files++;
	for (int i = 0; i < tables->n_tables; i++)
	{
		chunks->tables[i].first_file = next;
		next += chunks->tables[i].n_files;
		/* counted again below, when each file gets its place */
		chunks->tables[i].n_files = 0;
	}
	for (int i = 0; i < found->n_parts; i++)
	{
		int			table = table_of[found->parts[i].data_id];
		TablePlan  *decided = &chunks->tables[table];
		int			no = decided->first_file + decided->n_files++;

		set_file(&chunks->files[no], &rows[no], table, &found->parts[i],
				 archive);
		tables->tables[table].total_bytes += chunks->files[no].est_bytes;

		/*
		 * short rows are probably in the heap; of other rows, this is unknown
		 */
		if (rows[no].want &&
			rows[no].want->raw_bytes <= rows[no].want->rows * LONG_ROW_BYTES)
			tables->tables[table].heap_bytes += chunks->files[no].est_bytes;
		if (rows[no].want)
			tables->tables[table].est_rows += rows[no].want->rows;
		chunks->total_bytes += chunks->files[no].est_bytes;
	}
	return chunks;
}

/* Read this many bytes of rows to estimate the compression ratio. */
#define SAMPLE_BYTES (4 * 1024 * 1024)

/*
 * Estimate the bytes of rows for each stored byte of a file from its first 4
 * MB.  If the file cannot be read, return 1: the worker that loads it reports
 * the error.
 */
static double
rows_ratio(const Archive *archive, const TocEntry *entry)
{
	char	   *problem = NULL;
	ArchiveMember *member = archive_member_open(archive, entry, &problem);
	char	   *buffer = pg_malloc(SAMPLE_BYTES);
	uint64		raw = 0;
	uint64		stored = 0;
	ssize_t		len;

	while (member && raw < SAMPLE_BYTES &&
		   (len = archive_member_read(member, buffer, SAMPLE_BYTES - raw)) > 0)
		raw += len;
	if (member)
	{
		stored = archive_member_stored_bytes(member);
		archive_member_close(member);
	}
	return raw > 0 && stored > 0 ? (double) raw / stored : 1;
}

static int
archive_plan_compare_sizes(const void *a, const void *b)
{
	uint64		s1 = *(const uint64 *) a;
	uint64		s2 = *(const uint64 *) b;

	return s1 > s2 ? -1 : s1 < s2;
}

uint64
archive_plan_piece_bytes(const Options *options)
{
	return options->chunk_bytes != 0 ?
		options->chunk_bytes : ARCHIVE_PIECE_BYTES;
}

/*
 * Returns the size of the file with this number, counted from 1, in the order
 * of sizes, the largest first.  Only files without a manifest that contain a
 * whole table count.  Returns 0 if there are fewer files.
 */
static uint64
nth_size(const ChunkPlan *chunks, const ArchiveRows *rows, int number)
{
	uint64	   *sizes = pg_malloc0((chunks->n_files + number) * sizeof(uint64));

	for (int i = 0; i < chunks->n_files; i++)
		if (rows[i].want == NULL && chunks->files[i].n_chunks == 1)
			sizes[i] = chunks->files[i].est_bytes;
	qsort(sizes, chunks->n_files, sizeof(uint64), archive_plan_compare_sizes);
	/* the array ends with zeros for missing files */
	return sizes[number - 1];
}

/*
 * Returns for each file the number of jobs that share it, or 0.  Files in a
 * manifest are not shared, because the dump has already split tables where
 * this is useful.  Which files are shared must not depend on the number of
 * workers, because a resumed run may have another one.
 */
static int *
plan_shares(const ChunkPlan *chunks, const ArchiveRows *rows,
			const Options *options)
{
	uint64		piece = archive_plan_piece_bytes(options);
	uint64		least = nth_size(chunks, rows, ARCHIVE_SHARED_TABLES);
	int		   *shares = pg_malloc((chunks->n_files + 1) * sizeof(int));

	for (int i = 0; i < chunks->n_files; i++)
		shares[i] = rows[i].want == NULL && chunks->files[i].n_chunks == 1 &&
			chunks->files[i].est_bytes > Max(piece, least) ? options->jobs : 0;
	return shares;
}

/* ----------
 * Large objects
 * ----------
 */

pg_noreturn static void
damaged_list(const TocEntry *entry, const char *problem)
{
	pg_log_error("%s", archive_objects_unread(entry));
	pg_log_error_detail("%s", message_sentence(problem));
	pg_fatal_hint(ARCHIVE_COPY_HINT);
}

/*
 * Read the list of large objects of an entry once, and add its groups.
 * Returns the error, owned, or NULL.  *opened is false if the list cannot be
 * opened.
 */
static char *
read_list(const Archive *archive, const TocEntry **by_id,
		  const TocEntry *entry, ArchivePlan *result, int *n_groups,
		  LargeObjectList *list, bool *opened)
{
	char	   *problem;
	ArchiveObjects *objects = archive_objects_open(archive, entry, &problem);
	Oid			oid;

	*opened = objects != NULL;
	if (objects == NULL)
		return problem;
	while (archive_objects_next(objects, &oid))
	{
		if (list->n_oids % LARGE_OBJECT_GROUP == 0)
		{
			ArchiveGroup *group = array_add(result->groups, *n_groups);

			group->entry = entry;
			group->position = archive_objects_position(objects);
		}
		*array_add(list->oids, list->n_oids) = oid;
	}
	problem = archive_objects_error(objects);
	archive_objects_close(objects);
	if (problem == NULL && archive->commands && archive->manifest == NULL)
		problem = archive_objects_check_list(archive, by_id, entry, list->oids,
											 list->n_oids);
	return problem;
}

static LargeObjectList
list_objects(const Archive *archive, const TocEntry **by_id,
			 const TocEntry *entry, ArchivePlan *result, int *n_groups)
{
	LargeObjectList list = {.filename = entry->filename};
	Retry		retry = {0};
	int			n_before = *n_groups;
	char	   *problem;
	bool		opened;

	while ((problem = read_list(archive, by_id, entry, result, n_groups, &list,
								&opened)) != NULL)
	{
		/* A command was run only if the list was opened. */
		if (archive->commands == NULL || !opened)
			damaged_list(entry, problem);
		if (!archive_read_again(archive, &retry, problem))
			archive_read_failed(archive, &retry, archive_objects_unread(entry),
								problem);
		list.n_oids = 0;
		*n_groups = n_before;
	}
	return list;
}

/*
 * Returns the size in the manifest, or the stored size of the entry's data.
 */
static uint64
estimate_objects(const Archive *archive, const TocEntry *entry)
{
	const Manifest *manifest = archive->manifest;
	uint64		bytes = 0;

	if (manifest == NULL)
		return archive->stored_bytes[entry - archive->toc->entries];
	for (int i = 0; i < manifest->n_files; i++)
		if (manifest->files[i].kind == MANIFEST_LARGE_OBJECT)
			bytes += manifest->files[i].raw_bytes;
	return bytes;
}

static LargeObjects *
plan_objects(const Archive *archive, const TocEntry *const *entries, int n,
			 ArchivePlan *result)
{
	LargeObjectList *lists = pg_malloc((n + 1) * sizeof(LargeObjectList));
	const TocEntry **by_id = toc_entries_by_id(archive->toc);
	LargeObjects *objects;
	uint64		bytes = 0;
	int			n_groups = 0;

	for (int i = 0; i < n; i++)
	{
		lists[i] = list_objects(archive, by_id, entries[i], result, &n_groups);
		bytes = Max(bytes, estimate_objects(archive, entries[i]));
	}
	free(by_id);
	objects = large_objects_of_lists(lists, n);
	objects->est_bytes = bytes;
	return objects;
}

ArchivePlan *
archive_plan_make(const Archive *archive, const int *ids, int n_ids,
				  const Options *options)
{
	ArchivePlan *result = pg_malloc0(sizeof(ArchivePlan));
	DumpPlan   *plan = &result->plan;
	DumpOrigin *origin = pg_malloc0(sizeof(DumpOrigin));
	ArchiveTables *found = archive_tables_find(archive->toc, ids, n_ids);
	DumpTables *tables;
	JobRules	rules = {NULL};

	plan->encoding = archive->encoding;
	/* names are quoted before a session exists */
	setFmtEncoding(pg_char_to_encoding(plan->encoding));
	plan->pg_dump_toc = plan->toc = found->toc;
	plan->tables = tables = dump_tables_of_toc(found->toc);

	/*
	 * The archive does not contain the kind of a relation, and it does not
	 * matter for loading rows.  If a foreign table does not accept rows, the
	 * server reports an error.
	 */
	for (int i = 0; i < tables->n_tables; i++)
		tables->tables[i].relkind = RELKIND_RELATION;
	result->rows = pg_malloc0((found->n_parts + 1) * sizeof(ArchiveRows));
	plan->chunks = plan_rows(archive, found, tables, result->rows);
	plan->objects = plan_objects(archive, found->object_lists,
								 found->n_object_lists, result);
	rules.shares = result->shares =
		plan_shares(plan->chunks, result->rows, options);

	/*
	 * If one job loaded two partitions through their root, two COPY commands
	 * would lock and write the same table.
	 */
	rules.targets = tables;
	rules.builds = dump_tables_count_builds(tables, found->toc);

	/*
	 * If commands return the files, and there is no manifest, the sizes of
	 * files are unknown.
	 */
	rules.apart = result->apart = archive->commands && archive->manifest == NULL;
	plan->queue = job_queue_make(plan->chunks, plan->objects, &rules);
	origin->server_version = archive->toc->server_version;
	origin->database = archive->toc->dbname;
	origin->start_us = run_clock_start_us();
	plan->origin = origin;
	return result;
}

void
archive_plan_expect_rows(ArchivePlan *plan, const Archive *archive)
{
	const ChunkPlan *chunks = plan->plan.chunks;
	uint64		least = nth_size(chunks, plan->rows, ARCHIVE_SHARED_TABLES);
	double		stored = 0;
	double		raw = 0;

	/* run a command for a file only once, in the worker that loads it */
	if (archive->commands)
		return;

	/*
	 * first the largest files; then the others, with the ratio of all of
	 * these
	 */
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < chunks->n_files; i++)
		{
			DataFile   *file = &chunks->files[i];
			double		ratio = stored > 0 ? raw / stored : 1;

			if (plan->rows[i].want || (file->est_bytes > least) != (pass == 0))
				continue;
			if (pass == 0)
			{
				ratio = rows_ratio(archive, plan->rows[i].entry);
				stored += file->est_bytes;
				raw += file->est_bytes * ratio;
			}
			file->est_bytes = (uint64) (file->est_bytes * ratio);
		}
}

void
archive_plan_refuse_parts(const ArchivePlan *plan, const char *hint)
{
	for (int i = 0; i < plan->plan.chunks->n_files; i++)
	{
		const ManifestFile *file = plan->rows[i].want;

		if (file && (file->where || file->sample || file->masks))
		{
			pg_log_error(file->masks ?
						 "option --compare-with cannot be used: columns of table %s are masked in the archive" :
						 "option --compare-with cannot be used: the archive contains only some rows of table %s",
						 printable(plan->plan.tables->tables[plan->plan.chunks->files[i].table].name));
			pg_fatal_hint("%s", hint);
		}
	}
}
