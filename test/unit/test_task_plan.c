/*
 * test_task_plan.c
 *		The plan of a dump for tasks comes back from its file as it was, and
 *		is refused where its jobs have no files, or where it is damaged.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "stream/regular_file.h"
#include "tasks/task_plan.h"
#include "unit_test.h"

/* Three files of two tables, one group of large objects. */
#define N_FILES 3
#define N_TABLES 2

typedef struct Sample
{
	PlanFile	file;
	DataFile	files[N_FILES];
	PlannedTable tables[N_TABLES];
	PlannedStandby standby;
	LargeObjectGroup group;
	ManifestFile previous;
	int			queue[N_FILES];
	Job			jobs[3];
} Sample;

static char *columns[] = {"a", "\xe4"};
static ColumnMask masks[] = {{.sql = NULL}, {.sql = "'x'"}};
static const Oid oids[] = {4711, 4712};

static void
make_head(DumpTaskHead *head)
{
	head->run.version = PARDUMP_VERSION;
	head->run.what = TASKS_DUMP;
	head->run.run_id = "0123456789abcdef";
	head->run.n_tasks = 7;
	head->run.conninfo = "host=h dbname='a b'";
	head->run.server.system_identifier = "1";
	head->run.server.timeline = "2";
	head->run.server.database = "d\xe4t\"a";	/* LATIN1 */
	head->run.server.user = "u";
	head->run.retries = UINT64CONST(1) << 40;
	head->archive = "/shared/\\x41";
	head->snapshot = "";
	head->snapshot_identity = "i";
	head->encoding = "LATIN1";
	head->compression = "none";
	head->checksums = "CRC32C";
	head->extension.missing = "it is not there";
	head->no_sync = true;
	head->n_objects = 5;
}

static void
make_sample(Sample *sample)
{
	memset(sample, 0, sizeof(Sample));
	make_head(&sample->file.head);
	for (int i = 0; i < N_FILES; i++)
	{
		sample->queue[i] = N_FILES - 1 - i;
		sample->files[i].table = i % N_TABLES;
		sample->files[i].end_block = InvalidBlockNumber;
	}
	sample->previous = (ManifestFile)
	{
		.path = "1.dat",.rows = 5,.checksum_len = 4,
			.fingerprint = "00",.first_fingerprint = "01",.definition = "02"
	};
	sample->previous.checksum[1] = 255;
	sample->files[1].previous = &sample->previous;
	sample->tables[0].table.name = "t";
	sample->tables[0].table.relkind = 'r';
	sample->tables[0].table.columns = columns;
	sample->tables[0].table.n_columns = sample->tables[0].n_masks = lengthof(columns);
	sample->tables[0].table.masks = masks;
	sample->tables[1].table.name = "none";
	sample->standby = (PlannedStandby)
	{
		"s", "host=s", "snapshot", "identity", "query"
	};
	sample->group = (LargeObjectGroup)
	{
		.oids = oids,.n_oids = lengthof(oids),.first_object = 3
	};
	sample->jobs[0] = (Job)
	{
		.kind = JOB_DATA_FILES,.first = 0,.n = 2,.task = 6
	};
	sample->jobs[1] = (Job)
	{
		.kind = JOB_DATA_FILES,.first = 2,.n = 1,.est_bytes = 5
	};
	sample->jobs[2] = (Job)
	{
		.kind = JOB_LARGE_OBJECTS,.first = 0,.n = 1
	};
	sample->file = (PlanFile)
	{
		sample->file.head,
			&sample->standby, 1, sample->tables, N_TABLES, sample->files, N_FILES,
			sample->queue, N_FILES, &sample->group, 1, sample->jobs, 3
	};
}

/* Of the file. */
static char *path;

/* Write the sample, and read it; NULL, or what is wrong. */
static const char *
pass_on(const Sample *sample, PlanFile *found)
{
	const char *problem = NULL;
	size_t		len;
	char	   *text;
	int			fd;

	(void) unlink(path);
	memset(found, 0, sizeof(PlanFile));
	task_plan_write_file(path, &sample->file);
	fd = regular_file_open_own(path, &problem);
	if (fd < 0)
		return problem;
	text = task_place_read(fd, path, &len);
	close(fd);
	problem = task_plan_parse(found, text, len);
	free(text);
	(void) unlink(path);
	return problem;
}

