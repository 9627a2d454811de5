/*
 * run_progress.c
 *		Shows progress while workers read rows, and estimates how much time is
 *		left.
 *
 * Workers are processes, so the results of files are in shared memory, where
 * the leader reads them while workers write to them.  So before the last line
 * of a stage, figures of files in work need not be exact; those of finished
 * files are.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/units.h"
#include "process/run_figures.h"
#include "status/estimate.h"
#include "status/run_progress.h"

/* Rates are computed from this many of the last lines. */
#define RATE_LINES 10

/* A worker that had a job within this time counts as busy. */
#define BETWEEN_JOBS_US 1000000

/*
 * If only compressed bytes are known, each counts as this many bytes of rows,
 * until a file of the table is done.
 */
#define LIKELY_RATIO 3

/*
 * Files below this size have a cost per file instead of per byte: the
 * expected seconds for one file, until one is done.
 */
#define SMALL_FILE_BYTES ((uint64) 128 * 1024)
#define LIKELY_FILE_SECONDS 0.003

/*
 * Restoring long values, which the target compresses and stores out of line,
 * is expected to take this many times as long per byte as restoring other
 * values.
 */
#define LIKELY_TOAST_FACTOR 3.5

/* The expected size of a row in a table about which nothing is known. */
#define LIKELY_ROW_BYTES 250

/*
 * Building a key, or another index, is expected to take as long per row as
 * reading and loading this many bytes of rows without long values.
 */
#define LIKELY_KEY_BYTES 20
#define LIKELY_INDEX_BYTES 30

/*
 * The same for the check of a foreign key, for each row of its table; and for
 * ANALYZE, for each page that it reads, and for each value in its sample.
 * With the default statistics target, both the pages and the rows of the
 * sample are at most ANALYZE_SAMPLE
 * (src/backend/commands/analyze.c:std_typanalyze).
 */
#define LIKELY_FOREIGN_KEY_BYTES 30
#define LIKELY_ANALYZE_PAGE_BYTES 1500
#define LIKELY_ANALYZE_VALUE_BYTES 50
#define ANALYZE_SAMPLE 30000

/*
 * A build that takes longer than expected is assumed to need this share of
 * the time that it has taken.
 */
#define LONGER_SHARE 0.3

/* Kinds of work for the estimate.  The kinds of each run follow these. */
typedef enum WorkKind
{
	WORK_ROWS,					/* rows of all files; in bytes of the plan */
	WORK_SMALL_FILES,			/* small files; in files */
	WORK_OBJECTS,				/* large objects; in bytes */
	WORK_KEYS,					/* keys; in rows of their tables */
	WORK_INDEXES,				/* other indexes; also in rows */
	WORK_OF_RUNS
} WorkKind;

/*
 * The kinds of a run: tables whose bytes are mostly in the table itself,
 * tables whose bytes are mostly out of line, and each table.
 */
#define WORK_PLAIN 0
#define WORK_TOAST 1
#define WORK_TABLES 2

/* Figures of a table, or of a class of tables. */
typedef struct TableLook
{
	double		planned;		/* expected bytes of finished files */
	double		bytes;			/* their real bytes */
	double		stored;			/* the same, as stored or sent */
	double		rows;
	double		all_rows;		/* expected rows of all files */
} TableLook;

/* The figures of a line.  Bytes are totals since the beginning. */
typedef struct RowsState
{
	double		time;
	double		raw_bytes;
	double		stored_bytes;
	double		rows;
	double		expected_bytes; /* expected raw_bytes at the end */
	bool		rows_known;		/* false if rows are only known after each
								 * file */
	int			busy;			/* busy workers */
	int			n_workers;		/* the most workers that can be busy */
	int			files_done;
	int			n_files;
	int			objects_done;
	int			n_objects;
} RowsState;

