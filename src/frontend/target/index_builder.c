/*
 * index_builder.c
 *		The process that builds indexes.
 *
 * pg_restore does it, not a session of ours, as it knows what belongs to a
 * definition: owner, tablespace, settings, and how errors are shown.
 *
 * A unit is what one run of pg_restore builds: one entry of a large table, or
 * all entries of a small one; many small tables that are ready go in one run.
 * CREATE INDEX commands of one table run side by side, but a constraint locks
 * its table against all else, so such a unit is exclusive.
 */
#include "base/fe_compat.h"

#include <sys/wait.h>
#include <unistd.h>

#include "archive/file_result.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "process/child_process.h"
#include "progress/progress.h"
#include "target/index_builder.h"
#include "target/index_look.h"

/* Below this a table's indexes are one unit. */
#define SMALL_TABLE_BYTES ((uint64) 8 * 1024 * 1024)

/* Entries of small tables in one run. */
#define RUN_ENTRIES 200

/* How often to look for tables that are ready, and for runs that ended. */
#define LOOK_AGAIN_US 20000

typedef struct IndexUnit
{
	int			table;			/* index in DumpTables */
	int			first;			/* in IndexBuilder.entries */
	int			n;
	uint64		bytes;			/* of the table */
	bool		small;
	bool		exclusive;
	bool		started;
} IndexUnit;

/* A run of pg_restore, with its units. */
typedef struct IndexRun
{
	PgRestoreRun run;			/* pid 0: the slot is free */
	int		   *units;
	int			n_units;
	int			n_entries;
	int64		start_us;
} IndexRun;

/* What the builder's process tells the leader. */
typedef struct IndexReport
{
	volatile double seconds;
	volatile int built;
} IndexReport;

struct IndexBuilder
{
	IndexPlan	plan;
	pid_t		pid;
	TocEntry   *entries;		/* of one table together, then settings */
	int			n_entries;
	TocEntry   *settings;
	int			n_settings;
	IndexUnit  *units;			/* largest table first */
	int			n_units;
	int			n_started;
	IndexRun   *runs;
	int			n_runs;
	int			n_running;
	int			run_count;		/* names archives */
	bool	   *ready;			/* by table: has it all its rows? */
	int		   *in_use;			/* by table: units being built, or -1 for an
								 * exclusive one */
	bool		failed;
	IndexReport *report;		/* shared memory */
	IndexBuild *builds;			/* the same, by entry */
};

/* ----------
 * Units
 * ----------
 */
typedef struct SortedEntry
{
	const TocEntry *entry;
	int			table;
	uint64		bytes;
} SortedEntry;

static int
compare_entries(const void *a, const void *b)
{
	const SortedEntry *e1 = a;
	const SortedEntry *e2 = b;

	if (e1->bytes != e2->bytes)
		return e1->bytes > e2->bytes ? -1 : 1;
	if (e1->table != e2->table)
		return e1->table < e2->table ? -1 : 1;
	return e1->entry < e2->entry ? -1 : e1->entry > e2->entry;
}

static void
add_unit(IndexBuilder *builder, const SortedEntry *entry, int no)
{
	IndexUnit  *unit = builder->n_units > 0 ?
		&builder->units[builder->n_units - 1] : NULL;
	bool		small = entry->bytes < SMALL_TABLE_BYTES;

	if (unit == NULL || unit->table != entry->table || !small)
	{
		unit = &builder->units[builder->n_units++];
		memset(unit, 0, sizeof(IndexUnit));
		unit->table = entry->table;
		unit->first = no;
		unit->bytes = entry->bytes;
		unit->small = small;
		unit->exclusive = small || toc_entry_is(entry->entry, "CONSTRAINT");
	}
	unit->n++;
}

static void
plan_units(IndexBuilder *builder)
{
	const RestoreSchedule *schedule = builder->plan.schedule;
	const Toc  *toc = schedule->toc;
	const DumpTables *tables = builder->plan.tables;
	SortedEntry *sorted = pg_malloc((toc->n_entries + 1) * sizeof(SortedEntry));
	int			n = 0;

	builder->settings = restore_schedule_entries(schedule, RESTORE_ALWAYS,
												 &builder->n_settings, &n);
	n = 0;
	for (int i = 0; i < toc->n_entries; i++)
	{
		if (schedule->phases[i] != RESTORE_INDEXES)
			continue;
		sorted[n].entry = &toc->entries[i];
		sorted[n].table = schedule->tables[i];
		sorted[n].bytes = tables->tables[sorted[n].table].total_bytes;
		n++;
	}
	qsort(sorted, n, sizeof(SortedEntry), compare_entries);
	builder->entries = pg_malloc((n + 1) * sizeof(TocEntry));
	builder->units = pg_malloc((n + 1) * sizeof(IndexUnit));
	builder->n_entries = n;
	builder->builds = index_log_new(n);
	for (int i = 0; i < n; i++)
	{
		builder->entries[i] = *sorted[i].entry;
		builder->builds[i].entry = &builder->entries[i];
		builder->builds[i].table = &tables->tables[sorted[i].table];
		add_unit(builder, &sorted[i], i);
	}
	free(sorted);
}

/* ----------
 * In the builder's process
 * ----------
 */
static void
look_for_ready_tables(IndexBuilder *builder)
{
	const IndexPlan *plan = &builder->plan;

	for (int i = 0; i < plan->tables->n_tables; i++)
		if (!builder->ready[i])
			builder->ready[i] = plan->is_loaded(plan->arg, i);
}

static bool
can_start(const IndexBuilder *builder, const IndexUnit *unit)
{
	return !unit->started && builder->ready[unit->table] &&
		(builder->in_use[unit->table] == 0 ||
		 (!unit->exclusive && builder->in_use[unit->table] > 0));
}

