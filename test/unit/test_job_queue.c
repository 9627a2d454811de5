/*
 * test_job_queue.c
 *		Every file and group of large objects is in one job, the largest work
 *		is first, small tables go together; and what jobs are called.
 */
#include "base/fe_compat.h"

#include "plan/job_queue.h"
#include "unit_test.h"

#define MB ((uint64) 1024 * 1024)

static DataFile
whole_table(int table, uint64 est_bytes)
{
	DataFile	file = {.table = table,.n_chunks = 1,
	.end_block = InvalidBlockNumber,.est_bytes = est_bytes};

	return file;
}

static void
check_order(void)
{
	DataFile	files[] = {
		whole_table(0, 10),
		whole_table(1, 300 * MB),
		/* a chunk whose blocks hold next to nothing is work, too */
		{.table = 2,.chunk_no = 1,.n_chunks = 2,.start_block = 0,.end_block = 8 * MB,.est_bytes = 10},
		{.table = 2,.chunk_no = 2,.n_chunks = 2,.start_block = 8 * MB,.end_block = InvalidBlockNumber,.est_bytes = 5 * MB},
		whole_table(3, 10),
	};
	ChunkPlan	plan = {.files = files,.n_files = lengthof(files)};
	LargeObjectGroup groups[] = {{.n_oids = 1000}, {.n_oids = 500}};
	LargeObjects objects = {.groups = groups,.n_groups = 2,.est_bytes = 60 * MB};
	JobQueue   *queue = job_queue_make(&plan, &objects, NULL);

	is_number(queue->n_jobs, 6, "jobs");
	ok(queue->files[queue->jobs[0].first] == &files[2], "many blocks first");
	ok(queue->files[queue->jobs[1].first] == &files[1], "then many bytes");
	ok(queue->jobs[2].kind == JOB_LARGE_OBJECTS && queue->jobs[2].first == 0 &&
	   queue->jobs[2].est_bytes == 40 * MB, "a group by its share of objects");
	is_number(queue->jobs[3].kind, JOB_LARGE_OBJECTS, "the other group");
	ok(queue->files[queue->jobs[4].first] == &files[3], "the last chunk");
	is_number(queue->jobs[5].n, 2, "small tables together");
	ok(queue->files[queue->jobs[5].first] == &files[0] &&
	   queue->files[queue->jobs[5].first + 1] == &files[4],
	   "equal ones in the archive's order");
}

/*
 * The first chunks of large tables come first.  Of other equal files those
 * come first whose table has the most rows.
 */
static void
check_indexes(void)
{
	DataFile	files[] = {
		whole_table(0, 90 * MB),
		{.table = 1,.chunk_no = 1,.n_chunks = 2,.est_bytes = 50 * MB},
		{.table = 1,.chunk_no = 2,.n_chunks = 2,.start_block = 8,.end_block = InvalidBlockNumber,.est_bytes = 50 * MB},
		{.table = 2,.chunk_no = 1,.n_chunks = 3,.est_bytes = 45 * MB},
		{.table = 2,.chunk_no = 2,.n_chunks = 3,.start_block = 8,.end_block = 16,.est_bytes = 45 * MB},
		{.table = 2,.chunk_no = 3,.n_chunks = 3,.start_block = 16,.end_block = InvalidBlockNumber,.est_bytes = 45 * MB},
	};
	ChunkPlan	plan = {.files = files,.n_files = lengthof(files)};
	LargeObjectGroup groups[] = {{.n_oids = 1000}};
	LargeObjects objects = {.groups = groups,.n_groups = 1,.est_bytes = 160 * MB};
	static const int one_each[] = {1, 1, 1};
	static const int none_of_largest[] = {1, 1, 0};
	static const int many_of_smallest[] = {3, 1, 1};
	JobRules	rules = {.builds = one_each};
	static const int tables[] = {2, 1, 0, 2, 2, -1, 1};
	JobQueue   *queue = job_queue_make(&plan, &objects, &rules);

	is_number(queue->n_jobs, lengthof(tables), "jobs where indexes follow");
	for (int i = 0; i < queue->n_jobs; i++)
	{
		const Job  *job = &queue->jobs[i];

		is_number(job->kind == JOB_LARGE_OBJECTS ? -1 :
				  queue->files[job->first]->table, tables[i],
				  psprintf("the table of job %d", i));
	}
	rules.builds = none_of_largest;
	queue = job_queue_make(&plan, &objects, &rules);
	is_number(queue->files[queue->jobs[queue->n_jobs - 1].first]->table, 2,
			  "a table without indexes is last");
	rules.builds = many_of_smallest;
	queue = job_queue_make(&plan, &objects, &rules);
	is_number(queue->files[queue->jobs[2].first]->table, 0,
			  "one with many is first of the others");
	files[3].est_bytes = 10 * MB;
	files[4].est_bytes = 5 * MB;
	files[5].est_bytes = 2 * MB;
	queue = job_queue_make(&plan, &objects, NULL);
	is_number(queue->files[queue->jobs[0].first]->table, 1,
			  "the first chunk of a large table is first");
	ok(queue->files[queue->jobs[4].first] == &files[3],
	   "but not that of a small one");
}

