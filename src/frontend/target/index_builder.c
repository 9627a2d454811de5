/*
 * index_builder.c
 *		The process that builds indexes.
 *
 * pg_restore does it, not a session of ours, as it knows what belongs to a
 * definition: owner, tablespace, settings, and how errors are shown.
 */
#include "base/fe_compat.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/retry.h"
#include "base/shared_memory.h"
#include "process/child_process.h"
#include "process/worker_slots.h"
#include "progress/progress.h"
#include "session/connection.h"
#include "target/index_builder.h"
#include "target/index_look.h"
#include "target/index_queue.h"

/*
 * How often to look for tables that are ready, and for runs that ended: so
 * that the looks themselves take no time to speak of.
 */
#define LOOK_AGAIN_US 5000
#define LOOK_AGAIN_TABLE_US 0.5

/*
 * How long indexes of small tables that are no full batch wait after such a
 * batch for more of them: a run of pg_restore, forked and connected, takes
 * longer than some of their indexes.
 */
#define SMALL_BATCH_MS 500

/* And for the end of a build whose client is gone. */
#define IN_WORK_MS 200

#define NO_SLOT (-1)

/* A run of pg_restore. */
typedef struct IndexRun
{
	PgRestoreRun run;			/* pid 0: the slot is free, or is retried */
	IndexBatch	batch;
	int			build_slot;		/* or NO_SLOT */
	int64		start_us;
	Retry		retry;			/* its session was lost */
} IndexRun;

/* What the builder's process tells the leader. */
typedef struct IndexReport
{
	volatile double seconds;
	volatile int built;
	volatile bool came_to_end;
	volatile bool lost;			/* a session, more often than may be */
} IndexReport;

struct IndexBuilder
{
	IndexPlan	plan;
	pid_t		pid;
	IndexQueue *queue;
	TocEntry   *settings;		/* for every run */
	int			n_settings;
	IndexRun   *runs;
	int			n_runs;
	int			n_running;
	int			run_count;		/* names archives */
	int		   *waiting;		/* tables that do not have all rows yet */
	int			n_waiting;
	int64		small_ms;		/* when small ones were begun last */
	bool		failed;
	bool	   *is_built;		/* by entry of the queue: by a run whose
								 * session was lost then */
	IndexReport *report;		/* shared memory */
	IndexBuild *builds;			/* the same, by entry of the queue */
};

/* ----------
 * In the builder's process
 * ----------
 */
static void
look_for_loaded_tables(IndexBuilder *builder)
{
	const IndexPlan *plan = &builder->plan;
	int			n = 0;

	for (int i = 0; i < builder->n_waiting; i++)
	{
		int			table = builder->waiting[i];

		if (plan->is_loaded(plan->arg, table))
			builder->queue->loaded[table] = true;
		else
			builder->waiting[n++] = table;
	}
	builder->n_waiting = n;
}

/* All entries of the run begin, or, if it went well, end. */
static void
note_builds(IndexBuilder *builder, const IndexRun *run, bool ended)
{
	int64		now = clock_wall_us();

	for (int i = 0; i < run->batch.n_units; i++)
	{
		const IndexUnit *unit = run->batch.units[i];

		for (int j = 0; j < unit->n; j++)
		{
			IndexBuild *build = &builder->builds[unit->first + j];

			build->index_job = run - builder->runs;
			build->together = run->batch.n_entries;
			if (ended)
				index_log_end(build, now);
			else
				index_log_begin(build, now);
		}
	}
}

/* What of its batch is not there yet. */
static void
start_run(IndexBuilder *builder, IndexRun *run)
{
	static const char *const more[] = {NULL};
	TocEntry   *entries = pg_malloc((builder->n_settings + run->batch.n_entries) *
									sizeof(TocEntry));
	char	   *name = psprintf("indexes.%d", builder->run_count++);
	int			n = builder->n_settings;

	memcpy(entries, builder->settings, n * sizeof(TocEntry));
	for (int i = 0; i < run->batch.n_units; i++)
	{
		const IndexUnit *unit = run->batch.units[i];

		for (int j = unit->first; j < unit->first + unit->n; j++)
			if (!builder->is_built[j])
				entries[n++] = builder->queue->entries[j];
	}
	run->run.is_repeated = true;
	stock_pg_restore_start(&run->run, &builder->plan.setup, name, entries, n, more);
	free(name);
	free(entries);
}

