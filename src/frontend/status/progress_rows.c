/*
 * progress_rows.c
 *		How far the rows are.
 *
 * The share that is done is measured in the bytes that the plan expects:
 * those of files that are done, and of files being made as much as their
 * bytes so far tell, by what done files made of their expected bytes.  So it
 * is right at both ends however much the estimates are off.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/units.h"
#include "process/progress.h"
#include "status/progress_rows.h"

/* Rates are those of the last lines, up to this number. */
#define RATE_LINES 10

/* Who has had a job within this time has not been left without one. */
#define BETWEEN_JOBS_US 1000000

/* What the line says; bytes are totals since the beginning. */
typedef struct RowsState
{
	double		time;
	double		done_bytes;		/* of the expected ones */
	FileTotals	total;
	int			busy;			/* workers */
	int			files_done;
	int			objects_done;
} RowsState;

typedef struct RowsProgress
{
	const Run  *run;
	double		expected_bytes;
	double		start;
	double		percent;		/* as shown: it does not fall */
	double		percent_before; /* by an earlier run, which no rate is of */
	RowsState	before[RATE_LINES]; /* a ring */
	int			n_lines;
} RowsProgress;

/* ----------
 * How far it is
 * ----------
 */

/* Of the server's compression only the output is seen before a file's end. */
static uint64
seen_bytes(const RowsProgress *rows, uint64 raw_bytes, uint64 stored_bytes)
{
	return rows->run->plan->server_compress ? stored_bytes : raw_bytes;
}

/* The expected bytes of what workers are making now. */
static double
bytes_in_work(const RowsProgress *rows, double done_bytes, uint64 seen_of_done)
{
	const FileResults *results = rows->run->results;
	const JobQueue *queue = rows->run->plan->queue;
	double		ratio = 1;
	double		bytes = 0;

	if (done_bytes > 0 && seen_of_done > 0)
		ratio = done_bytes / seen_of_done;
	for (int i = 0; i < results->n_workers; i++)
	{
		const WorkerProgress *worker = &results->workers[i];
		uint64		seen = seen_bytes(rows, worker->raw_bytes,
									  worker->stored_bytes);
		int			job = worker->job;

		if (job >= 0 && job < queue->n_jobs)
			bytes += Min(seen * ratio, queue->jobs[job].est_bytes);
	}
	return bytes;
}

/*
 * Most lines are drawn when a worker has told the leader that its job is
 * done, and has not got the next one yet.
 */
static int
busy_workers(const FileResults *results, bool at_end)
{
	int64		since = clock_wall_us() - BETWEEN_JOBS_US;
	int			busy = 0;

	for (int i = 0; i < results->n_workers; i++)
		if (results->workers[i].job >= 0 ||
			(!at_end && results->workers[i].idle_us > since))
			busy++;
	return busy;
}

static RowsState
take_state(const RowsProgress *rows, bool at_end)
{
	const DumpPlan *plan = rows->run->plan;
	const FileResults *results = rows->run->results;
	RowsState	now = {.time = run_clock_seconds()};
	uint64		seen = 0;
	double		seen_of = 0;

	now.total = file_results_total(results);
	for (int i = 0; i < results->n_files; i++)
	{
		const FileResult *file = &results->files[i];

		if (!file->done)
		{
			now.done_bytes += file->bytes_before;
			continue;
		}
		now.files_done++;
		now.done_bytes += plan->chunks->files[i].est_bytes;
		if (run_was_done_before(file))
			continue;
		seen_of += plan->chunks->files[i].est_bytes - file->bytes_before;
		seen += seen_bytes(rows, file->raw_bytes, file->stored_bytes);
	}
	now.done_bytes += bytes_in_work(rows, seen_of, seen);
	for (int i = 0; i < results->n_objects; i++)
		now.objects_done += results->objects[i].done ? 1 : 0;
	if (results->n_objects > 0)
		now.done_bytes += (double) plan->objects->est_bytes *
			now.objects_done / results->n_objects;
	now.busy = busy_workers(results, at_end);
	return now;
}

static double
percent_of(const RowsProgress *rows, double bytes)
{
	return rows->expected_bytes > 0 ? 100.0 * bytes / rows->expected_bytes : 0;
}