static void
check_arrays(const PlanFile *found)
{
	const DataFile *file = &found->files[1];
	const DumpTable *table = &found->tables[0].table;

	is_number(found->n_standbys, 1, "standbys");
	is_text(found->standbys[0].holder_query, "query", "of a standby");
	is_number(found->n_tables, N_TABLES, "tables");
	is_number(table->n_columns, 2, "columns");
	is_text(table->columns[1], columns[1], "a column in another encoding");
	is_text(table->masks[0].sql, NULL, "a column without a mask");
	is_text(table->masks[1].sql, "'x'", "a mask");
	ok(table->relkind == 'r' && found->tables[1].table.masks == NULL, "of tables");
	is_number(found->n_files, N_FILES, "files");
	ok(file->table == 1 && file->end_block == InvalidBlockNumber, "of a file");
	ok(file->previous && file->previous->rows == 5 && file->previous->checksum_len == 4 &&
	   file->previous->checksum[1] == 255, "a file of the previous archive");
	is_text(file->previous->definition, "02", "its definition");
	ok(found->files[0].previous == NULL, "a file without one");
	ok(found->n_groups == 1 && found->groups[0].n_oids == 2 &&
	   found->groups[0].oids[1] == 4712 && found->groups[0].first_object == 3, "a group");
	ok(found->n_queue == N_FILES && found->queue[0] == 2 && found->queue[2] == 0, "the files of the jobs");
	is_number(found->n_jobs, 3, "jobs");
	ok(found->jobs[0].n == 2 && found->jobs[0].task == 6 && found->jobs[1].est_bytes == 5 &&
	   found->jobs[2].kind == JOB_LARGE_OBJECTS, "of jobs");
}

static void
check_whole(void)
{
	Sample		sample;
	PlanFile	found;
	const DumpTaskHead *head = &found.head;
	const DumpTaskHead *want = &sample.file.head;

	make_sample(&sample);
	is_text(pass_on(&sample, &found), NULL, "nothing is wrong");
	is_text(head->run.run_id, want->run.run_id, "the run");
	is_number(head->run.n_tasks, 7, "tasks");
	is_text(head->run.conninfo, want->run.conninfo, "the address");
	is_text(head->run.server.database, want->run.server.database, "a name in another encoding");
	ok(head->run.retries == want->run.retries, "a large number");
	is_text(head->run.role, NULL, "no role");
	is_text(head->archive, want->archive, "a path that looks like one");
	is_text(head->snapshot, "", "an empty text");
	ok(head->no_sync && !head->knows_changes && !head->run.enable_row_security, "flags");
	is_number(head->n_objects, 5, "large objects");
	check_arrays(&found);
	task_plan_free(&found);
}

/* The sample is as it was afterwards. */
static void
check_refused(Sample *sample, const char *problem, const char *what)
{
	PlanFile	found;

	is_text(pass_on(sample, &found), problem, what);
	task_plan_free(&found);
	make_sample(sample);
}

static void
check_numbers(void)
{
	Sample		sample;

	make_sample(&sample);
	sample.jobs[2].first = 1;
	check_refused(&sample, "a job has no files", "a group that is not there");
	sample.jobs[0].n = 4;
	check_refused(&sample, "a job has no files", "more files than there are");
	sample.jobs[2].n = 2;
	sample.jobs[2].first = -1;
	check_refused(&sample, "member \"first\" is invalid", "a number below 0");
	sample.jobs[0].n = 0;
	check_refused(&sample, "member \"n\" is out of range", "a job without files");
	sample.jobs[0].task = 7;
	check_refused(&sample, "a job belongs to a task that does not exist", "a task that is not there");
	sample.queue[1] = N_FILES;
	check_refused(&sample, "the queue contains a file that does not exist", "a file that is not there");
	sample.file.n_queue = 2;
	check_refused(&sample, "the queue does not contain all files", "a file in no job");
	sample.files[0].table = N_TABLES;
	check_refused(&sample, "a file belongs to a table that does not exist", "a table that is not there");
	sample.group.first_object = 4;
	check_refused(&sample, "a group contains a large object that does not exist", "more large objects than there are");
	sample.tables[0].n_masks = 1;
	check_refused(&sample, "the number of masks is not the number of columns", "too few masks");
	sample.tables[1].table.name = NULL;
	check_refused(&sample, "member \"name\" is missing", "a table without a name");
	sample.previous.fingerprint = "xy";
	check_refused(&sample, "member \"fingerprint\" has invalid hexadecimal digits", "a hash that is none");
	sample.file.head.extension.missing = NULL;
	check_refused(&sample, "the functions of the extension are missing", "an extension without functions");
}

static void
check_damaged(void)
{
	static const char *const texts[] = {
		"", "{", "[]", "{ \"queue\": [1, 2 }", "{ \"jobs\": [ {\"bytes\": -1} ] }",
	"{ \"jobs\": {} }", "{ \"archive\": \"\xff\" }", "{ \"tables\": [ {\"columns\": [null]} ] }"};

	for (int i = 0; i < (int) lengthof(texts); i++)
	{
		PlanFile	found = {{{NULL}}};

		ok(task_plan_parse(&found, texts[i], strlen(texts[i])) != NULL, texts[i]);
		task_plan_free(&found);
	}
}

void
test_task_plan(void)
{
	path = psprintf("%s/plan_%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
					(int) getpid());
	check_whole();
	check_numbers();
	check_damaged();
}
