/*
 * index_builder.c
 *		Builds indexes in a separate process, while the leader's workers load
 *		rows.
 *
 * The leader is busy with its pool of workers, so a second process has a pool
 * of its own for indexes.  Both share only memory: at intervals, the process
 * looks at the results of files, and hands out the indexes of complete
 * tables.  After the leader has finished the rows it waits for this process.
 *
 * Jobs are sorted by the time of all builds that wait for them, so that the
 * longest chain of builds begins first.
 */
#include "base/fe_compat.h"

#include <sys/timerfd.h>
#include <sys/wait.h>

#include "fe_utils/string_utils.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "load/definition_session.h"
#include "load/index_builder.h"
#include "process/worker_slots.h"

/* ----------
 * The progress of an index build, as the target reports it.
 * ----------
 */

#define INDEX_LOOK_PHASE_BYTES 64

/* Before the first query, all members except the first two are zero. */
typedef struct IndexLook
{
	const PeerAddress *target_address;
	ProgressCompose add_rest;	/* see IndexPlan */
	PGconn	   *conn;			/* a separate session; NULL before the first
								 * query */
	bool		given_up;		/* the target cannot be queried */
	char		phase[INDEX_LOOK_PHASE_BYTES];	/* ends in a space */
	double		share;			/* finished share of the build; 0 = unknown */
} IndexLook;

#define LOOK_WAIT_MS 500

/* The beginning of the names of all phases with a measure. */
#define PHASE_PREFIX "building index: "

/*
 * The index is not visible before its transaction commits, so the query shows
 * its table.  The query takes no lock on a table, because the lock of a
 * constraint may be taken.  Phases are measured in blocks or in tuples.
 */
static const char look_query[] =
"SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), p.phase,"
" p.blocks_done, p.blocks_total, p.tuples_done, p.tuples_total"
" FROM pg_catalog.pg_stat_progress_create_index p"
" JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) p.pid"
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) p.relid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE p.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
" AND a.usename OPERATOR(pg_catalog.=) SESSION_USER"
" ORDER BY a.query_start, p.pid LIMIT 1";

/*
 * Query the progress of a build in a separate session, only for the display.
 * If the session cannot connect, or gets no answer in time, it is not used
 * again in this run: the display must not delay the run.
 */
static PGresult *
take_look(IndexLook *look)
{
	PGresult   *res = NULL;

	if (look->conn == NULL)
		look->conn = connection_try_peer(look->target_address, "pg_pardump");
	if (PQstatus(look->conn) == CONNECTION_OK)
		res = session_exec_within(look->conn, look_query, LOOK_WAIT_MS);
	if (PQresultStatus(res) == PGRES_TUPLES_OK)
		return res;
	look->given_up = true;
	PQclear(res);
	return NULL;
}

/*
 * The phases of a B-tree's build, and the share of the build at which each
 * ends.
 */
static const struct
{
	const char *name;
	double		end;
}			phases[] = {
	{"scanning table", 0.55},
	{"sorting live tuples", 0.62},
	{"sorting dead tuples", 0.62},
	{"loading tuples in tree", 1}
};

/* The finished share of the build; 0 if its phase is none of these. */
static double
build_share(const char *phase, int percent)
{
	double		begin = 0;

	for (int i = 0; i < (int) lengthof(phases); i++)
	{
		if (strcmp(phase, phases[i].name) == 0)
			return begin + (phases[i].end - begin) * Max(percent, 0) / 100;
		begin = phases[i].end;
	}
	return 0;
}

/* The finished share of the phase in percent; -1 if it is not measured. */
static int
percent_done(const PGresult *res)
{
	for (int column = 2; column <= 4; column += 2)
	{
		double		done = atof(PQgetvalue(res, 0, column));
		double		total = atof(PQgetvalue(res, 0, column + 1));

		/*
		 * The count of blocks stays at its maximum while tuples are counted.
		 */
		if (total > 0 && (done < total || column == 4))
			return (int) Min(Max(100 * done / total, 0), 100);
	}
	return -1;
}