typedef struct RowsProgress
{
	const char *what;			/* text before the percentage */
	const Run  *runs[RUN_PROGRESS_SIDES];
	const char *names[RUN_PROGRESS_SIDES];
	int			n_runs;
	int			reading;		/* the run that is being read */
	double		start;
	double		percent;		/* as shown; it never falls */
	RowsState	before[RATE_LINES]; /* a ring */
	int			n_lines;

	/* members that describe the current run of take_state() */
	TableLook  *tables;
	TableLook	classes[WORK_TABLES];	/* sums of both classes of tables */
	double	   *in_work;		/* bytes of current jobs, by file */
	double	   *seconds;		/* time of current jobs, by file */
	double	   *left;			/* remaining units of work, by file */
	Estimate   *estimate;
	int		   *n_keys;			/* foreign keys to check after the rows, by
								 * table; or NULL */
	double		later;			/* work after rows and indexes, as bytes of
								 * rows that take one worker as long */
	double		longest_share;	/* finished share of the oldest build; 0 =
								 * unknown */
} RowsProgress;

static RowsProgress *progress;

/* ----------
 * The current jobs of workers
 * ----------
 */

/*
 * The bytes of rows that a worker has read of its current file.  If the
 * server compresses, or sends raw tuples, only the bytes of this output are
 * known before the end of the file, so the result is an estimate.
 */
static double
bytes_in_work(const Run *run, const WorkerProgress *worker,
			  const TableLook *table)
{
	if (worker->raw_bytes > 0)
		return worker->raw_bytes;
	if (table && table->bytes > 0 && table->stored > 0)
		return worker->stored_bytes * table->bytes / table->stored;
	return worker->stored_bytes *
		(run->plan->server_compress ? LIKELY_RATIO : 1);
}

/*
 * Add the current job of a worker.  For a job with one file, it counts for
 * that file.  For a job with several files or with large objects, only the
 * bytes are known.  Workers that share a file publish each of its pieces as a
 * result.
 */
static void
look_at_worker(const Run *run, const WorkerProgress *worker, const Job *job,
			   RowsState *now)
{
	TableLook  *table = NULL;
	double		bytes;
	int			no;

	if (job->kind == JOB_DATA_FILES && job->n == 1)
	{
		const DataFile *file = run->plan->queue->files[job->first];

		no = file - run->plan->chunks->files;
		table = &progress->tables[file->table];

		/*
		 * If bytes are only guessed, the time says nothing about the cost per
		 * byte.
		 */
		if (file_results_shares(run->results, no) || worker->raw_bytes > 0 ||
			(table->bytes > 0 && table->stored > 0))
			progress->seconds[no] += (clock_wall_us() - worker->idle_us) / 1e6;
		if (file_results_shares(run->results, no))
			return;
	}
	bytes = bytes_in_work(run, worker, table);
	now->raw_bytes += bytes;
	now->stored_bytes += worker->stored_bytes;
	if (table)
	{
		progress->in_work[no] += bytes;
		/* The worker only counts rows while it reads text. */
		if (worker->rows > 0 || bytes == 0)
			now->rows += worker->rows;
		else if (table->bytes > 0)
			now->rows += bytes * table->rows / table->bytes;
		else
			now->rows_known = false;
	}
}

static void
look_at_workers(const Run *run, RowsState *now)
{
	const FileResults *results = run->results;
	const JobQueue *queue = run->plan->queue;

	for (int i = 0; i < results->n_workers; i++)
	{
		int			job = results->workers[i].job;

		if (job < 0 || job >= queue->n_jobs)
			continue;
		progress->reading = progress->runs[0] == run ? 0 : 1;
		look_at_worker(run, &results->workers[i], &queue->jobs[job], now);
	}
}

/*
 * The number of busy workers.  Most lines are drawn when a worker has
 * reported the end of its job, and has not yet got the next one; it counts as
 * busy, too.
 */
static int
busy_workers(const FileResults *results)
{
	int64		since = clock_wall_us() - BETWEEN_JOBS_US;
	int			busy = 0;

	for (int i = 0; i < results->n_workers; i++)
		if (results->workers[i].job >= 0 ||
			results->workers[i].idle_us > since)
			busy++;
	return busy;
}

