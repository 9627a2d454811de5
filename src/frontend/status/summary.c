/*
 * summary.c
 *		What a dump came to, at its end.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/event_log.h"
#include "base/message.h"
#include "base/units.h"
#include "status/advice.h"
#include "status/server_share.h"
#include "status/summary.h"

ReusedFiles
summary_count_reused(const Run *run)
{
	ReusedFiles reused = {0};

	for (int i = 0; i < run->results->n_files; i++)
	{
		const FileResult *file = &run->results->files[i];

		if (file->reused == NULL)
			continue;
		reused.files++;
		reused.stored_bytes += file->stored_bytes;
	}
	return reused;
}

/* Owned. */
static char *
reused_text(const Run *run)
{
	ReusedFiles reused = summary_count_reused(run);
	int			n_files = run->results->n_files;
	char		size[UNITS_BYTES];

	return psprintf("reused %d of %d file%s of rows, %s not dumped again",
					reused.files, n_files, units_plural(n_files),
					units_size(reused.stored_bytes, size));
}

/* The seconds of work, by all workers, that a table's files took. */
static double
table_seconds(const Run *run, int table)
{
	const TablePlan *decided = &run->plan->chunks->tables[table];
	double		seconds = 0;

	for (int i = 0; i < decided->n_files; i++)
	{
		const FileResult *file =
			&run->results->files[decided->first_file + i];

		seconds += (file->end_us - file->start_us) / 1e6;
	}
	return seconds;
}

/* -1 without tables. */
static int
slowest_table(const Run *run, double *seconds)
{
	int			slowest = -1;

	*seconds = -1;
	for (int i = 0; i < run->plan->tables->n_tables; i++)
	{
		double		its = table_seconds(run, i);

		if (its > *seconds)
		{
			slowest = i;
			*seconds = its;
		}
	}
	return slowest;
}

void
summary_print_slowest(const Run *run, FILE *stream)
{
	double		seconds;
	int			slowest = slowest_table(run, &seconds);

	if (slowest >= 0)
	{
		int			n_chunks = run->plan->chunks->tables[slowest].n_files;

		fprintf(stream, "slowest table: %s, %.1f s of work in %d chunk%s; %d %s\n",
				printable(run->plan->tables->tables[slowest].name), seconds,
				n_chunks, units_plural(n_chunks), run->n_retries,
				run->n_retries == 1 ? "retry" : "retries");
	}
}

void
summary_print_masks(const Run *run, FILE *stream)
{
	const DumpTables *tables = run->plan->tables;
	int			n_columns = dump_tables_count_masks(tables);
	int			n_tables = 0;

	for (int i = 0; i < tables->n_tables; i++)
		n_tables += tables->tables[i].masks != NULL;
	if (n_columns > 0)
		fprintf(stream, "masked: %d column%s of %d table%s\n",
				n_columns, units_plural(n_columns), n_tables,
				units_plural(n_tables));
}

static void
show_summary(const Run *run, const FileTotals *total,
			 double seconds)
{
	int			n_tables = run->plan->tables->n_tables;
	int			n_objects = run->results->n_objects;
	char		raw[UNITS_BYTES];
	char		stored[UNITS_BYTES];
	char		rate[UNITS_BYTES];

	message_before_output();
	fprintf(stderr, "%d table%s, " UINT64_FORMAT " row%s, %d large object%s: %s stored as %s in %.1f s, %s/s\n",
			n_tables, units_plural(n_tables),
			total->rows, units_plural(total->rows),
			n_objects, units_plural(n_objects),
			units_size(total->raw_bytes, raw),
			units_size(total->stored_bytes, stored), seconds,
			units_size((uint64) (total->raw_bytes / Max(seconds, 0.001)), rate));
	summary_print_slowest(run, stderr);
	summary_print_masks(run, stderr);
	if (run->plan->previous)
	{
		char	   *text = reused_text(run);

		fprintf(stderr, "%s\n", text);
		free(text);
	}
	if (run->servers)
	{
		char	   *text = server_share_text(run);

		fprintf(stderr, "read from %s\n", text);
		free(text);
	}
	if (run->plan->leaves_out_extension)
		fprintf(stderr, "left out: extension pg_pardump, which pg_parrestore creates where it can\n");
	advice_print(run->options, run->plan, stderr);
}

static void
note_summary(const Run *run, const FileTotals *total,
			 double seconds)
{
	Event	   *event = event_new("summary");
	double		slowest_seconds;
	int			slowest = slowest_table(run, &slowest_seconds);
	ReusedFiles reused = summary_count_reused(run);

	event_add_number(event, "tables", run->plan->tables->n_tables);
	event_add_number(event, "chunks", run->results->n_files);
	event_add_number(event, "large_objects", run->results->n_objects);
	event_add_number(event, "rows", total->rows);
	event_add_number(event, "raw_bytes", total->raw_bytes);
	event_add_number(event, "stored_bytes", total->stored_bytes);
	event_add_seconds(event, "seconds", seconds);
	if (slowest >= 0)
	{
		event_add_text(event, "slowest_table",
					   run->plan->tables->tables[slowest].name);
		event_add_seconds(event, "slowest_table_seconds", slowest_seconds);
	}
	event_add_number(event, "retries", run->n_retries);
	if (dump_tables_count_masks(run->plan->tables) > 0)
		event_add_number(event, "masked_columns",
						 dump_tables_count_masks(run->plan->tables));
	if (run->plan->previous)
	{
		event_add_number(event, "reused_chunks", reused.files);
		event_add_number(event, "reused_bytes", reused.stored_bytes);
	}
	event_write(event);
}

void
summary_tell(const Run *run, bool show)
{
	FileTotals	total = file_results_total(run->results);
	double		seconds = run_clock_seconds();

	server_share_note(run);
	if (show)
		show_summary(run, &total, seconds);
	else if (run->plan->previous)
		pg_log_info("%s", reused_text(run));
	note_summary(run, &total, seconds);
}