/*
 * A ProgressCompose callback.  It adds the table of the oldest build, the
 * phase and its finished share, if there is such a build and the target
 * answers within a moment; and the remaining time.  An error here is not an
 * error of the run.
 */
static void
index_look_add(void *arg, ProgressLine *line, bool at_end)
{
	IndexLook  *look = arg;
	PGresult   *res = look->given_up ? NULL : take_look(look);

	look->share = 0;
	if (res && PQntuples(res) == 1)
	{
		const char *phase = printable(PQgetvalue(res, 0, 1));
		int			percent = percent_done(res);

		if (strncmp(phase, PHASE_PREFIX, strlen(PHASE_PREFIX)) == 0)
			phase += strlen(PHASE_PREFIX);
		look->share = build_share(phase, percent);
		snprintf(look->phase, sizeof(look->phase), "%.60s ", phase);
		progress_line_add_name(line, 1, PQgetvalue(res, 0, 0));
		if (percent >= 0)
			progress_line_add(line, 2, look->phase, "", "%d%%", percent);
		else
			progress_line_add(line, 2, "", "", "%.60s", phase);
	}
	PQclear(res);
	look->add_rest(&look->share, line, at_end);
}

/* ----------
 * The times of each index build, for the event log and the report.
 * ----------
 */

int
index_log_built(const IndexBuilds *builds)
{
	return builds->totals->made - builds->totals->failed;
}

/*
 * The tag of a constraint begins with that of its table (pg_dump's
 * dumpConstraint()).
 */
char *
index_log_name(const IndexBuild *build)
{
	const TocEntry *entry = build->entry;
	const char *table = build->table->entry->tag;
	const char *name = entry->tag;
	size_t		len = strlen(table);

	if (toc_entry_is(entry, "CONSTRAINT") &&
		strncmp(name, table, len) == 0 && name[len] == ' ')
		name += len + 1;
	return pg_strdup(fmtQualifiedId(entry->namespace, name));
}

static Event *
index_event(const char *kind, const IndexBuild *build)
{
	Event	   *event = event_new(kind);

	if (event == NULL)
		return NULL;
	event_add_number(event, "worker", build->index_job);
	event_add_text(event, "name", index_log_name(build));
	event_add_text(event, "table", build->table->name);
	event_add_number(event, "together", build->together);
	return event;
}

/* ----------
 * The queue of indexes that can be built next.
 * ----------
 */

/*
 * For tables below this size, all indexes are one unit, and the server builds
 * them.
 */
#define SMALL_TABLE_BYTES ((uint64) 8 * 1024 * 1024)

/*
 * For tables with fewer rows, the comparison with the server's builds would
 * take longer than it saves.
 */
#define FEW_ROWS 100000

typedef struct SortedEntry
{
	ScriptEntry entry;
	int			no;				/* number in the script */
	int			table;
	uint64		bytes;			/* bytes of the table */
	double		rows;			/* rows of the table; 0 = unknown */
	uint64		path;			/* including everything that can only be built
								 * after it */
} SortedEntry;

static int
compare_entries(const void *a, const void *b)
{
	const SortedEntry *e1 = a;
	const SortedEntry *e2 = b;

	if (e1->path != e2->path)
		return e1->path > e2->path ? -1 : 1;
	if (e1->table != e2->table)
		return e1->table < e2->table ? -1 : 1;
	return e1->no - e2->no;
}

/*
 * Estimate how long an entry and everything that waits for it will take, in
 * bytes of tables.  Constraints of a table lock it against each other, so
 * they are built one after the other, and after its indexes, which can be
 * built concurrently.  The entries of a small table are one job.
 */