/* ----------
 * Files
 * ----------
 */

/* The class of a table: where are most of its bytes? */
static int
class_of(const DumpTable *table)
{
	return table->heap_bytes < table->total_bytes / 2 ? WORK_TOAST : WORK_PLAIN;
}

static void
add_look(TableLook *look, const DataFile *planned, const FileResult *file)
{
	look->planned += planned->est_bytes;
	look->bytes += file->raw_bytes;
	look->stored += file->stored_bytes;
	look->rows += file->rows;
}

/* Sum up the figures of finished files, by table and by class. */
static void
look_at_done(const Run *run)
{
	const DumpTables *tables = run->plan->tables;

	memset(progress->classes, 0, sizeof(progress->classes));
	memset(progress->tables, 0, tables->n_tables * sizeof(TableLook));
	for (int i = 0; i < run->plan->chunks->n_files; i++)
	{
		const FileResult *file = &run->results->files[i];
		const DataFile *planned = &run->plan->chunks->files[i];

		progress->in_work[i] = progress->seconds[i] = 0;
		/* the bytes and times of files that an earlier run has done are 0 */
		if (!file->done || file->incomplete || run_was_done_before(file))
			continue;
		add_look(&progress->tables[planned->table], planned, file);
		add_look(&progress->classes[class_of(&tables->tables[planned->table])],
				 planned, file);
	}
}

/* A table's own figures, or those of its class while it has none. */
static const TableLook *
best_look(const Run *run, int table)
{
	if (progress->tables[table].planned > 0 &&
		progress->tables[table].bytes > 0)
		return &progress->tables[table];
	return &progress->classes[class_of(&run->plan->tables->tables[table])];
}

/*
 * The expected number of rows in an unfinished file with this many bytes.
 * While no file of the table is done, the estimate of the server or of the
 * manifest is better than the figures of other tables.
 */
static double
expected_rows(const Run *run, int no, double bytes)
{
	const FileResult *file = &run->results->files[no];
	const DataFile *planned = &run->plan->chunks->files[no];
	const DumpTable *table = &run->plan->tables->tables[planned->table];
	const TableLook *look = best_look(run, planned->table);

	if (file_results_shares(run->results, no) && file->raw_bytes > 0)
		return bytes * file->rows / file->raw_bytes;
	if (look != &progress->tables[planned->table] && table->est_rows > 0 &&
		table->total_bytes > 0)
		return table->est_rows * planned->est_bytes / table->total_bytes;
	return look->bytes > 0 ? bytes * look->rows / look->bytes :
		bytes / LIKELY_ROW_BYTES;
}

/* The expected bytes and rows of an unfinished file. */
static double
expected_bytes(const Run *run, int no, double *rows)
{
	const FileResult *file = &run->results->files[no];
	const DataFile *planned = &run->plan->chunks->files[no];
	const TableLook *look = best_look(run, planned->table);
	double		bytes = planned->est_bytes - (double) file->bytes_before;

	/* A file that is left out is not loaded at all. */
	if (file->incomplete && file_results_shares(run->results, no) == NULL)
		bytes = 0;
	else if (look->planned > 0 && look->bytes > 0)
		bytes *= look->bytes / look->planned;
	bytes = Max(bytes, progress->in_work[no]);
	*rows = expected_rows(run, no, bytes);
	return bytes;
}

/* The kind of work for a file.  Its units are files, or bytes of the plan. */
static int
kind_of(const DataFile *file, int first_kind)
{
	return file->est_bytes < SMALL_FILE_BYTES ? WORK_SMALL_FILES :
		first_kind + WORK_TABLES + file->table;
}

/* The time that workers have needed for a file until now. */
static double
file_seconds(const Run *run, int no)
{
	const FileResult *file = &run->results->files[no];
	const FileResult *shares = file_results_shares(run->results, no);
	int64		us = 0;

	if (!file->done)
		return progress->seconds[no];
	if (shares == NULL)
		return (file->end_us - file->start_us) / 1e6;
	for (int i = 0; i < run->results->n_workers; i++)
		us += shares[i].end_us - shares[i].start_us;
	return us / 1e6;
}

