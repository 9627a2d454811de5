/*
 * test_restore_task_plan.c
 *		The plan of a restore for tasks comes back from its file as it was,
 *		and is refused where it does not go with the archive, or is damaged.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "restore_tasks/restore_task_plan.h"
#include "unit_test.h"

/* Three files, one group of large objects, two tables. */
#define N_FILES 3

typedef struct Sample
{
	RestoreTaskPlan task;
	RestoreTaskTable tables[2];
	int			ids[4];
	int			left_out[1];
	DataFile	files[N_FILES];
	const DataFile *queue_files[N_FILES];
	Job			jobs[3];
	JobQueue	queue;
	ChunkPlan	chunks;
	DumpTables	dump_tables;
	LargeObjects objects;
	DumpPlan	plan;
}			Sample;

static void
make_sample(Sample * sample)
{
	RestoreTaskHead *head = &sample->task.head;

	memset(sample, 0, sizeof(Sample));
	head->run.version = PARDUMP_VERSION;
	head->run.what = TASKS_RESTORE;
	head->run.run_id = "0123456789abcdef";
	head->run.n_tasks = 7;
	head->run.conninfo = "host=h dbname='a b'";
	head->run.server.system_identifier = "1";
	head->run.server.timeline = "2";
	head->run.server.database = "d\xe4t\"a";	/* LATIN1 */
	head->run.server.user = "u";
	head->archive = "/shared/\\x41";
	head->identity = "abc";
	head->attempt = 3;
	head->history = "";
	head->incarnation = "now";
	head->chunk_bytes = UINT64CONST(1) << 40;
	head->data_only = true;
	head->toast_compression = "lz4";
	head->run.retries = 5;
	head->n_files = N_FILES;
	head->n_groups = 1;
	sample->tables[0] = (RestoreTaskTable)
	{
		4294967295U, false, true
	};
	sample->tables[1] = (RestoreTaskTable)
	{
		16384, true, false
	};
	sample->task.tables.elements = (char *) sample->tables;
	sample->task.tables.n = 2;
	sample->ids[0] = 9;
	sample->ids[3] = 12;
	sample->task.ids.elements = (char *) sample->ids;
	sample->task.ids.n = 4;
	sample->left_out[0] = 2;
	sample->task.left_out.elements = (char *) sample->left_out;
	sample->task.left_out.n = 1;
	for (int i = 0; i < N_FILES; i++)
		sample->queue_files[i] = &sample->files[N_FILES - 1 - i];
	sample->jobs[0] = (Job)
	{
		.kind = JOB_DATA_FILES,.first = 0,.n = 2,.at_once = true
	};
	sample->jobs[1] = (Job)
	{
		.kind = JOB_DATA_FILES,.first = 2,.n = 1,.shared = true,.est_bytes = 5
	};
	sample->jobs[2] = (Job)
	{
		.kind = JOB_LARGE_OBJECTS,.first = 0,.n = 1
	};
	sample->queue = (JobQueue)
	{
		sample->jobs, 3, sample->queue_files
	};
	sample->chunks.files = sample->files;
	sample->chunks.n_files = N_FILES;
	sample->dump_tables.n_tables = 2;
	sample->objects.n_groups = 1;
	sample->plan.tables = &sample->dump_tables;
	sample->plan.chunks = &sample->chunks;
	sample->plan.objects = &sample->objects;
}

/* A path that is not there; owned. */
static char *
new_path(void)
{
	char	   *path = psprintf("%s/plan_%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
								(int) getpid());

	(void) unlink(path);
	return path;
}

static void
check_head(const RestoreTaskHead *found, const RestoreTaskHead *wanted)
{
	is_text(found->run.run_id, wanted->run.run_id, "the run");
	is_number(found->run.n_tasks, 7, "tasks");
	is_text(found->run.conninfo, wanted->run.conninfo, "the address");
	is_text(found->run.server.database, wanted->run.server.database, "a name in another encoding");
	is_text(found->archive, wanted->archive, "a path that looks like one");
	is_text(found->identity, wanted->identity, "the archive");
	is_number(found->attempt, 3, "the attempt");
	is_text(found->history, "", "an empty text");
	is_text(found->incarnation, "now", "the target's incarnation");
	ok(found->chunk_bytes == wanted->chunk_bytes, "a large number");
	is_text(found->run.role, NULL, "no role");
	ok(found->data_only && !found->disable_triggers && !found->run.enable_row_security, "flags");
	is_text(found->toast_compression, "lz4", "TOAST");
	is_number((int64) found->run.retries, 5, "retries");
}