static void
set_paths(SortedEntry *sorted, int n, const DumpTables *tables)
{
	int		   *constraints = pg_malloc0((tables->n_tables + 1) * sizeof(int));

	for (int i = n - 1; i >= 0; i--)
		if (toc_entry_is(sorted[i].entry.entry, "CONSTRAINT"))
			sorted[i].path = sorted[i].bytes * ++constraints[sorted[i].table];
	for (int i = 0; i < n; i++)
		if (sorted[i].bytes < SMALL_TABLE_BYTES)
			sorted[i].path = sorted[i].bytes;
		else if (!toc_entry_is(sorted[i].entry.entry, "CONSTRAINT"))
			sorted[i].path = sorted[i].bytes * (1 + constraints[sorted[i].table]);
}

static void
add_unit(IndexQueue *queue, const SortedEntry *entry, int no)
{
	DefinitionJobs *jobs = &queue->jobs;
	int			last = jobs->n_jobs - 1;
	bool		small = entry->bytes < SMALL_TABLE_BYTES;

	if (last < 0 || queue->units[last].table != entry->table || !small)
	{
		IndexUnit  *unit = &queue->units[++last];

		unit->table = entry->table;
		unit->exclusive = small || toc_entry_is(entry->entry.entry, "CONSTRAINT");
		jobs->jobs[last].first = no;
		jobs->jobs[last].long_lasting = true;
		jobs->jobs[last].large = !small &&
			(entry->rows <= 0 || entry->rows >= FEW_ROWS);
		jobs->n_jobs++;
	}
	jobs->jobs[last].n++;
}

/*
 * Returns the table for whose rows an entry waits, by dump ID; the caller
 * owns the array.
 */
static int *
tables_by_id(const RestoreSchedule *schedule)
{
	const Toc  *toc = schedule->toc;
	int		   *result = pg_malloc0((toc->max_dump_id + 1) * sizeof(int));

	for (int i = 0; i < toc->n_entries; i++)
		result[toc->entries[i].dump_id] = schedule->tables[i];
	return result;
}

IndexQueue *
index_queue_make(Script *script, const RestoreSchedule *schedule,
				 const DumpTables *tables)
{
	IndexQueue *queue = pg_malloc0(sizeof(IndexQueue));
	int		   *by_id = tables_by_id(schedule);
	int			n = script->n_entries;
	SortedEntry *sorted = pg_malloc0((n + 1) * sizeof(SortedEntry));

	for (int i = 0; i < n; i++)
	{
		sorted[i].entry = script->entries[i];
		sorted[i].no = i;
		sorted[i].table = by_id[script->entries[i].entry->dump_id];
		sorted[i].bytes = tables->tables[sorted[i].table].total_bytes;
		sorted[i].rows = tables->tables[sorted[i].table].est_rows;
	}
	set_paths(sorted, n, tables);
	qsort(sorted, n, sizeof(SortedEntry), compare_entries);
	queue->jobs.script = script;
	queue->jobs.toc = schedule->toc;
	queue->jobs.jobs = pg_malloc0((n + 1) * sizeof(DefinitionJob));
	queue->units = pg_malloc0((n + 1) * sizeof(IndexUnit));
	queue->tables = pg_malloc((n + 1) * sizeof(int));
	for (int i = 0; i < n; i++)
	{
		script->entries[i] = sorted[i].entry;
		queue->tables[i] = sorted[i].table;
		add_unit(queue, &sorted[i], i);
	}
	queue->loaded = pg_malloc0(tables->n_tables + 1);
	queue->in_use = pg_malloc0((tables->n_tables + 1) * sizeof(int));
	return queue;
}

bool
index_queue_take(IndexQueue *queue, int no)
{
	const IndexUnit *unit = &queue->units[no];
	int		   *in_use = &queue->in_use[unit->table];

	if (!queue->loaded[unit->table] || *in_use < 0 ||
		(unit->exclusive && *in_use > 0))
		return false;
	*in_use = unit->exclusive ? -1 : *in_use + 1;
	return true;
}