static void
begin_run(IndexBuilder *builder, IndexRun *run)
{
	run->start_us = clock_wall_us();
	note_builds(builder, run, false);
	start_run(builder, run);
	builder->n_running++;
	if (index_batch_is_small(&run->batch))
		builder->small_ms = clock_monotonic_ms();
}

static bool
take_slot(IndexRun *run)
{
	if (!worker_slots_are_used())
		return true;
	run->build_slot = worker_slots_take_build();
	return run->build_slot >= 0;
}

static void
give_slot_back(IndexRun *run)
{
	if (run->build_slot >= 0)
		close(run->build_slot);
	run->build_slot = NO_SLOT;
}

/* As long as more rows come, there need not be a run for every few tables. */
static bool
take_batch(IndexBuilder *builder, IndexBatch *batch)
{
	bool		full = builder->n_waiting > 0 && builder->small_ms != 0 &&
		clock_monotonic_ms() < builder->small_ms + SMALL_BATCH_MS;

	return index_queue_take(builder->queue, batch, full);
}

/* False if there is nothing to be built now, or others build too much. */
static bool
begin_next(IndexBuilder *builder, IndexRun *run)
{
	if (!take_slot(run))
		return false;
	if (!take_batch(builder, &run->batch))
	{
		give_slot_back(run);
		return false;
	}
	begin_run(builder, run);
	return true;
}

/* ----------
 * Lost sessions
 * ----------
 */

/* Its slot is free. */
static void
end_run(IndexBuilder *builder, IndexRun *run)
{
	builder->n_running--;
	memset(&run->retry, 0, sizeof(Retry));
	index_queue_release(builder->queue, &run->batch);
	run->batch.n_units = 0;
	give_slot_back(run);
}

/* The cause is owned. */
static void
retry_run(IndexBuilder *builder, IndexRun *run, char *cause)
{
	int			max = (int) builder->plan.setup.options->retries;

	if (builder->report->lost || run->retry.n >= max)
	{
		pg_log_error("pg_restore lost its connection while building indexes: %s",
					 cause);
		builder->report->lost = builder->failed = true;
		end_run(builder, run);
	}
	else
	{
		int			delay_ms = retry_later(&run->retry);

		pg_log_warning("pg_restore lost its connection while building indexes; retry %d of %d in %.1f s",
					   run->retry.n, max, delay_ms / 1000.0);
		pg_log_warning_detail("%s", cause);
	}
	free(cause);
}

static void
begin_anew(IndexBuilder *builder, IndexRun *run)
{
	PGconn	   *conn = connection_try_peer(builder->plan.target_address,
										   "pg_pardump");

	run->retry.at = 0;
	if (index_look_at_batch(conn, &run->batch, builder->builds,
							builder->is_built))
		start_run(builder, run);
	else if (PQstatus(conn) == CONNECTION_OK)
		run->retry.at = clock_monotonic_ms() + IN_WORK_MS;
	else
		retry_run(builder, run, pg_strdup(connection_words(conn)));
	PQfinish(conn);
}

/* If the run has ended, note its result, and free its slot. */
static void
look_at_run(IndexBuilder *builder, IndexRun *run)
{
	bool		ok;

	if (run->run.pid == 0 || !stock_pg_restore_ended(&run->run, &ok))
		return;
	if (run->run.loss)
	{
		retry_run(builder, run, run->run.loss);
		return;
	}
	builder->report->seconds += (clock_wall_us() - run->start_us) / 1e6;
	if (ok)
	{
		note_builds(builder, run, true);
		builder->report->built += run->batch.n_entries;
	}
	else
		builder->failed = true;
	end_run(builder, run);
}

static void
builder_main(IndexBuilder *builder)
{
	IndexQueue *queue = builder->queue;
	long		wait_us = LOOK_AGAIN_US +
		(long) (builder->plan.tables->n_tables * LOOK_AGAIN_TABLE_US);

	while (queue->n_taken < queue->n_units || builder->n_running > 0)
	{
		bool		may_begin = true;

		look_for_loaded_tables(builder);
		for (int i = 0; i < builder->n_runs; i++)
		{
			IndexRun   *run = &builder->runs[i];

			look_at_run(builder, run);
			if (retry_is_due(&run->retry))
				begin_anew(builder, run);
			else if (run->batch.n_units == 0 && may_begin)
				may_begin = begin_next(builder, run);
		}
		pg_usleep(wait_us);
	}
	builder->report->came_to_end = true;
	_exit(builder->failed ? 1 : 0);
}

/* ----------
 * In the leader
 * ----------
 */

/* An exit callback. */
static void
end_builder(void *arg)
{
	IndexBuilder *builder = arg;

	child_process_end_all(&builder->pid, 1);
}

