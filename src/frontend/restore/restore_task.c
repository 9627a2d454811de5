/*
 * restore_task.c
 *		One task of a restore by many hosts.
 *
 * The jobs that the plan's queue has for the task are for a pool of this
 * host's own workers, as the leader's would do them: each writes its line in
 * the log on the target in the transaction that loads.  So what another
 * attempt has done, or is doing, is not done again.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "job_log/job_log_archive.h"
#include "job_log/job_log_open.h"
#include "process/worker_process.h"
#include "restore/restore_pool.h"
#include "restore/restore_resume.h"
#include "restore/restore_task.h"
#include "restore_tasks/restore_task_plan.h"
#include "restore_tasks/restore_task_session.h"
#include "session/session_loss.h"
#include "tasks/task_address.h"
#include "tasks/task_result.h"
#include "tasks/task_run.h"
#include "toc/index_attach.h"
#include "toc/toc_context.h"

typedef struct RestoreTask
{
	Options		options;		/* as the plan and this host have them */
	RestoreTaskPlan *task_plan;
	int			task;
	int			n_tasks;
	Archive    *archive;
	ArchivePlan *archive_plan;
	DumpPlan	plan;			/* the archive's, with this task's jobs */
	Target		target;
	RestoreTaskSession session;
	JobLog		log;
	Run			run;
	RestoreWork work;
	bool	   *told;			/* by data file */
	bool	   *objects_told;	/* by large object */
	TaskResults results;
} RestoreTask;

/* ----------
 * What is told
 * ----------
 */
/*
 * In the task's first process, the only one to write results.  Of what
 * another attempt has loaded that one tells, and the log.
 */
static void
job_is_done(void *arg, const Run *run, const Job *job)
{
	RestoreTask *task = arg;
	const FileResults *results = run->results;
	const FileResult *result;

	for (int i = 0; (result = run_job_result(run, job, i)) != NULL; i++)
	{
		bool	   *told = job->kind == JOB_DATA_FILES ?
			&task->told[result - results->files] :
			&task->objects_told[result - results->objects];

		if (!result->done || *told ||
			(!result->incomplete && result->start_us == 0))
			continue;
		task_result_tell(&task->results, results, job, result);
		*told = true;
	}
	task_result_flush(&task->results);
}

/* ----------
 * What else is done meanwhile
 * ----------
 */
static void
note_file(void *arg, const DataFile *file)
{
	RestoreTask *task = arg;

	restore_task_session_note(&task->session, file);
}

static bool
attend(void *arg, bool all_done)
{
	RestoreTask *task = arg;

	if (!all_done)
		restore_task_session_attend(&task->session);
	return true;
}

/* ----------
 * Steps
 * ----------
 */

/* What the leader was told, and this host's -j and way to the server. */
static void
settle_options(RestoreTask *task, const Options *options)
{
	const RestoreTaskHead *head = &task->task_plan->head;

	task->options = *options;
	task->options.restore = head->archive;
	task->options.chunk_bytes = head->chunk_bytes;
	task->options.data_only = head->data_only;
	task->options.disable_triggers = head->disable_triggers;
	task->options.toast_compression = head->toast_compression;
	task_run_settle(&head->run, &task->options, &task->task, &task->n_tasks);
}

static void
connect_first(RestoreTask *task)
{
	interrupt_install_leader();
	interrupt_set_exit_code(WORKER_EXIT_RETRY);
	task->target.options = &task->options;
	task->target.params = task->options.connection;
	task->target.encoding = task->archive->encoding;
	task->target.address = task_address(task->task_plan->head.run.conninfo,
										&task->options.connection,
										TASK_DATABASE_OPTION,
										task->options.password_command);
	task->log.target = &task->target;
	task->log.is_kept = task->log.is_shared = task->log.is_resumed = true;
	task->log.attempt = task->task_plan->head.attempt;
	task->session.plan = task->task_plan;
	task->session.options = &task->options;
	task->session.target = &task->target;
	task->session.log = &task->log;
	task->session.n_workers = Min(task->options.jobs, task->plan.queue->n_jobs);
	restore_task_session_begin(&task->session);
}

/* It must be the leader's: files of this name may be other ones here. */
static void
open_archive(RestoreTask *task)
{
	RestoreTaskPlan *task_plan = task->task_plan;
	char	   *identity;

	task->archive = archive_open(task_plan->head.archive);
	identity = job_log_archive(task->archive);
	if (strcmp(identity, task_plan->head.identity) != 0)
		pg_fatal("archive \"%s\" is another one here than the leader's",
				 task_plan->head.archive);
	free(identity);
	index_attach_chain(task->archive->toc);
	task->archive_plan = archive_plan_make(task->archive,
										   (const int *) task_plan->ids.elements,
										   task_plan->ids.n, &task->options);
	task->plan = task->archive_plan->plan;
}

