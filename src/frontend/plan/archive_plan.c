/*
 * archive_plan.c
 *		Makes a plan of an archive: what is restored, in which pieces.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"
#include "mb/pg_wchar.h"

#include "archive/archive_member.h"
#include "archive/archive_name.h"
#include "base/clock.h"
#include "base/message.h"
#include "plan/archive_plan.h"
#include "plan/archive_tables.h"

/* A manifest's files of rows, to be found by their names. */
typedef struct ManifestIndex
{
	const ManifestFile **files; /* in the order of their paths */
	int			n_files;
} ManifestIndex;

static int
compare_paths(const void *a, const void *b)
{
	const ManifestFile *f1 = *(const ManifestFile *const *) a;
	const ManifestFile *f2 = *(const ManifestFile *const *) b;

	return strcmp(f1->path, f2->path);
}

static ManifestIndex
index_manifest(const Manifest *manifest)
{
	ManifestIndex index = {NULL};
	int			n = manifest ? manifest->n_files : 0;

	index.files = pg_malloc((n + 1) * sizeof(ManifestFile *));
	for (int i = 0; i < n; i++)
		if (manifest->files[i].kind == MANIFEST_ROWS)
			index.files[index.n_files++] = &manifest->files[i];
	qsort(index.files, index.n_files, sizeof(ManifestFile *), compare_paths);
	return index;
}

/* By the entry's name of it, which has no suffix; NULL if there is none. */
static const ManifestFile *
find_file(const ManifestIndex *index, const char *name)
{
	for (int i = COMPRESS_NONE; name && i <= COMPRESS_ZSTD; i++)
	{
		ManifestFile key = {.path = archive_name_compressed(name, i)};
		const ManifestFile *pointer = &key;
		const ManifestFile **found = bsearch(&pointer, index->files,
											 index->n_files,
											 sizeof(ManifestFile *),
											 compare_paths);

		free(key.path);
		if (found)
			return *found;
	}
	return NULL;
}

/* ----------
 * Rows
 * ----------
 */

/* Which table each part is of, by the dump ID of its TABLE DATA entry. */
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
		 const ManifestIndex *index, const Archive *archive)
{
	rows->entry = part->entry;
	rows->want = find_file(index, part->entry->filename);
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

/* Tables' files are to be neighbours, so those of each table are counted. */
static ChunkPlan *
plan_rows(const Archive *archive, const ArchiveTables *found, DumpTables *tables,
		  ArchiveRows *rows)
{
	ManifestIndex index = index_manifest(archive->manifest);
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
		chunks->tables[i].n_files = 0;
	}
	for (int i = 0; i < found->n_parts; i++)
	{
		int			table = table_of[found->parts[i].data_id];
		TablePlan  *decided = &chunks->tables[table];
		int			no = decided->first_file + decided->n_files++;

		set_file(&chunks->files[no], &rows[no], table, &found->parts[i], &index,
				 archive);
		tables->tables[table].total_bytes += chunks->files[no].est_bytes;
		chunks->total_bytes += chunks->files[no].est_bytes;
	}
	free(table_of);
	free(index.files);
	return chunks;
}

static int
compare_sizes(const void *a, const void *b)
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
 * How many jobs each file is shared by, 0 if it is not.  Of a file with a
 * manifest the dump has decided into what it was worth to cut it.  Which are
 * shared must not depend on the number of workers, as a run that is resumed
 * may have had another one.
 */