static void
look_at_file(const Run *run, int no, int first_kind, RowsState *now)
{
	const FileResult *file = &run->results->files[no];
	const DataFile *planned = &run->plan->chunks->files[no];
	int			kind = kind_of(planned, first_kind);
	bool		counts = file->done || file_results_shares(run->results, no);
	double		here = counts ? file->raw_bytes : progress->in_work[no];
	double		seconds = file_seconds(run, no);
	double		rows = file->rows;
	double		all = file->done ? here :
		Max(expected_bytes(run, no, &rows), here);
	double		done = file->done || all <= 0 ? file->done : here / all;
	double		units = kind == WORK_SMALL_FILES ? 1 :
		planned->est_bytes - (double) file->bytes_before;

	now->expected_bytes += all;
	progress->tables[planned->table].all_rows += rows;
	if (counts)
	{
		now->raw_bytes += here;
		now->stored_bytes += file->stored_bytes;
		now->rows += file->rows;
	}
	if (kind == WORK_SMALL_FILES)
		done = file->done;
	if (done > 0 && seconds > 0)
		estimate_add_done(progress->estimate, kind, units * done, seconds);
	progress->left[no] = units * (1 - done);
}

/*
 * Add the remaining work in the order in which it will be done.  The workers
 * share a job that is cut into pieces, so each gets its share.
 */
static void
add_files_left(const Run *run, int first_kind)
{
	const ChunkPlan *chunks = run->plan->chunks;
	const JobQueue *queue = run->plan->queue;

	for (int i = 0; i < queue->n_jobs; i++)
	{
		const Job  *job = &queue->jobs[i];
		double		share = job->shared ? 1.0 / run->options->jobs : 1;

		for (int j = 0; job->kind == JOB_DATA_FILES && j < job->n; j++)
		{
			const DataFile *file = queue->files[job->first + j];
			double		left = progress->left[file - chunks->files] * share;

			if (left > 0)
				estimate_add_left(progress->estimate, kind_of(file, first_kind),
								  left, ESTIMATE_NO_KIND);
		}
	}
}

/*
 * Add the large objects.  The plan only has an estimate for all of them
 * together, so each is expected to have the average size.
 */
static void
look_at_objects(const Run *run, RowsState *now)
{
	const FileResults *results = run->results;
	double		planned = (double) run->plan->objects->est_bytes /
		Max(results->n_objects, 1);
	double		bytes = 0;
	int			n_done = 0;
	int			n_left = 0;
	double		seconds = 0;

	for (int i = 0; i < results->n_objects; i++)
	{
		const FileResult *object = &results->objects[i];

		now->objects_done += object->done;
		if (!object->done)
			n_left++;
		else if (!run_was_done_before(object))
		{
			n_done++;
			bytes += object->raw_bytes;
			now->stored_bytes += object->stored_bytes;
			seconds += (object->end_us - object->start_us) / 1e6;
		}
	}
	if (n_done > 0)
		planned = bytes / n_done;
	now->raw_bytes += bytes;
	now->expected_bytes += bytes + planned * n_left;
	if (n_done > 0)
		estimate_add_done(progress->estimate, WORK_OBJECTS, bytes, seconds);
	for (int i = 0; i < run->plan->objects->n_groups && n_left > 0; i++)
	{
		int			n = Min(n_left, run->plan->objects->groups[i].n_oids);

		estimate_add_left(progress->estimate, WORK_OBJECTS, planned * n,
						  ESTIMATE_NO_KIND);
		n_left -= n;
	}
}

/* The oldest build that is not finished; -1 if there is none. */
static int
find_longest_build(const IndexBuilds *indexes)
{
	int			result = -1;

	for (int i = 0; i < indexes->n; i++)
	{
		const IndexBuild *build = &indexes->builds[i];

		if (build->start_us != 0 && build->end_us == 0 &&
			(result < 0 || build->start_us < indexes->builds[result].start_us))
			result = i;
	}
	return result;
}