void
index_queue_release(IndexQueue *queue, int no)
{
	int		   *in_use = &queue->in_use[queue->units[no].table];

	*in_use = queue->units[no].exclusive ? 0 : *in_use - 1;
}

/* ----------
 * The process that builds indexes, and its workers.
 * ----------
 */

/*
 * How often to look for complete tables.  The interval grows with the number
 * of tables, so that this takes little time.
 */
#define LOOK_AGAIN_US 5000
#define LOOK_AGAIN_TABLE_US 0.5

/*
 * A signal just before the wait for the process does not end the wait, so
 * check again after this time.
 */
#define BUILDER_WAIT_MS 200

/* A session that has been idle for this long may be lost. */
#define IDLE_MS 60000

struct IndexBuilder
{
	IndexPlan	plan;
	pid_t		pid;			/* 0: ended, or there is nothing to build */
	IndexQueue *queue;
	IndexBuilds builds;			/* by entry of the script */
	DefinitionWork work;
	int			n_workers;
	int		   *waiting;		/* tables that are not complete yet */
	int			n_waiting;
	int			timer;			/* in the builder's process: when to look
								 * again */
	int			worker_no;		/* in a worker: its number */
	DefinitionWorker *worker;	/* NULL without a session */
	int64		worked_ms;		/* end of its last job */
};

/* ----------
 * In a worker
 * ----------
 */
static void
index_builder_start_worker(void *arg, int no)
{
	IndexBuilder *builder = arg;

	builder->worker_no = no;
	builder->worker = NULL;
}

static void
index_builder_stop_worker(void *arg)
{
	IndexBuilder *builder = arg;

	if (builder->worker)
		definition_worker_stop(builder->worker);
	builder->worker = NULL;
}

/*
 * Note the begin of all entries of the job.  If a lost worker has begun them
 * already, its times stay.
 */
static void
note_begin(IndexBuilder *builder, const DefinitionJob *job)
{
	int64		now = clock_wall_us();

	for (int i = job->first; i < job->first + job->n; i++)
	{
		IndexBuild *build = &builder->builds.builds[i];

		build->index_job = builder->worker_no;
		if (build->start_us == 0)
		{
			build->start_us = now;
			event_write(index_event("index_start", build));
		}
	}
}

static bool
index_builder_run_job(void *arg, int no, volatile int *step)
{
	IndexBuilder *builder = arg;
	const DefinitionJob *job = &builder->queue->jobs.jobs[no];
	IndexBuild *builds;
	IndexTotals *totals;
	int64		now;
	int			n_failed;

	/*
	 * The session was opened for the first job, and may have been idle for
	 * hours.
	 */
	if (builder->worker && clock_monotonic_ms() > builder->worked_ms + IDLE_MS)
		index_builder_stop_worker(builder);
	if (builder->worker == NULL)
		builder->worker = definition_worker_start(&builder->work);
	note_begin(builder, job);
	definition_worker_run(builder->worker, no, step);
	/* Note the end of the builds, even if there were errors. */
	builds = builder->builds.builds;
	totals = builder->builds.totals;
	now = clock_wall_us();
	n_failed = builder->work.notes[no].n_failed;
	for (int i = job->first; n_failed == 0 && i < job->first + job->n; i++)
	{
		Event	   *event = index_event("index_end", &builds[i]);

		builds[i].end_us = now;
		event_add_seconds(event, "seconds", (now - builds[i].start_us) / 1e6);
		event_write(event);
	}
	(void) __sync_fetch_and_add(&totals->failed, n_failed);
	(void) __sync_fetch_and_add(&totals->busy_us, now - builds[job->first].start_us);
	builder->worked_ms = clock_monotonic_ms();
	return true;
}

/* ----------
 * In the builder's process
 * ----------
 */
static char *
index_builder_describe_job(void *arg, int job, int step)
{
	IndexBuilder *builder = arg;

	return definition_jobs_describe(&builder->queue->jobs, job, step);
}

