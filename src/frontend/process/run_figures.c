/*
 * run_figures.c
 *		Passes the figures of a run to the process that started it, in shared
 *		memory.
 *
 * The parent only reads, so there is no lock.  During the run, its figures
 * are for a line of progress, and may be a moment old or belong to different
 * moments.  The parent reads the other figures after the process has ended.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/units.h"
#include "process/run_figures.h"

/* How often to update the progress of the run. */
#define LOOK_MS 500

/*
 * The state of the process, because functions deep in a run have no argument
 * for it.
 */
static struct
{
	RunFigures *figures;
	void		(*update) (void *arg, RunFigures *figures);
	void	   *arg;
	int64		updated_at;		/* time of clock_monotonic_ms() */
}			own;

void
run_figures_add(RunFigures *sum, const RunFigures *figures)
{
	sum->tables += figures->tables;
	sum->objects += figures->objects;
	sum->rows += figures->rows;
	sum->raw_bytes += figures->raw_bytes;
	sum->stored_bytes += figures->stored_bytes;
	sum->retries += figures->retries;
	sum->reused_files += figures->reused_files;
	sum->reused_bytes += figures->reused_bytes;
	sum->masked_columns += figures->masked_columns;
	sum->files += figures->files;
	sum->findings += figures->findings;
	sum->errors += figures->errors;
	sum->checked.errors += figures->checked.errors;
	sum->checked.warnings += figures->checked.warnings;
	if (figures->compression)
		sum->compression = figures->compression;
}

void
run_figures_append(PQExpBuffer buf, const RunFigures *figures, RunKind kind,
				   double seconds, bool with_rate)
{
	PQExpBufferData list = buffer_new();

	if (kind == RUN_VERIFY || kind == RUN_BACKUP)
		units_list_add(&list, psprintf(ngettext("%s file", "%s files", figures->files),
									   units_count(figures->files)));
	else
		units_list_add(&list, psprintf(ngettext("%s table", "%s tables", figures->tables),
									   units_count(figures->tables)));
	if (kind != RUN_BACKUP)
		units_list_add(&list, psprintf(ngettext("%s row", "%s rows", figures->rows),
									   units_count(figures->rows)));
	if (figures->objects > 0)
		units_list_add(&list, psprintf(ngettext("%s large object", "%s large objects",
												figures->objects),
									   units_count(figures->objects)));
	if (kind == RUN_DUMP || kind == RUN_VERIFY ||
		(kind == RUN_BACKUP && figures->stored_bytes > 0))
		units_list_add(&list, psprintf("%s stored as %s in %s",
									   units_size(figures->raw_bytes),
									   units_size(figures->stored_bytes),
									   units_elapsed(seconds)));
	else
		units_list_add(&list, psprintf("%s in %s", units_size(figures->raw_bytes),
									   units_elapsed(seconds)));
	/* Bytes of reused files were not read. */
	if (with_rate && figures->reused_files == 0)
		units_list_add(&list, units_rate(figures->raw_bytes, seconds));
	if (kind == RUN_COPY)
		units_list_add(&list, psprintf("%s sent", units_size(figures->stored_bytes)));
	appendPQExpBufferStr(buf, list.data);
	termPQExpBuffer(&list);
}

void
run_figures_enter(RunFigures *figures)
{
	own.figures = figures;
}

RunFigures *
run_figures_own(void)
{
	return own.figures;
}

void
run_figures_watch(void (*update) (void *arg, RunFigures *figures), void *arg)
{
	if (own.figures == NULL)
		return;
	own.update = update;
	own.arg = arg;
	update(arg, own.figures);
}

void
run_figures_tick(void)
{
	if (own.update == NULL || clock_monotonic_ms() < own.updated_at + LOOK_MS)
		return;
	own.updated_at = clock_monotonic_ms();
	own.update(own.arg, own.figures);
}