static void
take_unit(IndexBuilder *builder, IndexRun *run, int no)
{
	IndexUnit  *unit = &builder->units[no];

	unit->started = true;
	builder->n_started++;
	builder->in_use[unit->table] = unit->exclusive ?
		-1 : builder->in_use[unit->table] + 1;
	run->units[run->n_units++] = no;
	run->n_entries += unit->n;
}

/* Choose what the run is to build; false if nothing can be built now. */
static bool
choose_units(IndexBuilder *builder, IndexRun *run)
{
	run->n_units = run->n_entries = 0;
	for (int i = 0; i < builder->n_units && run->n_entries < RUN_ENTRIES; i++)
	{
		const IndexUnit *unit = &builder->units[i];

		/* a large one has a run of its own */
		if (!can_start(builder, unit) || (run->n_units > 0 && !unit->small))
			continue;
		take_unit(builder, run, i);
		if (!unit->small)
			break;
	}
	return run->n_units > 0;
}

/* All entries of the run begin, or, if it went well, end. */
static void
note_builds(IndexBuilder *builder, const IndexRun *run, bool ended)
{
	int64		now = clock_wall_us();

	for (int i = 0; i < run->n_units; i++)
	{
		const IndexUnit *unit = &builder->units[run->units[i]];

		for (int j = 0; j < unit->n; j++)
		{
			IndexBuild *build = &builder->builds[unit->first + j];

			build->session = run - builder->runs;
			build->together = run->n_entries;
			if (ended)
				index_log_end(build, now);
			else
				index_log_begin(build, now);
		}
	}
}

static void
start_run(IndexBuilder *builder, IndexRun *run)
{
	static const char *const more[] = {NULL};
	TocEntry   *entries = pg_malloc((builder->n_settings + run->n_entries) *
									sizeof(TocEntry));
	char	   *name = psprintf("indexes.%d", builder->run_count++);
	int			n = builder->n_settings;

	memcpy(entries, builder->settings, n * sizeof(TocEntry));
	for (int i = 0; i < run->n_units; i++)
	{
		const IndexUnit *unit = &builder->units[run->units[i]];

		memcpy(entries + n, builder->entries + unit->first,
			   unit->n * sizeof(TocEntry));
		n += unit->n;
	}
	run->start_us = clock_wall_us();
	note_builds(builder, run, false);
	stock_pg_restore_start(&run->run, builder->plan.setup, name, entries, n, more);
	builder->n_running++;
	free(name);
	free(entries);
}

/* If the run has ended, note its result, and free its slot. */
static void
look_at_run(IndexBuilder *builder, IndexRun *run)
{
	bool		ok;

	if (run->run.pid == 0 || !stock_pg_restore_ended(&run->run, &ok))
		return;
	builder->report->seconds += (clock_wall_us() - run->start_us) / 1e6;
	if (ok)
	{
		note_builds(builder, run, true);
		builder->report->built += run->n_entries;
	}
	else
		builder->failed = true;
	builder->n_running--;
	for (int i = 0; i < run->n_units; i++)
	{
		const IndexUnit *unit = &builder->units[run->units[i]];

		builder->in_use[unit->table] = unit->exclusive ?
			0 : builder->in_use[unit->table] - 1;
	}
}

static void
builder_main(IndexBuilder *builder)
{
	while (builder->n_started < builder->n_units || builder->n_running > 0)
	{
		look_for_ready_tables(builder);
		for (int i = 0; i < builder->n_runs; i++)
		{
			IndexRun   *run = &builder->runs[i];

			look_at_run(builder, run);
			if (run->run.pid == 0 && choose_units(builder, run))
				start_run(builder, run);
		}
		pg_usleep(LOOK_AGAIN_US);
	}
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

IndexBuilder *
index_builder_start(const IndexPlan *plan)
{
	IndexBuilder *builder = pg_malloc0(sizeof(IndexBuilder));
	const Options *options = plan->setup->options;
	int			n_tables = plan->tables->n_tables;
	pid_t		leader = getpid();

	builder->plan = *plan;
	plan_units(builder);
	builder->n_runs = options->index_jobs != 0 ?
		(int) options->index_jobs : options->jobs;
	builder->runs = pg_malloc0(builder->n_runs * sizeof(IndexRun));
	for (int i = 0; i < builder->n_runs; i++)
		builder->runs[i].units = pg_malloc(RUN_ENTRIES * sizeof(int));
	builder->ready = pg_malloc0(n_tables + 1);
	builder->in_use = pg_malloc0((n_tables + 1) * sizeof(int));
	builder->report = shared_memory_new(1, sizeof(IndexReport));

	cleanup_push(end_builder, builder);
	fflush(NULL);
	interrupt_hold_signals();
	builder->pid = fork();
	if (builder->pid == 0)
	{
		interrupt_install_worker(leader, NULL);
		interrupt_release_signals();
		builder_main(builder);
	}
	interrupt_release_signals();
	if (builder->pid < 0)
	{
		builder->pid = 0;
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

bool
index_builder_finish(IndexBuilder *builder)
{
	IndexLook	look = {.target = builder->plan.target};
	int			status;

	if (builder->n_entries > 0)
		progress_stage_count("indexes", "", index_builder_counter(builder),
							 builder->n_entries);
	progress_set_detail(index_look_add, &look);
	status = wait_for_builder(builder);
	progress_end();
	index_look_end(&look);
	if (WIFSIGNALED(status))
		pg_log_error("the process that builds indexes was terminated by signal %d: %s",
					 WTERMSIG(status), strsignal(WTERMSIG(status)));
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
	return builder->n_entries;
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