/*
 * Add a build.  The expected time is proportional to the rows of the table;
 * keys, which are mostly numbers, take less time than other indexes.  The
 * finished share is known for the oldest build at most; for the others only
 * the time until now is known.
 */
static void
look_at_build(const IndexBuild *build, double rows, int table_kind,
			  double share)
{
	Estimate   *estimate = progress->estimate;
	int			kind = toc_entry_is(build->entry, "CONSTRAINT") ?
		WORK_KEYS : WORK_INDEXES;
	double		cost = estimate->kinds[kind].cost;
	int64		now = clock_wall_us();
	double		seconds = build->start_us == 0 ? 0 :
		((build->end_us != 0 ? build->end_us : now) - build->start_us) / 1e6 /
		Max(build->together, 1);

	if (build->end_us != 0)
		share = 1;
	else if (share <= 0 && seconds > 0 && cost > 0)
		share = seconds / Max(rows * cost, seconds * (1 + LONGER_SHARE));
	if (share > 0)
		estimate_add_done(estimate, kind, rows * share, seconds);
	if (share < 1)
		estimate_add_left(estimate, kind, rows * (1 - share), table_kind);
}

static void
look_at_indexes(const Run *run, int first_kind)
{
	const IndexBuilds *indexes = run->indexes;
	int			longest = indexes ? find_longest_build(indexes) : -1;

	for (int i = 0; indexes && i < indexes->n; i++)
	{
		int			table = indexes->builds[i].table - run->plan->tables->tables;

		look_at_build(&indexes->builds[i],
					  Max(progress->tables[table].all_rows, 1000),
					  first_kind + WORK_TABLES + table,
					  i == longest ? progress->longest_share : 0);
	}
}

/* ----------
 * Foreign keys and ANALYZE
 * ----------
 */

/*
 * Count the foreign keys of each table, with those of the partitioned tables
 * above it.  Owned.
 */
static int *
count_keys(const DumpPlan *plan)
{
	const Toc  *toc = plan->toc;
	const TocEntry **by_id = toc_entries_by_id(toc);
	int		   *keys = pg_malloc0((toc->max_dump_id + 1) * sizeof(int));
	int		   *parents = pg_malloc0((toc->max_dump_id + 1) * sizeof(int));
	int		   *result = pg_malloc0((plan->tables->n_tables + 1) * sizeof(int));

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		/* pg_dump.c:flagInhTables: the partition, then its parent */
		if (toc_entry_is(entry, "TABLE ATTACH") && entry->n_deps >= 2)
			parents[Max(0, entry->deps[0])] = Max(0, entry->deps[1]);
		for (int j = 0; toc_entry_is(entry, "FK CONSTRAINT") && j < entry->n_deps; j++)
		{
			const TocEntry *table = by_id[Max(0, entry->deps[j])];

			/* It depends on both tables; its tag begins with its own. */
			if (table && toc_entry_is(table, "TABLE") &&
				strncmp(entry->tag, table->tag, strlen(table->tag)) == 0 &&
				entry->tag[strlen(table->tag)] == ' ')
				keys[table->dump_id]++;
		}
	}
	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		int			id = toc_table_dump_id(plan->tables->tables[i].entry);

		/* A damaged archive may contain a cycle. */
		for (int depth = 0; id != 0 && depth < 100; depth++, id = parents[id])
			result[i] += keys[id];
	}
	free(keys);
	free(parents);
	free(by_id);
	return result;
}

/*
 * The work that follows when all rows are loaded and all indexes built.
 * Workers share it by tables, so it takes at least the time of the largest
 * share of a table.
 */
