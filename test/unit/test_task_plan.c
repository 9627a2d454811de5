/*
 * test_task_plan.c
 *		The plan of a dump for tasks comes back from its file as it was, and
 *		is refused where its jobs have no files, or where it is damaged.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "tasks/dump_task_format.h"
#include "tasks/plan_queue.h"
#include "tasks/plan_write.h"
#include "unit_test.h"

/* Three files, one group of large objects. */
#define N_FILES 3
#define N_GROUPS 1

typedef struct Sample
{
	DumpTaskHead head;
	DataFile	files[N_FILES];
	const DataFile *queue_files[N_FILES];
	Job			jobs[3];
	JobQueue	queue;
}			Sample;

/* What is read: the rest of a dump's plan is left out. */
typedef struct Found
{
	PlanReader	reader;
	DumpTaskHead head;
}			Found;

static void
make_sample(Sample * sample)
{
	DumpTaskHead *head = &sample->head;

	memset(sample, 0, sizeof(Sample));
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
	head->no_sync = true;
	head->n_objects = 5;
	for (int i = 0; i < N_FILES; i++)
		sample->queue_files[i] = &sample->files[N_FILES - 1 - i];
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
	sample->queue = (JobQueue)
	{
		sample->jobs, 3, sample->queue_files
	};
}

static void
skip_member(PlanReader *reader, const char *key)
{
	json_skip(&reader->json);
}

static void
skip_other(PlanReader *reader, const char *key, void *object)
{
	json_skip(&reader->json);
}

static void
begin(Found * found)
{
	memset(found, 0, sizeof(Found));
	found->reader.run = &found->head.run;
	found->reader.fields = dump_task_head_fields;
	found->reader.head = &found->head;
	found->reader.read_member = skip_member;
	found->reader.read_other = skip_other;
}

/* Of the file. */
static char *path;

/* Write the sample, and read it. */
static void
pass_on(const Sample * sample, Found * found)
{
	PlanWriter	writer;

	(void) unlink(path);
	plan_write_begin(&writer, path, &sample->head.run, dump_task_head_fields,
					 &sample->head);
	plan_write_queue(&writer, &sample->queue, sample->files, N_FILES);
	plan_write_end(&writer);
	begin(found);
	plan_read(&found->reader, path);
	(void) unlink(path);
}

static JobQueue *
make_queue(Found * found, const Sample * sample)
{
	ChunkPlan	chunks = {.files = unconstify(DataFile *, &sample->files[0]),.n_files = N_FILES};

	return plan_queue_make(&found->reader, &chunks, N_GROUPS);
}

static void
check_whole(void)
{
	Sample		sample;
	Found		found;
	const DumpTaskHead *head = &found.head;
	JobQueue   *queue;

	make_sample(&sample);
	pass_on(&sample, &found);
	is_text(head->run.run_id, sample.head.run.run_id, "the run");
	is_number(head->run.n_tasks, 7, "tasks");
	is_text(head->run.conninfo, sample.head.run.conninfo, "the address");
	is_text(head->run.server.database, sample.head.run.server.database, "a name in another encoding");
	ok(head->run.retries == sample.head.run.retries, "a large number");
	is_text(head->run.role, NULL, "no role");
	is_text(head->archive, sample.head.archive, "a path that looks like one");
	is_text(head->snapshot, "", "an empty text");
	ok(head->no_sync && !head->knows_changes && !head->run.enable_row_security, "flags");
	is_number(head->n_objects, 5, "large objects");
	queue = make_queue(&found, &sample);
	is_text(found.reader.json.error, NULL, "nothing is wrong");
	is_number(queue->n_jobs, 3, "jobs");
	ok(queue->files[0] == &sample.files[2] && queue->files[2] == &sample.files[0],
	   "the files of the jobs");
	ok(queue->jobs[0].n == 2 && queue->jobs[0].task == 6 &&
	   queue->jobs[1].est_bytes == 5 &&
	   queue->jobs[2].kind == JOB_LARGE_OBJECTS, "the jobs");
}

static void
check_refused(const Sample * sample, const char *problem, const char *what)
{
	Found		found;

	pass_on(sample, &found);
	(void) make_queue(&found, sample);
	is_text(found.reader.json.error, problem, what);
}

static void
check_jobs(void)
{
	Sample		sample;

	make_sample(&sample);
	sample.jobs[2].first = 1;
	check_refused(&sample, "a job has no files", "a group that is not there");
	make_sample(&sample);
	sample.jobs[0].n = 4;
	check_refused(&sample, "a job has no files", "more files than there are");
	make_sample(&sample);
	sample.jobs[0].task = 7;
	check_refused(&sample, "a job is no task's", "a task that is not there");
}

/* Of an earlier version: a copy, and a restore. */
static void
read_other(const void *arg)
{
	Sample		sample;
	Found		found;

	make_sample(&sample);
	sample.head.run.what = unconstify(char *, (const char *) arg);
	pass_on(&sample, &found);
}

static void
check_others(void)
{
	char	   *message = psprintf("unit_test: error: plan \"%s\" is not that of a dump\n",
								   path);

	child_ends(read_other, "copy", 1, message, "the plan of a copy");
	child_ends(read_other, "restore", 1, message, "the plan of a restore");
	free(message);
	(void) unlink(path);
}

static void
check_damaged(void)
{
	static const char *const texts[] = {
		"", "{", "[]", "{ \"queue\": [1, 2 }", "{ \"jobs\": [ {\"bytes\": -1} ] }",
	"{ \"jobs\": {} }", "{ \"archive\": \"\xff\" }"};
	static const char more[] = "{ \"archive\": \"a\", \"jobs\": [ {\"at_once\": 1} ], \"new\": [{}] }";
	Found		found;

	for (int i = 0; i < (int) lengthof(texts); i++)
	{
		begin(&found);
		plan_read_parse(&found.reader, texts[i], strlen(texts[i]));
		ok(found.reader.json.error != NULL, texts[i]);
	}
	begin(&found);
	plan_read_parse(&found.reader, more, strlen(more));
	is_text(found.reader.json.error, NULL, "members that are not known are passed over");
}

void
test_task_plan(void)
{
	path = psprintf("%s/plan_%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
					(int) getpid());
	check_whole();
	check_jobs();
	check_others();
	check_damaged();
}