static bool
index_builder_begin_job(void *arg, int job)
{
	return index_queue_take(((IndexBuilder *) arg)->queue, job);
}

static void
index_builder_job_is_done(void *arg, int job)
{
	index_queue_release(((IndexBuilder *) arg)->queue, job);
}

static int
index_builder_watch_fd(void *arg)
{
	return ((IndexBuilder *) arg)->timer;
}

/*
 * Complete tables are removed from the list of tables to check, so that a
 * check becomes cheaper as the run proceeds.
 */
static bool
index_builder_attend(void *arg, bool all_done)
{
	IndexBuilder *builder = arg;
	const IndexPlan *plan = &builder->plan;
	uint64		n_expired;
	int			n = 0;

	/*
	 * Reset the timer.  The read does not block, and its result does not
	 * matter.
	 */
	if (read(builder->timer, &n_expired, sizeof(n_expired)) < 0)
		n_expired = 0;
	for (int i = 0; i < builder->n_waiting; i++)
	{
		int			table = builder->waiting[i];

		if (plan->is_loaded(plan->arg, table))
			builder->queue->loaded[table] = true;
		else
			builder->waiting[n++] = table;
	}
	builder->n_waiting = n;
	return true;
}

/*
 * The pool waits in poll(), so a descriptor must become readable when it is
 * time to look again.  With more tables a check takes longer, so the interval
 * grows with their number.
 */
static void
start_timer(IndexBuilder *builder)
{
	long		us = LOOK_AGAIN_US +
		(long) (builder->plan.tables->n_tables * LOOK_AGAIN_TABLE_US);
	struct itimerspec spec = {
		.it_interval = {us / 1000000, us % 1000000 * 1000},
		.it_value = {0, 1}
	};

	builder->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (builder->timer < 0 || timerfd_settime(builder->timer, 0, &spec, NULL) < 0)
		pg_fatal("could not create a timer: %m");
}

static void
builder_main(IndexBuilder *builder)
{
	PoolWatch	watch = worker_pool_no_watch;
	WorkerTask	task = {
		.arg = builder,
		.job_detail = "The worker was building %s.",
		.max_retries = (int) builder->plan.stages->setup.options->retries,
		.outlives_kill = true,
		.has_slots = true,
		.builds = true,
		.start = index_builder_start_worker,
		.run = index_builder_run_job,
		.stop = index_builder_stop_worker,
		.describe = index_builder_describe_job,
		.begin = index_builder_begin_job,
		.done = index_builder_job_is_done,
	};

	watch.arg = builder;
	watch.watch_fd = index_builder_watch_fd;
	watch.attend = index_builder_attend;
	start_timer(builder);
	worker_pool_run(&task, &watch, builder->n_workers,
					builder->queue->jobs.n_jobs);
	builder->builds.totals->came_to_end = true;
	exit(0);
}

/* ----------
 * In the leader
 * ----------
 */

/* Describe the builds, by entry of the script. */
static void
describe_builds(IndexBuilder *builder)
{
	const IndexQueue *queue = builder->queue;
	const DumpTables *tables = builder->plan.tables;

	builder->builds.n = queue->jobs.script->n_entries;
	builder->builds.builds = shared_memory_new(builder->builds.n, sizeof(IndexBuild));
	builder->builds.totals = shared_memory_new(1, sizeof(IndexTotals));
	for (int i = 0; i < queue->jobs.n_jobs; i++)
	{
		const DefinitionJob *job = &queue->jobs.jobs[i];

		for (int j = job->first; j < job->first + job->n; j++)
		{
			IndexBuild *build = &builder->builds.builds[j];

			build->entry = queue->jobs.script->entries[j].entry;
			build->table = &tables->tables[queue->tables[j]];
			build->together = job->n;
		}
	}
}