static void
look_at_later(const Run *run)
{
	const DumpTables *tables = run->plan->tables;
	double		sum = 0;
	double		largest = 0;

	if (run->indexes == NULL)
		return;
	if (progress->n_keys == NULL)
		progress->n_keys = count_keys(run->plan);
	for (int i = 0; i < tables->n_tables; i++)
	{
		const DumpTable *table = &tables->tables[i];
		double		rows = progress->tables[i].all_rows;
		double		pages = (double) table->heap_bytes /
			Max(tables->block_bytes, BLCKSZ);
		double		analyze = 0;

		/* An earlier run may have loaded the rows. */
		if (rows <= 0)
			rows = table->est_rows;
		/* the target of --data-only has its keys already */
		if (!run->options->data_only)
			sum += rows * progress->n_keys[i] * LIKELY_FOREIGN_KEY_BYTES;
		if (!run->options->no_analyze && !run->options->statistics)
			analyze = Min(pages, ANALYZE_SAMPLE) * LIKELY_ANALYZE_PAGE_BYTES +
				Min(rows, ANALYZE_SAMPLE) * table->n_columns * LIKELY_ANALYZE_VALUE_BYTES;
		/* ANALYZE of the partitioned table reads its partitions twice. */
		if (table->root_table)
			analyze *= 2;
		sum += analyze;
		largest = Max(largest, analyze);
	}
	progress->later += Max(largest, sum / run->options->jobs);
}

/*
 * The seconds until the end of the run; -1 if nothing is known yet, and 0 if
 * all rows are loaded and all indexes built.
 */
static double
seconds_left(void)
{
	const Estimate *estimate = progress->estimate;
	double		seconds = estimate_seconds(progress->estimate);

	return seconds <= 0 ? seconds : seconds + progress->later *
		estimate->kinds[WORK_OF_RUNS + WORK_PLAIN].cost;
}

/* ----------
 * The progress of the run
 * ----------
 */
static void
look_at_run(const Run *run, int first_kind, RowsState *now)
{
	const FileResults *results = run->results;

	look_at_done(run);
	look_at_workers(run, now);
	for (int i = 0; i < results->n_files; i++)
	{
		now->files_done += results->files[i].done;
		progress->left[i] = 0;
		if (!run_was_done_before(&results->files[i]))
			look_at_file(run, i, first_kind, now);
	}
	add_files_left(run, first_kind);
	look_at_objects(run, now);
	look_at_indexes(run, first_kind);
	look_at_later(run);
	now->n_files += results->n_files;
	now->n_objects += results->n_objects;
	now->n_workers = Max(now->n_workers,
						 Min(results->n_workers, run->plan->queue->n_jobs));
}

/*
 * With --tasks only results are visible, not workers.  The number of tasks at
 * work follows from the time that the results took.
 */
static int
workers_at_work(const RowsState *now)
{
	const EstimateKind *kinds = progress->estimate->kinds;
	double		elapsed = Max(now->time - progress->start, 0.001);
	double		seconds = kinds[WORK_ROWS].seconds +
		kinds[WORK_SMALL_FILES].seconds + kinds[WORK_OBJECTS].seconds;

	return Max(1, progress->runs[0]->options->tasks ?
			   (int) (seconds / elapsed + 0.5) : now->n_workers);
}

static RowsState
take_state(void)
{
	RowsState	now = {.time = run_clock_seconds(),.rows_known = true};
	int			kind = WORK_OF_RUNS;

	estimate_clear(progress->estimate);
	progress->later = 0;
	for (int i = 0; i < progress->n_runs; i++)
	{
		const Run  *run = progress->runs[i];

		look_at_run(run, kind, &now);
		kind += WORK_TABLES + run->plan->tables->n_tables;
	}
	now.busy = busy_workers(progress->runs[progress->reading]->results);
	progress->estimate->workers[0] = workers_at_work(&now);
	progress->estimate->elapsed = now.time - progress->start;
	return now;
}

/*
 * The percentage.  It does not reach 100 before the end, and does not go back
 * when a file is retried.
 */
static double
percent_done(const RowsState *now)
{
	double		percent = now->expected_bytes <= 0 ? 0 :
		100 * now->raw_bytes / now->expected_bytes;

	progress->percent = Max(progress->percent, Min(percent, 99.9));
	return progress->percent;
}

