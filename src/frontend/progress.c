/*
 * progress.c
 *		--progress: a line about how far a dump is.
 *
 * The share that is done is measured in the bytes that the plan expects: those
 * of files that are done, and of files being made as much as their bytes so
 * far tell, by what done files made of their expected bytes.  So it is right
 * at both ends however much the estimates are off.
 */
#include "fe_compat.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "units.h"

#define TERMINAL_SECONDS 1.0
#define PLAIN_SECONDS 10.0

/* Rates are those of the last so many lines. */
#define RATE_LINES 10

/* What the line says; bytes are totals since the beginning. */
typedef struct Snapshot
{
	double		time;
	double		done_bytes;		/* of the expected ones */
	FileTotals	total;
	int			busy;			/* workers */
	int			files_done;
	int			objects_done;
} Snapshot;

struct Progress
{
	const DumpContext *context;
	bool		terminal;
	double		expected_bytes;
	double		start;
	double		last_shown;
	double		percent;		/* as shown: it does not fall */
	int			line_width;		/* on the terminal, to be cleared; or 0 */
	bool		ended;
	Snapshot	before[RATE_LINES]; /* a ring */
	int			n_lines;
};

/* Messages are told by functions that know no progress: theirs to clear. */
static Progress *shown_progress;

static double
now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void
clear_line(void)
{
	Progress   *progress = shown_progress;

	if (progress->line_width > 0)
		fprintf(stderr, "\r%*s\r", progress->line_width, "");
	progress->line_width = 0;
}

Progress *
progress_new(const DumpContext *context)
{
	const Options *options = context->options;
	Progress   *progress;

	if (options->no_progress ||
		(!options->progress && !isatty(STDERR_FILENO)))
		return NULL;
	progress = pg_malloc0(sizeof(Progress));
	progress->context = context;
	progress->terminal = isatty(STDERR_FILENO);
	progress->expected_bytes = context->objects->est_bytes;
	for (int i = 0; i < context->plan->n_files; i++)
		progress->expected_bytes += context->plan->files[i].est_bytes;
	progress->start = progress->last_shown = now_seconds();
	progress->before[0].time = progress->start;
	progress->n_lines = 1;
	shown_progress = progress;
	message_set_before_output(clear_line);
	return progress;
}

/* ----------
 * How far it is
 * ----------
 */

/* Of the server's compression only the output is seen before a file's end. */
static uint64
seen_bytes(const Progress *progress, uint64 raw_bytes, uint64 stored_bytes)
{
	return progress->context->compression ? stored_bytes : raw_bytes;
}

/* The expected bytes of what workers are making now. */
static double
bytes_in_work(const Progress *progress, double done_bytes, uint64 seen_of_done)
{
	const FileResults *results = progress->context->results;
	const JobQueue *queue = progress->context->queue;
	double		ratio = 1;
	double		bytes = 0;

	if (done_bytes > 0 && seen_of_done > 0)
		ratio = done_bytes / seen_of_done;
	for (int i = 0; i < results->n_workers; i++)
	{
		const WorkerProgress *worker = &results->workers[i];
		uint64		seen = seen_bytes(progress, worker->raw_bytes,
									  worker->stored_bytes);
		int			job = worker->job;

		if (job >= 0 && job < queue->n_jobs)
			bytes += Min(seen * ratio, queue->jobs[job].est_bytes);
	}
	return bytes;
}

static Snapshot
take_snapshot(const Progress *progress)
{
	const DumpContext *context = progress->context;
	const FileResults *results = context->results;
	Snapshot	now = {.time = now_seconds()};
	uint64		seen = 0;

	now.total = file_results_total(results);
	for (int i = 0; i < results->n_files; i++)
	{
		const FileResult *file = &results->files[i];

		if (!file->done)
			continue;
		now.files_done++;
		now.done_bytes += context->plan->files[i].est_bytes;
		seen += seen_bytes(progress, file->raw_bytes, file->stored_bytes);
	}
	now.done_bytes += bytes_in_work(progress, now.done_bytes, seen);
	for (int i = 0; i < results->n_objects; i++)
		now.objects_done += results->objects[i].done ? 1 : 0;
	if (results->n_objects > 0)
		now.done_bytes += (double) context->objects->est_bytes *
			now.objects_done / results->n_objects;
	for (int i = 0; i < results->n_workers; i++)
		now.busy += results->workers[i].job >= 0 ? 1 : 0;
	return now;
}

