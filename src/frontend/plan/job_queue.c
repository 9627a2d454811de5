/*
 * job_queue.c
 *		The queue of jobs: groups large objects and small tables, and sorts
 *		the jobs so that all workers finish at about the same time.
 *
 * The job with the longest critical path comes first (list scheduling).  In a
 * dump, the path of a file is the file alone.  If indexes are built after the
 * rows, they wait for all rows of the table, and each build takes about as
 * long as loading the table.  So the size of the table is added to the path
 * of each of its files, once for each build of the longest sequence of
 * builds.
 *
 * A byte of one table may take many times as long as a byte of another one.
 * So that the estimated time soon includes the speed of each large table, the
 * first chunks of these tables come before all others.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "plan/job_queue.h"

#define BATCH_BYTES ((uint64) 1024 * 1024)
#define BATCH_FILES 32

/* How many of them a message names. */
#define DESCRIBED_FILES 3

/*
 * Reading a block without rows takes as long as this number of bytes of rows.
 */
#define EMPTY_BLOCK_BYTES 128

/* ----------
 * Groups of large objects
 * ----------
 */

/* All there are, as pg_dump up to 16 reads them (pg_dump.c:dumpBlobs). */
static void
read_all_oids(PGconn *conn, LargeObjectList *list)
{
	PGresult   *res = session_query(conn,
									"SELECT oid FROM pg_catalog.pg_largeobject_metadata ORDER BY 1");

	list->n_oids = PQntuples(res);
	list->oids = pg_malloc((list->n_oids + 1) * sizeof(Oid));
	for (int i = 0; i < list->n_oids; i++)
		list->oids[i] = result_oid(res, i, 0);
}

static void
make_groups(LargeObjects *objects, const LargeObjectList *list)
{
	for (int first = 0; first < list->n_oids; first += LARGE_OBJECT_GROUP)
	{
		LargeObjectGroup *group;

		group = array_add(objects->groups, objects->n_groups);
		group->oids = list->oids + first;
		group->first_object = objects->n_objects;
		group->n_oids = Min(LARGE_OBJECT_GROUP, list->n_oids - first);
		objects->n_objects += group->n_oids;
	}
}

LargeObjects *
large_objects_of_lists(LargeObjectList *lists, int n_lists)
{
	LargeObjects *objects = pg_malloc0(sizeof(LargeObjects));

	objects->lists = lists;
	objects->n_lists = n_lists;
	for (int i = 0; i < n_lists; i++)
		make_groups(objects, &lists[i]);
	return objects;
}

int
large_objects_group_of(const LargeObjects *objects, int number)
{
	int			low = 0;
	int			high = objects->n_groups - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (objects->groups[middle].first_object <= number)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

LargeObjects *
large_objects_read(PGconn *conn, const Toc *toc)
{
	LargeObjects *objects = pg_malloc0(sizeof(LargeObjects));
	const TocEntry **by_id = toc_entries_by_id(toc);

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		LargeObjectList *list;

		if (!entry->had_dumper || !toc_entry_is(entry, "BLOBS"))
			continue;
		list = array_add(objects->lists, objects->n_lists);
		memset(list, 0, sizeof(LargeObjectList));
		list->filename = entry->filename;
		if (toc->minor < 16)
			read_all_oids(conn, list);
		else if ((list->n_oids = toc_large_objects(toc, by_id, entry, &list->oids)) == 0)
			toc_reject_pg_dump(psprintf("The list of large objects \"%s\" is missing or invalid.",
										printable(entry->tag)));

		/*
		 * Groups are made while their list is the last one: its array may
		 * move when the next list is added, but the OIDs stay where they are.
		 */
		make_groups(objects, list);
	}
	if (objects->n_lists > 0)
		objects->est_bytes =
			strtoull(session_value(conn, "SELECT pg_catalog.pg_relation_size('pg_catalog.pg_largeobject')"),
					 NULL, 10);
	return objects;
}

char *
large_object_group_text(const LargeObjectGroup *group, const char *of_object,
						const char *of_objects)
{
	if (group->n_oids == 1)
		return psprintf(of_object, group->oids[0]);
	return psprintf(of_objects, group->n_oids, group->oids[0],
					group->oids[group->n_oids - 1]);
}

char *
large_object_group_describe(const LargeObjectGroup *group)
{
	return large_object_group_text(group, "1 large object, %u",
								   ngettext("%d large object, %u to %u",
											"%d large objects, %u to %u",
											group->n_oids));
}

/* ----------
 * The order of jobs
 * ----------
 */

/* How much work a file is, in bytes of rows. */
static uint64
file_work(const DataFile *file)
{
	uint64		blocks = file->n_chunks == 1 || file->end_block == InvalidBlockNumber ?
		0 : file->end_block - file->start_block;

	return Max(file->est_bytes, blocks * EMPTY_BLOCK_BYTES);
}

/*
 * Tables with at least this share of all work are large, if their chunks are
 * not so small that several of them are one job.
 */
#define LARGE_SHARE 0.1

/*
 * Added to the path of files that come before all others.  The sum of the
 * paths of a job's files must not overflow.
 */