/* ----------
 * The line
 * ----------
 */

/* Totals fall when a file is begun again, so a rate is at least 0. */
static void
add_rates(ProgressLine *line, const RowsState *before, const RowsState *now)
{
	const Run  *run = progress->runs[0];
	double		seconds = Max(now->time - before->time, 0.001);
	const char *stored = units_rate(now->stored_bytes - before->stored_bytes,
									seconds);

	progress_line_add(line, 0, "", "", "%s",
					  units_rate(now->raw_bytes - before->raw_bytes, seconds));
	if (run->archive)
		progress_line_add(line, 8, "", "", "%s stored", stored);
	else if (run->options->target && progress->n_runs == 1)
		progress_line_add(line, 8, "", "", "%s sent", stored);
	if (now->rows_known)
		progress_line_add(line, 3, "", "", "%s rows/s",
						  units_count((uint64) (Max(now->rows - before->rows, 0) / seconds)));
}

/* Without any finished work there is no estimate, and nothing is shown. */
static void
add_eta(ProgressLine *line, int rank)
{
	double		seconds = seconds_left();

	if (seconds >= 0)
		progress_line_add(line, rank, "", "", "ETA %s",
						  units_duration(seconds));
}

static void
add_share(ProgressLine *line, const RowsState *now, bool at_end)
{
	double		percent = at_end ? 100 : percent_done(now);

	progress_line_add(line, 0, "", "", "%s%3d%%", progress->what,
					  (int) percent);
	if (at_end)
		progress_add_time(line);
	else if (now->raw_bytes > 0)
		add_eta(line, 0);
	/* A restore may only have indexes left to build. */
	if (now->expected_bytes > 0)
		progress_line_add(line, 1, "", "", "%s of ~%s",
						  units_size((uint64) now->raw_bytes),
						  units_size((uint64) now->expected_bytes));
	if (progress->n_runs > 1 && !at_end)
		progress_line_add(line, 4, "reading ", "", "%s",
						  progress->names[progress->reading]);
}

/*
 * A ProgressCompose callback.  Rates are computed since the oldest line that
 * is kept, which makes them steadier than since the last one.
 */
static void
run_progress_compose(void *arg, ProgressLine *line, bool at_end)
{
	RowsState	now = take_state();
	int			oldest = progress->n_lines < RATE_LINES ? 0 :
		progress->n_lines % RATE_LINES;
	const IndexBuilds *indexes;

	add_share(line, &now, at_end);
	indexes = progress->runs[0]->indexes;
	if (!at_end)
		progress_line_add(line, 5, "workers ", "", "%d/%d", now.busy,
						  now.n_workers);
	progress_line_add(line, 7, "chunks ", "", "%d/%d", now.files_done,
					  now.n_files);
	if (now.n_objects > 0)
		progress_line_add(line, 6, "", "", "objects %d/%d", now.objects_done,
						  now.n_objects);
	if (indexes && indexes->n > 0)
		progress_line_add(line, 2, "", "", "indexes %d/%d",
						  indexes->totals->made, indexes->n);
	/* At the end, the summary shows the rate of the whole run. */
	if (!at_end)
		add_rates(line, &progress->before[oldest], &now);
	progress->before[progress->n_lines % RATE_LINES] = now;
	progress->n_lines++;
}

void
run_progress_add_rest(void *arg, ProgressLine *line, bool at_end)
{
	progress->longest_share = *(const double *) arg;
	(void) take_state();
	add_eta(line, 3);
}

/* ----------
 * The stage begins
 * ----------
 */

/*
 * Does the target compress long values again?  Raw tuples, which a copy uses
 * where it can, stay compressed.
 */
static bool
compresses_again(const Options *options)
{
	return options->restore ||
		(options->copy_format && (strcmp(options->copy_format, "text") == 0 ||
								  strcmp(options->copy_format, "binary") == 0));
}