/* It does not reach 100 before the end, and goes back for no retry. */
static double
percent_done(Progress *progress, const Snapshot *now)
{
	double		percent = 0;

	if (progress->expected_bytes > 0)
		percent = 100.0 * now->done_bytes / progress->expected_bytes;
	progress->percent = Max(progress->percent, Min(percent, 99.9));
	return progress->percent;
}

/* ----------
 * The line
 * ----------
 */
static void
append_rates(PQExpBuffer line, const Progress *progress,
			 const Snapshot *before, const Snapshot *now)
{
	double		seconds = Max(now->time - before->time, 0.001);
	double		raw = (double) now->total.raw_bytes - before->total.raw_bytes;
	double		stored = (double) now->total.stored_bytes -
		before->total.stored_bytes;
	double		rows = (double) now->total.rows - before->total.rows;

	/* they fall when a file is begun again */
	if (progress->context->compression == NULL)
		appendPQExpBuffer(line, ", %.1f MB/s",
						  Max(raw, 0) / seconds / (1024 * 1024));
	/* nothing is stored in a copy */
	if (progress->context->directory)
		appendPQExpBuffer(line, ", stored %.1f MB/s",
						  Max(stored, 0) / seconds / (1024 * 1024));
	appendPQExpBuffer(line, ", %.0f rows/s", Max(rows, 0) / seconds);
}

static void
append_counts(PQExpBuffer line, const Progress *progress, const Snapshot *now)
{
	const FileResults *results = progress->context->results;

	appendPQExpBuffer(line, ", %d/%d workers", now->busy,
					  Min(results->n_workers,
						  progress->context->queue->n_jobs));
	appendPQExpBuffer(line, ", chunks %d/%d", now->files_done,
					  results->n_files);
	if (results->n_objects > 0)
		appendPQExpBuffer(line, ", objects %d/%d", now->objects_done,
						  results->n_objects);
}

/* What matters most comes first: a narrow terminal cuts the end off. */
static void
compose_line(PQExpBuffer line, Progress *progress, const Snapshot *now,
			 bool at_end)
{
	double		percent = at_end ? 100 : percent_done(progress, now);
	double		elapsed = now->time - progress->start;
	Snapshot	begin = {.time = progress->start};
	int			oldest = progress->n_lines < RATE_LINES ? 0
		: progress->n_lines % RATE_LINES;
	char		done[UNITS_BYTES];
	char		total[UNITS_BYTES];
	char		time[UNITS_BYTES];

	units_size((uint64) (progress->expected_bytes * percent / 100), done);
	units_size((uint64) progress->expected_bytes, total);
	appendPQExpBuffer(line, "%3d%%", (int) percent);
	if (at_end)
		appendPQExpBuffer(line, ", time %s", units_duration(elapsed, time));
	else if (percent > 0)
		appendPQExpBuffer(line, ", ETA %s",
						  units_duration(elapsed * (100 - percent) / percent,
										 time));
	appendPQExpBuffer(line, ", %s of ~%s", done, total);
	append_counts(line, progress, now);
	append_rates(line, progress, at_end ? &begin : &progress->before[oldest],
				 now);
}

/* The terminal's columns; a line that wraps could not be written over. */
static int
terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

static void
show_line(Progress *progress, bool at_end)
{
	Snapshot	now = take_snapshot(progress);
	PQExpBufferData line;

	initPQExpBuffer(&line);
	compose_line(&line, progress, &now, at_end);
	progress->before[progress->n_lines % RATE_LINES] = now;
	progress->n_lines++;
	progress->last_shown = now.time;
	if (progress->terminal)
	{
		int			width = Min((int) line.len, terminal_width() - 1);
		int			blank = Max(progress->line_width - width, 0);

		fprintf(stderr, "\r%.*s%*s", width, line.data, blank, "");
		progress->line_width = width;
	}
	else
		fprintf(stderr, "%s\n", line.data);
	termPQExpBuffer(&line);
}

void
progress_tick(Progress *progress)
{
	double		pause;

	if (progress == NULL || progress->ended)
		return;
	pause = progress->terminal ? TERMINAL_SECONDS : PLAIN_SECONDS;
	if (now_seconds() - progress->last_shown >= pause)
		show_line(progress, false);
}

void
progress_end(Progress *progress)
{
	if (progress == NULL)
		return;
	show_line(progress, true);
	if (progress->terminal)
		fputc('\n', stderr);
	progress->line_width = 0;
	progress->ended = true;
}