/*
 * Index builds commit with synchronous_commit = local: if the target crashes
 * the workers continue, and a build that counts as done must not be lost.
 */
static IndexBuilder *
new_builder(const IndexPlan *plan)
{
	IndexBuilder *builder = pg_malloc0(sizeof(IndexBuilder));
	RestoreStages *stages = plan->stages;
	const Options *options = stages->setup.options;
	int			n_entries;
	int			n_own;
	TocEntry   *entries = restore_schedule_entries(stages->schedule,
												   RESTORE_INDEXES,
												   &n_entries, &n_own);
	Script	   *script = n_own == 0 ? pg_malloc0(sizeof(Script)) :
		script_read(&stages->setup, "indexes", entries, n_entries);

	builder->plan = *plan;
	builder->queue = index_queue_make(script, stages->schedule, plan->tables);
	describe_builds(builder);
	builder->n_workers = options->index_jobs != 0 ?
		(int) options->index_jobs : options->jobs;
	builder->waiting = pg_malloc((plan->tables->n_tables + 1) * sizeof(int));
	for (int i = 0; i < plan->tables->n_tables; i++)
		builder->waiting[builder->n_waiting++] = i;
	builder->work.stages = stages;
	builder->work.journal = plan->journal;
	builder->work.script = script;
	builder->work.jobs = &builder->queue->jobs;
	builder->work.notes = shared_memory_new(builder->queue->jobs.n_jobs,
											sizeof(DefinitionNote));
	builder->work.n_made = &builder->builds.totals->made;
	builder->work.n_existing = shared_memory_new(1, sizeof(int));
	builder->work.head_reported = definition_session_head_reported();
	/* "local", because a build that counts as done must survive a crash. */
	builder->work.address = target_restore_address(stages->target, "local");
	return builder;
}

IndexBuilder *
index_builder_start(const IndexPlan *plan)
{
	IndexBuilder *builder = new_builder(plan);
	pid_t		leader = getpid();

	if (builder->builds.n == 0)
	{
		builder->builds.totals->came_to_end = true;
		return builder;
	}
	cleanup_push(child_process_end, &builder->pid);
	builder->pid = interrupt_fork();
	if (builder->pid == 0)
	{
		interrupt_install_worker(leader, NULL);
		interrupt_release_signals();
		worker_slots_forget();

		/*
		 * The child only has to end its own workers, not to undo the leader's
		 * steps.
		 */
		cleanup_begin_process();
		builder_main(builder);
	}
	return builder;
}

/* Wait for the process.  Returns its status from waitpid(). */
static int
wait_for_builder(IndexBuilder *builder)
{
	int			status = 0;

	while (builder->pid > 0)
	{
		interrupt_check();
		if (child_process_wait(builder->pid, &status, BUILDER_WAIT_MS))
			builder->pid = 0;
		else
			progress_tick();
	}
	return status;
}

bool
index_builder_finish(IndexBuilder *builder)
{
	const IndexBuilds *builds = &builder->builds;
	IndexLook	look = {
		.target_address = builder->plan.stages->target->address,
		.add_rest = builder->plan.add_rest
	};
	int			status;

	if (builds->n > 0)
		progress_stage_count("indexes", "", &builds->totals->made, builds->n);
	progress_set_detail(index_look_add, &look);
	status = wait_for_builder(builder);
	progress_end();
	session_close(look.conn);
	if (builds->totals->came_to_end)
		return true;
	if (WIFSIGNALED(status))
		pg_log_error("the process that builds indexes was terminated by signal %d: %s",
					 WTERMSIG(status), strsignal(WTERMSIG(status)));
	pg_log_error(ngettext("could not build %d of %d index or constraint",
						  "could not build %d of %d indexes and constraints",
						  builds->n),
				 builds->n - index_log_built(builds), builds->n);
	return false;
}

const IndexBuilds *
index_builder_builds(const IndexBuilder *builder)
{
	return &builder->builds;
}