static void
check_batches(int n_files, uint64 est_bytes, int expected, const char *what)
{
	DataFile   *files = pg_malloc(n_files * sizeof(DataFile));
	ChunkPlan	plan = {.files = files,.n_files = n_files};
	LargeObjects none = {0};
	JobQueue   *queue;
	int			n_in_jobs = 0;

	for (int i = 0; i < n_files; i++)
		files[i] = whole_table(i, est_bytes);
	queue = job_queue_make(&plan, &none, NULL);
	for (int i = 0; i < queue->n_jobs; i++)
		n_in_jobs += queue->jobs[i].n;
	is_number(queue->n_jobs, expected, what);
	is_number(n_in_jobs, n_files, psprintf("%s: every file is in one", what));
	free(files);
}

static void
check_share(void)
{
	DataFile	files[] = {whole_table(0, 40), whole_table(1, 90)};
	const DataFile **found = pg_malloc(2 * sizeof(DataFile *));
	JobQueue   *queue;

	found[0] = &files[0];
	found[1] = &files[1];
	queue = job_queue_share(found, 2, 4);
	is_number(queue->n_jobs, 8, "two shared files: four jobs each");
	for (int i = 0; i < queue->n_jobs; i++)
		if (!queue->jobs[i].shared || queue->jobs[i].n != 1 ||
			queue->files[queue->jobs[i].first] != &files[i / 4] ||
			queue->jobs[i].est_bytes != files[i / 4].est_bytes / 4)
			is_number(i, -1, "two shared files: one after the other");
	is_number(job_queue_share(found, 0, 4)->n_jobs, 0, "no shared files");
}

static void
check_names(void)
{
	DumpTable	tables[] = {{.name = "public.a"}, {.name = "public.\"b\n\""},
	{.name = "public.a_table_whose_name_is_as_long_as_names_can_be_in_postgresql"},
	{.name = "public.\303\244"}};
	DumpTables	dump_tables = {.tables = tables,.n_tables = lengthof(tables)};
	DataFile	files[] = {whole_table(0, 4), whole_table(1, 3), whole_table(2, 2),
	whole_table(3, 1)};
	DataFile	chunk = {.table = 2,.chunk_no = 12,.n_chunks = 345};
	const DataFile *chunk_files = &chunk;
	ChunkPlan	plan = {.files = files,.n_files = lengthof(files)};
	LargeObjects none = {0};
	JobQueue   *queue = job_queue_make(&plan, &none, NULL);
	JobQueue	chunk_queue = {.files = &chunk_files};
	Job			chunk_job = {.kind = JOB_DATA_FILES,.n = 1};
	Job			objects_job = {.kind = JOB_LARGE_OBJECTS};
	char		label[JOB_LABEL_BYTES + 1];

	is_text(data_file_describe(&chunk, &dump_tables),
			psprintf("chunk 12 of 345 of table %s", tables[2].name), "a chunk");
	is_text(job_describe(queue, &queue->jobs[0], 1, &dump_tables, &none),
			"table public.\"b\\x0a\"", "one of a job's tables");
	is_text(job_describe(queue, &queue->jobs[0], -1, &dump_tables, &none),
			psprintf("table public.a, table public.\"b\\x0a\", table %s and 1 more",
					 tables[2].name), "of many tables the first");
	is_text(job_label(queue, &queue->jobs[0], &dump_tables, label),
			"pg_pardump: public.a and 3 more", "a label");
	is_text(job_label(&chunk_queue, &chunk_job, &dump_tables, label),
			"pg_pardump: public.a_table_whose_name_is_as_long_as_name 12/345",
			"of a long name the end is cut");
	is_number(strlen(label), JOB_LABEL_BYTES, "to what a session's name can have");
	is_text(job_label(queue, &objects_job, &dump_tables, label),
			"pg_pardump: large objects", "the label of large objects");
	chunk = files[3];
	is_text(job_label(&chunk_queue, &chunk_job, &dump_tables, label),
			"pg_pardump: public.??", "a label is ASCII");
}

void
test_job_queue(void)
{
	check_order();
	check_indexes();
	check_batches(0, 0, 0, "no files");
	check_batches(33, 10, 2, "33 tiny tables");
	check_batches(4, MB / 2, 2, "4 tables of half a megabyte");
	check_batches(3, MB, 3, "3 tables of a megabyte");
	check_share();
	check_names();
}