static void
check_arrays(RestoreTaskPlan *found, const Sample * sample, const char *path)
{
	const RestoreTaskTable *tables = (const RestoreTaskTable *) found->tables.elements;
	JobQueue   *queue = restore_task_plan_queue(found, path, &sample->plan);

	is_number(found->ids.n, 4, "entries");
	is_number(((int *) found->ids.elements)[3], 12, "the last of them");
	is_number(found->tables.n, 2, "tables");
	ok(tables[0].oid == 4294967295U && !tables[0].unlogged && tables[0].fresh &&
	   tables[1].oid == 16384 && tables[1].unlogged && !tables[1].fresh,
	   "what is known of them");
	is_number(found->left_out.n, 1, "files left out");
	is_number(((int *) found->left_out.elements)[0], 2, "which");
	is_number(found->objects_left_out.n, 0, "no large objects left out");
	is_number(queue->n_jobs, 3, "jobs");
	ok(queue->files[0] == &sample->files[2] && queue->files[2] == &sample->files[0],
	   "the files of the jobs");
	ok(queue->jobs[0].at_once && !queue->jobs[0].shared && queue->jobs[0].n == 2 &&
	   !queue->jobs[1].at_once && queue->jobs[1].shared && queue->jobs[1].est_bytes == 5 &&
	   queue->jobs[2].kind == JOB_LARGE_OBJECTS, "the jobs");
}

static void
read_queue(const void *arg)
{
	const		Sample *sample = arg;
	char	   *path = new_path();
	RestoreTaskPlan *found;

	restore_task_plan_write(path, &sample->task, &sample->chunks, &sample->queue);
	found = restore_task_plan_read(path);
	(void) unlink(path);
	(void) restore_task_plan_queue(found, "it", &sample->plan);
}

static void
check_refused(Sample * sample, const char *problem, const char *what)
{
	char	   *message = psprintf("unit_test: error: plan \"it\" is damaged: %s\n",
								   problem);

	child_ends(read_queue, sample, 1, message, what);
	free(message);
}

static void
check_with_archive(void)
{
	Sample		sample;

	make_sample(&sample);
	sample.dump_tables.n_tables = 3;
	check_refused(&sample, "the archive has other tables, or files", "another number of tables");
	make_sample(&sample);
	sample.left_out[0] = N_FILES;
	check_refused(&sample, "there is no such file", "a file that is not there");
	make_sample(&sample);
	sample.jobs[2].first = 1;
	check_refused(&sample, "a job has no files", "a group that is not there");
	make_sample(&sample);
	sample.jobs[0].n = 4;
	check_refused(&sample, "a job has no files", "more files than there are");
}

static void
check_damaged(void)
{
	static const char *const texts[] = {
		"", "{", "[]", "{}", "{ \"ids\": [1, 2 }", "{ \"tables\": [ {\"oid\": 4294967296} ] }",
		"{ \"archive\": \"a\", \"identity\": \"b\", \"history\": \"c\", \"incarnation\": \"d\", \"jobs\": {} }",
	"{ \"archive\": \"\xff\" }"};
	static const char more[] =
		"{ \"archive\": \"a\", \"identity\": \"b\", \"history\": \"\", \"incarnation\": \"\", \"new\": [{}] }";
	RestoreTaskPlan plan;

	for (int i = 0; i < (int) lengthof(texts); i++)
	{
		ok(restore_task_plan_parse(&plan, texts[i], strlen(texts[i])) != NULL, texts[i]);
		restore_task_plan_free(&plan);
	}
	ok(restore_task_plan_parse(&plan, more, strlen(more)) == NULL,
	   "a member that is not known is passed over");
	restore_task_plan_free(&plan);
}

void
test_restore_task_plan(void)
{
	Sample		sample;
	RestoreTaskPlan *found;
	char	   *path = new_path();

	make_sample(&sample);
	restore_task_plan_write(path, &sample.task, &sample.chunks, &sample.queue);
	found = restore_task_plan_read(path);
	(void) unlink(path);
	check_head(&found->head, &sample.task.head);
	check_arrays(found, &sample, path);
	check_with_archive();
	check_damaged();
	free(path);
}