static IndexBuilder *
new_builder(const IndexPlan *plan)
{
	IndexBuilder *builder = pg_malloc0(sizeof(IndexBuilder));
	const Options *options = plan->setup.options;
	IndexQueue *queue = index_queue_make(plan->schedule, plan->tables);
	int			n_own;

	builder->plan = *plan;
	builder->queue = queue;
	builder->settings = restore_schedule_entries(plan->schedule, RESTORE_ALWAYS,
												 &builder->n_settings, &n_own);
	builder->n_runs = options->index_jobs != 0 ?
		(int) options->index_jobs : options->jobs;
	builder->runs = pg_malloc0(builder->n_runs * sizeof(IndexRun));
	for (int i = 0; i < builder->n_runs; i++)
		builder->runs[i].build_slot = NO_SLOT;
	builder->report = shared_memory_new(1, sizeof(IndexReport));
	builder->builds = index_log_new(queue->n_entries);
	builder->is_built = pg_malloc0(queue->n_entries + 1);
	builder->waiting = pg_malloc((plan->tables->n_tables + 1) * sizeof(int));
	for (int i = 0; i < plan->tables->n_tables; i++)
		builder->waiting[builder->n_waiting++] = i;
	for (int i = 0; i < queue->n_entries; i++)
	{
		builder->builds[i].entry = &queue->entries[i];
		builder->builds[i].table = &plan->tables->tables[queue->tables[i]];
	}
	return builder;
}

IndexBuilder *
index_builder_start(const IndexPlan *plan)
{
	IndexBuilder *builder = new_builder(plan);
	pid_t		leader = getpid();

	cleanup_push(end_builder, builder);
	/* what is buffered would be written by both */
	fflush(NULL);
	/* no signal may find the child with the leader's handlers */
	interrupt_hold_signals();
	builder->pid = fork();
	if (builder->pid == 0)
	{
		interrupt_install_worker(leader, NULL);
		interrupt_release_signals();
		worker_slots_forget();
		builder_main(builder);
	}
	interrupt_release_signals();
	if (builder->pid < 0)
	{
		builder->pid = 0;		/* end_builder() has nothing to end */
		pg_fatal("could not create child process: %m");
	}
	return builder;
}

/* Returns its exit status, as waitpid() has it. */
static int
wait_for_builder(IndexBuilder *builder)
{
	int			status;
	pid_t		gone;

	for (;;)
	{
		interrupt_check();
		gone = waitpid(builder->pid, &status, WNOHANG);
		if (gone < 0 && errno != EINTR)
			pg_fatal("%s() failed: %m", "waitpid");
		if (gone > 0)
			break;
		progress_tick();
		pg_usleep(LOOK_AGAIN_US);
	}
	builder->pid = 0;
	return status;
}

/* It counts as one error, however many indexes are missing by it. */
static void
note_loss(const IndexBuilder *builder)
{
	pg_log_error_detail("%d of %d indexes and constraints were not built.",
						builder->queue->n_entries - builder->report->built,
						builder->queue->n_entries);
	if (builder->plan.setup.n_errors)
		(void) __sync_fetch_and_add(builder->plan.setup.n_errors, 1);
}

bool
index_builder_finish(IndexBuilder *builder)
{
	IndexLook	look = {.target_address = builder->plan.target_address};
	int			status;

	if (builder->queue->n_entries > 0)
		progress_stage_count("indexes", "", index_builder_counter(builder),
							 builder->queue->n_entries);
	progress_set_detail(index_look_add, &look);
	status = wait_for_builder(builder);
	progress_end();
	index_look_end(&look);
	if (WIFSIGNALED(status))
		pg_log_error("the process that builds indexes was terminated by signal %d: %s",
					 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (!builder->report->came_to_end)
		note_loss(builder);
	/* what can be resumed is not passed over */
	if (builder->plan.setup.n_errors &&
		(builder->report->lost || !builder->report->came_to_end))
		exit(1);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

double
index_builder_seconds(const IndexBuilder *builder)
{
	return builder->report->seconds;
}

const IndexBuild *
index_builder_builds(const IndexBuilder *builder)
{
	return builder->builds;
}

int
index_builder_entries(const IndexBuilder *builder)
{
	return builder->queue->n_entries;
}

const volatile int *
index_builder_counter(const IndexBuilder *builder)
{
	return &builder->report->built;
}

int
index_builder_built(const IndexBuilder *builder)
{
	return builder->report->built;
}
