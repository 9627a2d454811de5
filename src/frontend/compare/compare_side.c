/*
 * compare_side.c
 *		Opens a side of a comparison, and has workers read it.
 */
#include "base/fe_compat.h"

#include "archive/archive_member.h"
#include "base/findings.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "compare/compare_selection.h"
#include "compare/compare_side.h"
#include "process/worker_pool.h"
#include "progress/progress.h"
#include "session/traffic.h"
#include "source/leader.h"
#include "source/leader_plan.h"
#include "source/leader_session.h"
#include "source/source_check.h"
#include "source/worker_session.h"
#include "source/worker_watch.h"
#include "status/run_event.h"

struct CompareSide
{
	const char *name;
	Options		options;
	DumpPlan   *plan;
	Run			run;
	Source		source;			/* of a database */
	bool		begun;			/* its leader's session is kept */
	bool		alike;			/* settings are those of both sides */
	const Archive *archive;		/* or NULL */
	const ArchivePlan *archive_plan;

	/* While it is read */
	const CompareWork *work;
	int		   *jobs;			/* of the plan's queue */
	int			n_jobs;
	int			n_done;
	WorkerSession *session;		/* in a worker, of a database */
};

/* ----------
 * A database
 * ----------
 */

/* pg_dump writes names as it writes rows. */
static void
set_encoding(Options *options, const char *encoding)
{
	const char **args = pg_malloc((options->n_pg_dump_args + 2) * sizeof(char *));

	memcpy(args, options->pg_dump_args,
		   options->n_pg_dump_args * sizeof(char *));
	args[options->n_pg_dump_args++] = psprintf("--encoding=%s", encoding);
	options->pg_dump_args = args;
	options->encoding = encoding;
}

CompareSide *
compare_side_open_database(const Options *options, const char *name,
						   const char *argv0, const char *encoding)
{
	/* exit callbacks and workers use it until the process ends */
	CompareSide *side = pg_malloc0(sizeof(CompareSide));
	StockPgDump *pg_dump;

	side->name = name;
	side->options = *options;
	side->plan = pg_malloc0(sizeof(DumpPlan));
	if (encoding)
		set_encoding(&side->options, encoding);
	side->source.options = side->run.options = &side->options;
	side->source.keep_snapshot = true;
	side->run.plan = side->plan;
	pg_dump = stock_pg_dump_find(&side->options, argv0);
	leader_connect(&side->source);
	compare_selection_fit(side->source.conn, &side->options);
	stock_pg_dump_check(pg_dump, &side->options);
	leader_open(&side->source, pg_dump, side->plan);
	leader_plan(&side->source, pg_dump, side->plan);
	source_check(side->source.conn, &side->options, side->plan);
	findings_settle();
	run_make_results(&side->run, CHECKSUM_TYPE_NONE);
	return side;
}

/* ----------
 * An archive
 * ----------
 */

/*
 * Of all entries, as none is to be restored: the database says what counts.
 */
static ArchivePlan *
plan_archive(const Archive *archive, const Options *options)
{
	const Toc  *toc = archive->toc;
	int		   *ids = pg_malloc((toc->n_entries + 1) * sizeof(int));
	ArchivePlan *result;

	for (int i = 0; i < toc->n_entries; i++)
		ids[i] = toc->entries[i].dump_id;
	result = archive_plan_make(archive, ids, toc->n_entries, options);
	free(ids);
	/* no file is read by several, as those of a restore are */
	result->plan.queue = job_queue_make(result->plan.chunks,
										result->plan.objects, NULL);
	return result;
}

CompareSide *
compare_side_open_archive(const Options *options)
{
	CompareSide *side = pg_malloc0(sizeof(CompareSide));
	ArchivePlan *plan;

	side->name = "the archive";
	side->options = *options;
	side->run.options = &side->options;
	interrupt_install_leader();
	if (archive_open_kind(options->compare_with) == ARCHIVE_TAR)
		pg_fatal("archive \"%s\" is in the tar format, which cannot be compared",
				 options->compare_with);
	side->archive = archive_open(options->compare_with);
	side->archive_plan = plan = plan_archive(side->archive, options);
	side->run.plan = side->plan = &plan->plan;
	archive_plan_refuse_parts(plan);
	return side;
}

/* ----------
 * What it is
 * ----------
 */
const char *
compare_side_name(const CompareSide *side)
{
	return side->name;
}

const DumpPlan *
compare_side_plan(const CompareSide *side)
{
	return side->plan;
}

bool
compare_side_is_archive(const CompareSide *side)
{
	return side->archive != NULL;
}

PGconn *
compare_side_conn(const CompareSide *side)
{
	return side->source.conn;
}

void
compare_side_set_alike(CompareSide *side)
{
	side->alike = true;
}

void
compare_side_set_columns(CompareSide *side, int table, char **columns)
{
	/* nobody else has seen the plan yet */
	side->plan->tables->tables[table].columns = columns;
}

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
start_worker(void *arg, int no)
{
	CompareSide *side = arg;

	if (side->archive == NULL)
		side->session = worker_session_open(&side->source, &side->run, no);
}

static void
stop_worker(void *arg)
{
	CompareSide *side = arg;

	if (side->archive == NULL)
		worker_session_close(side->session);
}

static const Job *
job_of(const CompareSide *side, int job)
{
	return &side->plan->queue->jobs[side->jobs[job]];
}

static char *
describe_job(void *arg, int job, int step)
{
	CompareSide *side = arg;

	return job_describe(side->plan->queue, job_of(side, job), step,
						side->plan->tables, side->plan->objects);
}