static void
set_kinds(Estimate *estimate, const Run *run, int first)
{
	const DumpTables *tables = run->plan->tables;

	estimate->kinds[first + WORK_PLAIN].parent = WORK_ROWS;
	estimate->kinds[first + WORK_TOAST].parent = WORK_ROWS;
	if (compresses_again(run->options))
		estimate->kinds[first + WORK_TOAST].factor = LIKELY_TOAST_FACTOR;
	for (int i = 0; i < tables->n_tables; i++)
		estimate->kinds[first + WORK_TABLES + i].parent =
			first + class_of(&tables->tables[i]);
}

static Estimate *
new_estimate(const Run *const *runs, int n_runs)
{
	int			kind = WORK_OF_RUNS;
	Estimate   *estimate;

	for (int i = 0; i < n_runs; i++)
		kind += WORK_TABLES + runs[i]->plan->tables->n_tables;
	estimate = estimate_new(kind);
	estimate->kinds[WORK_SMALL_FILES].prior = LIKELY_FILE_SECONDS;
	estimate->kinds[WORK_OBJECTS].prior = 1;
	estimate->kinds[WORK_OBJECTS].relative_to = WORK_ROWS;
	estimate->kinds[WORK_KEYS].prior = LIKELY_KEY_BYTES;
	estimate->kinds[WORK_KEYS].exclusive = true;
	estimate->kinds[WORK_INDEXES].prior = LIKELY_INDEX_BYTES;
	for (int i = WORK_KEYS; i <= WORK_INDEXES; i++)
	{
		estimate->kinds[i].relative_to = WORK_OF_RUNS + WORK_PLAIN;
		estimate->kinds[i].pool = 1;
	}
	kind = WORK_OF_RUNS;
	for (int i = 0; i < n_runs; i++)
	{
		set_kinds(estimate, runs[i], kind);
		kind += WORK_TABLES + runs[i]->plan->tables->n_tables;
	}
	return estimate;
}

void
run_progress_begin_sides(const char *what, const Run *const *runs,
						 const char *const *names, int n_runs)
{
	int			n_files = 0;
	int			n_tables = 0;

	/*
	 * It is never freed, because run_progress_add_rest() uses it after the
	 * stage.
	 */
	progress = pg_malloc0(sizeof(RowsProgress));
	progress->what = what;
	progress->n_runs = n_runs;
	for (int i = 0; i < n_runs; i++)
	{
		progress->runs[i] = runs[i];
		progress->names[i] = names[i];
		n_files = Max(n_files, runs[i]->plan->chunks->n_files);
		n_tables = Max(n_tables, runs[i]->plan->tables->n_tables);
	}
	progress->tables = pg_malloc0((n_tables + 1) * sizeof(TableLook));
	progress->in_work = pg_malloc0((n_files + 1) * sizeof(double));
	progress->seconds = pg_malloc0((n_files + 1) * sizeof(double));
	progress->left = pg_malloc0((n_files + 1) * sizeof(double));
	progress->estimate = new_estimate(runs, n_runs);
	if (runs[0]->options->index_jobs != 0)
		progress->estimate->workers[1] = (int) runs[0]->options->index_jobs;
	else
		progress->estimate->workers[1] = runs[0]->options->jobs;
	progress->start = run_clock_seconds();
	progress->before[0].time = progress->start;
	progress->n_lines = 1;
	progress_stage(run_progress_compose, NULL);
}

/*
 * Pass the figures to the process that shows the progress of all databases.
 */
static void
run_progress_update(void *arg, RunFigures *figures)
{
	RowsState	now = take_state();
	double		seconds = now.raw_bytes > 0 ? seconds_left() : 0;

	figures->expected_bytes = (uint64) now.expected_bytes;
	figures->done_bytes = (uint64) Min(now.raw_bytes, now.expected_bytes);
	figures->eta_seconds = Max(seconds, 0);
}

void
run_progress_begin(const Run *run)
{
	const char *name = NULL;

	/* Name the rows if there is a target, where other stages follow. */
	run_progress_begin_sides(run->archive ? "" : "rows ", &run, &name, 1);
	run_figures_watch(run_progress_update, NULL);
}