/* It does not reach 100 before the end, and goes back for no retry. */
static double
percent_done(RowsProgress *rows, const RowsState *now)
{
	double		percent = percent_of(rows, now->done_bytes);

	rows->percent = Max(rows->percent, Min(percent, 99.9));
	return rows->percent;
}

/* ----------
 * The line
 * ----------
 */

/* Totals fall when a file is begun again. */
static void
add_rates(ProgressLine *line, const RowsProgress *rows,
		  const RowsState *before, const RowsState *now)
{
	double		seconds = Max(now->time - before->time, 0.001);
	double		raw = (double) now->total.raw_bytes - before->total.raw_bytes;
	double		stored = (double) now->total.stored_bytes -
		before->total.stored_bytes;
	double		n_rows = (double) now->total.rows - before->total.rows;
	double		megabytes = seconds * 1024 * 1024;

	if (rows->run->plan->server_compress == NULL)
		progress_line_add(line, 0, "", "", "%.1f MB/s", Max(raw, 0) / megabytes);
	/* nothing is stored in a copy */
	if (rows->run->archive)
		progress_line_add(line, 8, "", "", "stored %.1f MB/s",
						  Max(stored, 0) / megabytes);
	progress_line_add(line, 3, "", "", "%.0f rows/s", Max(n_rows, 0) / seconds);
}

static void
add_counts(ProgressLine *line, const RowsProgress *rows, const RowsState *now)
{
	const DumpPlan *plan = rows->run->plan;
	const FileResults *results = rows->run->results;
	const ConcurrentProgress *beside = &rows->run->beside;

	progress_line_add(line, 5, "", " workers", "%d/%d", now->busy,
					  Min(results->n_workers, plan->queue->n_jobs));
	progress_line_add(line, 7, "chunks ", "", "%d/%d", now->files_done,
					  results->n_files);
	if (results->n_objects > 0)
		progress_line_add(line, 6, "", "", "objects %d/%d", now->objects_done,
						  results->n_objects);
	if (beside->total > 0)
		progress_line_add(line, 2, "", "", "%s%d/%d", beside->what,
						  *beside->done, beside->total);
}

static void
add_share(ProgressLine *line, const RowsProgress *rows, const RowsState *now,
		  double percent, bool at_end)
{
	double		elapsed = now->time - rows->start;
	char		done[UNITS_BYTES];
	char		total[UNITS_BYTES];
	char		time[UNITS_BYTES];
	char	   *whole;

	/* on a target it is not all */
	progress_line_add(line, 0, "", "", "%s%3d%%",
					  rows->run->archive ? "" : "rows ",
					  (int) percent);
	if (at_end)
		progress_add_time(line);
	else if (percent > rows->percent_before)
		progress_line_add(line, 0, "", "", "ETA %s",
						  units_duration(elapsed * (100 - percent) /
										 (percent - rows->percent_before),
										 time));
	units_size((uint64) (rows->expected_bytes * percent / 100), done);
	whole = psprintf("%s of ~%s", done,
					 units_size((uint64) rows->expected_bytes, total));
	progress_line_add(line, 1, "", "", "%s", whole);
	free(whole);
}

static void
progress_rows_compose(void *arg, ProgressLine *line, bool at_end)
{
	RowsProgress *rows = arg;
	RowsState	now = take_state(rows, at_end);
	RowsState	begin = {.time = rows->start};
	int			oldest = rows->n_lines < RATE_LINES ? 0 :
		rows->n_lines % RATE_LINES;

	add_share(line, rows, &now, at_end ? 100 : percent_done(rows, &now), at_end);
	add_counts(line, rows, &now);
	add_rates(line, rows, at_end ? &begin : &rows->before[oldest], &now);
	rows->before[rows->n_lines % RATE_LINES] = now;
	rows->n_lines++;
}

void
progress_rows_begin(const Run *run)
{
	/* composed until the stage ends, and never freed */
	RowsProgress *rows = pg_malloc0(sizeof(RowsProgress));

	rows->run = run;
	rows->expected_bytes = dump_plan_bytes(run->plan);
	rows->percent_before = percent_of(rows, run_before(run).bytes);
	rows->start = run_clock_seconds();
	rows->before[0].time = rows->start;
	rows->n_lines = 1;
	progress_stage(progress_rows_compose, rows);
}