/*
 * What, beside session_set_up()'s, decides how a value is written.  The end
 * of a job undoes it.
 */
static const char text_settings_query[] =
"SELECT pg_catalog.set_config('timezone', 'UTC', false),"
" pg_catalog.set_config('bytea_output', 'hex', false),"
" pg_catalog.set_config('lc_monetary', 'C', false)";

static void
read_archive_file(const CompareSide *side, const DataFile *file, Sink *sink)
{
	static char *const no_stop;
	const TocEntry *entry =
		side->archive_plan->rows[file - side->plan->chunks->files].entry;
	char	   *problem;
	ArchiveMember *member = archive_member_open(side->archive, entry, &problem);

	if (member)
		problem = archive_member_send_rows(member, sink, &no_stop);
	if (problem)
		pg_fatal("%s", printable(problem));
	archive_member_close(member);
}

static void
read_file(CompareSide *side, const DataFile *file)
{
	const CompareWork *work = side->work;
	Sink	   *sink = work->begin(work->arg, file);

	if (sink == NULL)
		return;
	if (side->archive)
		read_archive_file(side, file, sink);
	else
		(void) worker_session_read_text(side->session, file, sink);
	sink_finish(sink);
	sink_free(sink);
	work->end(work->arg, file);
}

static void
read_group(CompareSide *side, int no)
{
	const CompareWork *work = side->work;
	const LargeObjectGroup *group = &side->plan->objects->groups[no];
	ObjectSum	sum = side->archive ?
		compare_objects_of_archive(side->archive, &side->archive_plan->groups[no],
								   group, work->seed) :
		compare_objects_of_server(worker_session_conn(side->session), group,
								  work->seed);

	work->group(work->arg, no, &sum);
}

static void
read_job(CompareSide *side, const Job *job, volatile int *step)
{
	const CompareWork *work = side->work;

	if (job->kind == JOB_LARGE_OBJECTS)
	{
		read_group(side, job->first);
		return;
	}
	for (int i = 0; i < job->n; i++)
	{
		const DataFile *file = side->plan->queue->files[job->first + i];

		*step = i;
		if (work->wants(work->arg, file->table))
			read_file(side, file);
	}
}

static bool
run_job(void *arg, int no, volatile int *step)
{
	CompareSide *side = arg;
	const Job  *job = job_of(side, no);
	bool		begun = true;

	if (side->archive == NULL)
	{
		begun = worker_session_begin_job(side->session, job);
		if (begun && side->alike)
			PQclear(session_query(worker_session_conn(side->session),
								  text_settings_query));
	}
	if (begun)
		read_job(side, job, step);
	if (side->archive == NULL)
		worker_session_end_job(side->session);
	return begun;
}

static void
reset_job(void *arg, int no)
{
	CompareSide *side = arg;
	const CompareWork *work = side->work;
	const Job  *job = job_of(side, no);

	run_event_retry(&side->run, side->jobs[no]);
	for (int i = 0; job->kind == JOB_DATA_FILES && i < job->n; i++)
		work->reset(work->arg, side->plan->queue->files[job->first + i]);
}

/* ----------
 * Reading
 * ----------
 */
static bool
wants_job(const CompareSide *side, const Job *job)
{
	const CompareWork *work = side->work;

	if (job->kind == JOB_LARGE_OBJECTS)
		return work->group != NULL;
	for (int i = 0; i < job->n; i++)
		if (work->wants(work->arg, side->plan->queue->files[job->first + i]->table))
			return true;
	return false;
}

static void
choose_jobs(CompareSide *side)
{
	const JobQueue *queue = side->plan->queue;

	free(side->jobs);
	side->jobs = pg_malloc((queue->n_jobs + 1) * sizeof(int));
	side->n_jobs = side->n_done = 0;
	for (int i = 0; i < queue->n_jobs; i++)
		if (wants_job(side, &queue->jobs[i]))
			side->jobs[side->n_jobs++] = i;
}

/* The leader's session, once workers are to start. */
static PoolWatch
watch_source(CompareSide *side)
{
	Source	   *source = &side->source;

	/* signals cancel what the leader waits for */
	interrupt_set_connection(source->conn);
	if (!side->begun)
	{
		source->told = pg_malloc0((side->plan->tables->n_tables + 1) *
								  sizeof(bool));
		leader_session_begin(source, side->plan);
		side->begun = true;
	}
	return worker_watch(source, side->plan);
}

void
compare_side_run(CompareSide *side, const CompareWork *work)
{
	PoolWatch	watch;
	WorkerTask	task = {
		.arg = side,
		.doing = "comparing",
		.max_retries = (int) side->options.retries,
		.outlives_kill = true,
		.n_done = &side->n_done,
		.start = start_worker,
		.run = run_job,
		.stop = stop_worker,
		.describe = describe_job,
		.reset = reset_job,
	};

	side->work = work;
	choose_jobs(side);
	if (side->n_jobs == 0)
		return;
	traffic_set_max_rate(side->options.max_rate);
	watch = side->archive ? progress_watch() : watch_source(side);
	progress_stage_count(side->name, " pieces", &side->n_done, side->n_jobs);
	worker_pool_run(&task, &watch, side->options.jobs, side->n_jobs);
	progress_end();
}

void
compare_side_close(CompareSide *side)
{
	Source	   *source = &side->source;

	if (side->archive)
		return;
	if (side->begun && source->conn)
	{
		/* what was read by name was of the tables that are meant */
		interrupt_set_connection(source->conn);
		leader_session_finish(source->session);
	}
	if (side->begun && !leader_session_is_finished(source->session))
		pg_fatal("the leader's session on %s was lost", side->name);
	leader_close(source);
}