/* A file that is done in pieces all of this task's workers do together. */
static void
choose_jobs(RestoreTask *task)
{
	const JobQueue *all = restore_task_plan_queue(task->task_plan,
												  task->options.plan,
												  &task->plan);
	JobQueue   *mine = pg_malloc0(sizeof(JobQueue));

	mine->files = all->files;
	for (int i = 0; i < all->n_jobs; i++)
	{
		const Job  *job = &all->jobs[i];
		int			n = job->shared ? task->options.jobs : 1;

		if (job->task != task->task)
			continue;
		mine->jobs = pg_realloc(mine->jobs, (mine->n_jobs + n) * sizeof(Job));
		for (int j = 0; j < n; j++)
			mine->jobs[mine->n_jobs++] = *job;
	}
	task->plan.queue = mine;
}

/* Numbers of a plan, as what they are of is left out. */
static volatile bool *
make_left_out(const PlanArray *numbers, int n)
{
	volatile bool *left_out = shared_memory_new(n, sizeof(bool));

	for (int i = 0; i < numbers->n; i++)
		left_out[((const int *) numbers->elements)[i]] = true;
	return left_out;
}

static void
make_tables(RestoreTask *task)
{
	const RestoreTaskTable *tables =
		(const RestoreTaskTable *) task->task_plan->tables.elements;
	int			n = task->task_plan->tables.n;
	Oid		   *targets = pg_malloc0((n + 1) * sizeof(Oid));
	JobLogKind *kinds = pg_malloc0((n + 1) * sizeof(JobLogKind));
	bool	   *fresh = pg_malloc0((n + 1) * sizeof(bool));

	for (int i = 0; i < n; i++)
	{
		targets[i] = tables[i].oid;
		kinds[i] = tables[i].unlogged ? JOB_LOG_UNLOGGED : JOB_LOG_LASTING;
		fresh[i] = tables[i].fresh;
	}
	task->work.targets = targets;
	task->work.kinds = kinds;
	task->work.fresh = fresh;
}

/* As restore_plan.c and restore_prepare.c do it for workers of the leader. */
static void
prepare_work(RestoreTask *task)
{
	RestoreWork *work = &task->work;
	LongFiles  *long_files;

	task->run.options = &task->options;
	task->run.plan = &task->plan;
	run_make_results(&task->run, CHECKSUM_TYPE_NONE);
	work->archive = task->archive;
	work->plan = task->archive_plan;
	work->target = &task->target;
	work->run = &task->run;
	work->log = &task->log;
	work->left_out = make_left_out(&task->task_plan->left_out,
								   task->plan.chunks->n_files);
	work->objects_left_out = make_left_out(&task->task_plan->objects_left_out,
										   task->plan.objects->n_groups);
	work->has_failed = shared_memory_new(task->plan.chunks->n_files,
										 sizeof(bool));
	work->n_errors = shared_memory_new(1, sizeof(int));
	work->long_files = long_files =
		restore_long_new(task->archive, task->archive_plan,
						 archive_plan_piece_bytes(&task->options));
	long_files->settled = true;
	make_tables(task);
}

static void
read_log(void *arg)
{
	RestoreTask *task = arg;
	JobLog	   *log = &task->log;

	/* what is checked is what is read */
	session_begin_unwatched(task->target.conn, "BEGIN");
	job_log_check_attempt(log, task->target.conn);
	job_log_read(log, task->target.conn);
	PQclear(target_query(task->target.conn, "COMMIT", 0, NULL));
}

/* What others have done by now need be neither done nor told. */
static void
skip_done(RestoreTask *task)
{
	const FileResults *results = task->run.results;
	char	   *cause = session_try(read_log, task);

	if (cause)
		task_run_give_up(cause);
	restore_resume_skip(&task->work);
	task->told = pg_malloc0((results->n_files + 1) * sizeof(bool));
	task->objects_told = pg_malloc0((results->n_objects + 1) * sizeof(bool));
	for (int i = 0; i < results->n_files; i++)
		task->told[i] = task->work.left_out[i];
	for (int i = 0; i < results->n_objects; i++)
		task->objects_told[i] = results->objects[i].done;
}

static void
run_pool(RestoreTask *task)
{
	RestorePoolUse use = {
		.watch = worker_pool_no_watch,
		.note = note_file,
		.done = job_is_done
	};

	use.watch.arg = task;
	use.watch.attend = attend;
	if (task->plan.queue->n_jobs > 0)
		restore_pool_run(&task->work, &task->run, &use);
}

void
restore_task(const Options *options)
{
	RestoreTask *task = pg_malloc0(sizeof(RestoreTask));

	toc_context_share();
	task->task_plan = restore_task_plan_read(options->plan);
	settle_options(task, options);
	open_archive(task);
	choose_jobs(task);
	connect_first(task);
	prepare_work(task);
	skip_done(task);
	task_result_begin(&task->results, task->options.plan, task->task,
					  task->task_plan->head.run.run_id);
	run_pool(task);
	restore_task_session_end(&task->session);
	task_result_end(&task->results);
}