static int *
plan_shares(const ChunkPlan *chunks, const ArchiveRows *rows,
			const Options *options)
{
	uint64		piece = archive_plan_piece_bytes(options);
	uint64	   *sizes = pg_malloc0((chunks->n_files + ARCHIVE_SHARED_TABLES) *
								   sizeof(uint64));
	int		   *shares = pg_malloc((chunks->n_files + 1) * sizeof(int));
	uint64		least;

	for (int i = 0; i < chunks->n_files; i++)
		if (rows[i].want == NULL && chunks->files[i].n_chunks == 1)
			sizes[i] = chunks->files[i].est_bytes;
	for (int i = 0; i < chunks->n_files; i++)
		shares[i] = sizes[i] > piece ? options->jobs : 0;
	qsort(sizes, chunks->n_files, sizeof(uint64), compare_sizes);
	least = sizes[ARCHIVE_SHARED_TABLES - 1];
	for (int i = 0; i < chunks->n_files; i++)
		if (chunks->files[i].est_bytes <= least)
			shares[i] = 0;
	free(sizes);
	return shares;
}

/* ----------
 * Large objects
 * ----------
 */

/* Those of an entry, in its order; adds its groups. */
static LargeObjectList
list_objects(const Archive *archive, const TocEntry *entry, ArchivePlan *result,
			 int *n_groups)
{
	LargeObjectList list = {.filename = entry->filename};
	char	   *problem;
	ArchiveObjects *objects = archive_objects_open(archive, entry, &problem);
	int			space = 0;
	Oid			oid;

	if (objects == NULL)
		pg_fatal("could not read the list of large objects: %s", problem);
	while (archive_objects_next(objects, &oid))
	{
		if (list.n_oids % LARGE_OBJECT_GROUP == 0)
		{
			result->groups = pg_realloc(result->groups, (*n_groups + 1) *
										sizeof(ArchiveGroup));
			result->groups[*n_groups].entry = entry;
			result->groups[(*n_groups)++].position =
				archive_objects_position(objects);
		}
		if (list.n_oids == space)
		{
			space = Max(64, space * 2);
			list.oids = pg_realloc(list.oids, space * sizeof(Oid));
		}
		list.oids[list.n_oids++] = oid;
	}
	problem = archive_objects_error(objects);
	if (problem)
		pg_fatal("could not read the list of large objects: %s", problem);
	archive_objects_close(objects);
	return list;
}

/* As the manifest says, or as large as the entry's data in the file. */
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
	LargeObjects *objects;
	uint64		bytes = 0;
	int			n_groups = 0;

	for (int i = 0; i < n; i++)
	{
		lists[i] = list_objects(archive, entries[i], result, &n_groups);
		bytes = Max(bytes, estimate_objects(archive, entries[i]));
	}
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
	/* names are quoted now, before there is a session */
	setFmtEncoding(pg_char_to_encoding(plan->encoding));
	plan->pg_dump_toc = plan->toc = found->toc;
	plan->tables = tables = dump_tables_of_toc(found->toc);
	for (int i = 0; i < tables->n_tables; i++)
		tables->tables[i].relkind = RELKIND_RELATION;
	result->rows = pg_malloc0((found->n_parts + 1) * sizeof(ArchiveRows));
	plan->chunks = plan_rows(archive, found, tables, result->rows);
	plan->objects = plan_objects(archive, found->object_lists,
								 found->n_object_lists, result);
	rules.shares = result->shares =
		plan_shares(plan->chunks, result->rows, options);
	rules.targets = tables;
	rules.builds = dump_tables_count_builds(tables, found->toc);
	plan->queue = job_queue_make(plan->chunks, plan->objects, &rules);
	origin->server_version = archive->toc->server_version;
	origin->database = archive->toc->dbname;
	origin->start_us = run_clock_start_us();
	plan->origin = origin;
	return result;
}

void
archive_plan_refuse_parts(const ArchivePlan *plan)
{
	for (int i = 0; i < plan->plan.chunks->n_files; i++)
	{
		const ManifestFile *file = plan->rows[i].want;

		if (file && (file->where || file->sample || file->masks))
			pg_fatal("option --compare-with cannot be used: of table %s the archive has only %s",
					 printable(plan->plan.tables->tables[plan->plan.chunks->files[i].table].name),
					 file->masks ? "masked columns" : "some rows");
	}
}