#define FIRST_PATH (UINT64_MAX / 2 / BATCH_FILES)

/* A file, and what decides its place. */
typedef struct SortedFile
{
	const DataFile *file;
	uint64		work;			/* of the table, if that comes at once */
	uint64		path;			/* with what can only come after it */
	int			wave;
	bool		at_once;
	int			shares;
} SortedFile;

static int
job_queue_compare_files(const void *a, const void *b)
{
	const SortedFile *f1 = a;
	const SortedFile *f2 = b;

	if (f1->wave != f2->wave)
		return f1->wave < f2->wave ? -1 : 1;
	if (f1->path != f2->path)
		return f1->path > f2->path ? -1 : 1;
	/* equal ones in the archive's order: neighbouring blocks together */
	return f1->file < f2->file ? -1 : f1->file > f2->file;
}

static int
compare_jobs(const void *a, const void *b)
{
	const Job  *j1 = a;
	const Job  *j2 = b;

	if (j1->wave != j2->wave)
		return j1->wave < j2->wave ? -1 : 1;
	if (j1->path != j2->path)
		return j1->path > j2->path ? -1 : 1;
	if (j1->kind != j2->kind)
		return j1->kind < j2->kind ? -1 : 1;
	return j1->first < j2->first ? -1 : j1->first > j2->first;
}

static Job *
add_job(JobQueue *queue, JobKind kind, int first)
{
	Job		   *job = &queue->jobs[queue->n_jobs++];

	job->kind = kind;
	job->first = first;
	return job;
}

/* How much work each table is; owned. */
static uint64 *
sum_by_table(const ChunkPlan *chunks)
{
	int			n_tables = 0;
	uint64	   *work;

	for (int i = 0; i < chunks->n_files; i++)
		n_tables = Max(n_tables, chunks->files[i].table + 1);
	work = pg_malloc0((n_tables + 1) * sizeof(uint64));
	for (int i = 0; i < chunks->n_files; i++)
		work[chunks->files[i].table] += file_work(&chunks->files[i]);
	return work;
}

/* In the order in which they are to be done; owned. */
static SortedFile *
sort_files(const ChunkPlan *chunks, const JobRules *rules)
{
	SortedFile *sorted = pg_malloc((chunks->n_files + 1) * sizeof(SortedFile));
	uint64	   *table_work = sum_by_table(chunks);
	uint64		total = 0;

	for (int i = 0; i < chunks->n_files; i++)
		total += file_work(&chunks->files[i]);
	for (int i = 0; i < chunks->n_files; i++)
	{
		const DataFile *file = &chunks->files[i];

		sorted[i].file = file;
		sorted[i].wave = rules->waves ? rules->waves[file->table] : 0;
		sorted[i].at_once = rules->at_once && rules->at_once[file->table];
		sorted[i].shares = rules->shares && !sorted[i].at_once ?
			rules->shares[i] : 0;
		sorted[i].work = sorted[i].at_once ?
			table_work[file->table] : file_work(file);
		sorted[i].path = sorted[i].work +
			(rules->builds ? rules->builds[file->table] * table_work[file->table] : 0);
		if (file->chunk_no == 1 && file->n_chunks > 1 && !sorted[i].at_once &&
			sorted[i].work >= BATCH_BYTES &&
			table_work[file->table] >= total * LARGE_SHARE)
			sorted[i].path += FIRST_PATH;
	}
	qsort(sorted, chunks->n_files, sizeof(SortedFile), job_queue_compare_files);
	return sorted;
}

/* Has the job, which ends with last, no file for the table of the next? */
static bool
is_other_target(const Job *job, const SortedFile *last, const SortedFile *next,
				const DumpTables *tables)
{
	const char *name = tables->tables[next->file->table].copy_name;

	for (int i = 0; i < job->n; i++)
		if (strcmp(tables->tables[last[-i].file->table].copy_name, name) == 0)
			return false;
	return true;
}

/* Does the file belong to the job to which the one before it was added? */
static bool
goes_together(const Job *job, const SortedFile *before, const SortedFile *next,
			  const JobRules *rules)
{
	if (job->wave != next->wave || job->at_once != next->at_once ||
		before->shares > 0 || next->shares > 0)
		return false;
	if (job->at_once)
		return before->file->table == next->file->table;
	return !rules->apart && job->n < BATCH_FILES &&
		job->est_bytes + next->work <= BATCH_BYTES &&
		(rules->targets == NULL ||
		 is_other_target(job, before, next, rules->targets));
}

/*
 * Add a job that does the file, or one of n_shares jobs that share it.
 */
static Job *
add_file_job(JobQueue *queue, int file, int n_shares)
{
	Job		   *job = add_job(queue, JOB_DATA_FILES, file);

	job->shared = n_shares > 0;
	job->n = 1;
	job->est_bytes = file_work(queue->files[file]) / Max(n_shares, 1);
	return job;
}

static void
add_data_files(JobQueue *queue, const ChunkPlan *chunks, const JobRules *rules)
{
	SortedFile *sorted = sort_files(chunks, rules);
	Job		   *job = NULL;

	for (int i = 0; i < chunks->n_files; i++)
	{
		const SortedFile *next = &sorted[i];

		/* in sorted order, so that the files of a job are neighbours here */
		queue->files[i] = next->file;
		if (job && goes_together(job, next - 1, next, rules))
		{
			job->n++;
			job->est_bytes += file_work(next->file);
			job->path += next->path;
			continue;
		}
		for (int j = 0; j < Max(next->shares, 1); j++)
		{
			job = add_file_job(queue, i, next->shares);
			job->wave = next->wave;
			job->at_once = next->at_once;

			/*
			 * Of a file that several jobs share each job is a part, so its
			 * way is shorter by the other parts.
			 */
			job->path = next->path - next->work + job->est_bytes;
		}
	}
}

static void
add_large_objects(JobQueue *queue, const LargeObjects *objects)
{
	uint64		total = 0;

	for (int i = 0; i < objects->n_groups; i++)
		total += objects->groups[i].n_oids;
	for (int i = 0; i < objects->n_groups; i++)
	{
		Job		   *job = add_job(queue, JOB_LARGE_OBJECTS, i);

		job->n = 1;
		job->est_bytes = (uint64) ((double) objects->est_bytes *
								   objects->groups[i].n_oids / total);
		job->path = job->est_bytes;
	}
}

JobQueue *
job_queue_make(const ChunkPlan *chunks, const LargeObjects *objects,
			   const JobRules *rules)
{
	static const JobRules none = {NULL};
	JobQueue   *queue = pg_malloc0(sizeof(JobQueue));
	int			most = chunks->n_files + objects->n_groups;

	if (rules == NULL)
		rules = &none;
	for (int i = 0; rules->shares && i < chunks->n_files; i++)
		most += rules->shares[i];
	queue->files = pg_malloc((chunks->n_files + 1) * sizeof(DataFile *));
	queue->jobs = pg_malloc0((most + 1) * sizeof(Job));
	add_data_files(queue, chunks, rules);
	add_large_objects(queue, objects);
	qsort(queue->jobs, queue->n_jobs, sizeof(Job), compare_jobs);
	return queue;
}

JobQueue *
job_queue_share(const DataFile **files, int n_files, int n_shares)
{
	JobQueue   *queue = pg_malloc0(sizeof(JobQueue));

	queue->files = files;
	queue->jobs = pg_malloc0((n_files * n_shares + 1) * sizeof(Job));
	for (int i = 0; i < n_files; i++)
		for (int j = 0; j < n_shares; j++)
			(void) add_file_job(queue, i, n_shares);
	return queue;
}

char *
data_files_text(const DataFile *const *files, int n, const DumpTables *tables,
				const char *of_table, const char *of_chunk,
				const char *of_chunks)
{
	const char *name = printable(tables->tables[files[0]->table].name);

	if (n > 1)
		return psprintf(of_chunks, n, name);
	if (files[0]->n_chunks > 1)
		return psprintf(of_chunk, files[0]->chunk_no, files[0]->n_chunks, name);
	return psprintf(of_table, name);
}

char *
data_file_describe(const DataFile *file, const DumpTables *tables)
{
	return data_files_text(&file, 1, tables, "table %s",
						   "chunk %d of %d of table %s", NULL);
}

char *
job_describe(const JobQueue *queue, const Job *job, int step,
			 const DumpTables *tables, const LargeObjects *objects)
{
	PQExpBufferData buf;

	if (job->kind == JOB_LARGE_OBJECTS)
		return large_object_group_describe(&objects->groups[job->first]);
	if (step >= 0)
		return data_file_describe(queue->files[job->first + step], tables);
	initPQExpBuffer(&buf);
	for (int i = 0; i < Min(job->n, DESCRIBED_FILES); i++)
	{
		char	   *text = data_file_describe(queue->files[job->first + i],
											  tables);

		appendPQExpBuffer(&buf, "%s%s", i > 0 ? ", " : "", text);
		free(text);
	}
	if (job->n > DESCRIBED_FILES)
		appendPQExpBuffer(&buf, " and %d more", job->n - DESCRIBED_FILES);
	return buf.data;
}

const char *
job_label(const JobQueue *queue, const Job *job, const DumpTables *tables,
		  char label[JOB_LABEL_BYTES + 1])
{
	const DataFile *file;
	char		rest[32] = "";
	int			room;

	if (job->kind == JOB_LARGE_OBJECTS)
		snprintf(label, JOB_LABEL_BYTES + 1, "pg_pardump: large objects");
	else
	{
		file = queue->files[job->first];
		if (job->n > 1)
			snprintf(rest, sizeof(rest), " and %d more", job->n - 1);
		else if (file->n_chunks > 1)
			snprintf(rest, sizeof(rest), " %d/%d", file->chunk_no,
					 file->n_chunks);
		/* a long name is cut, not what follows it */
		room = JOB_LABEL_BYTES - (int) strlen("pg_pardump: ") -
			(int) strlen(rest);
		snprintf(label, JOB_LABEL_BYTES + 1, "pg_pardump: %.*s%s", room,
				 tables->tables[file->table].name, rest);
	}
	for (char *c = label; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	return label;
}
