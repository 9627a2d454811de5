/*
 * dry_run.c
 *		Shows the plan of a dump instead of executing it.
 *
 * All that is printed is read from the structs that the workers would execute.
 */
#include "fe_compat.h"

#include "fe_utils/print.h"

#include "dry_run.h"
#include "event_log.h"
#include "printable.h"
#include "units.h"

typedef enum PlanColumn
{
	COLUMN_TABLE,
	COLUMN_HEAP,
	COLUMN_TOAST,
	COLUMN_CHUNKS,
	COLUMN_EXPECTED,
	COLUMN_READ_BY,
	COLUMN_WHY,
	N_COLUMNS
} PlanColumn;

static const char *const headers[N_COLUMNS] = {
	"Table", "Heap", "TOAST", "Chunks", "Expected", "Read by", "Why"
};

/* The table takes over the text of a cell. */
static void
add_text(printTableContent * content, char *text)
{
	printTableAddCell(content, text, false, true);
}

static void
add_bytes(printTableContent * content, uint64 bytes)
{
	char		buf[UNITS_BYTES];

	add_text(content, pg_strdup(units_size(bytes, buf)));
}

static uint64
expected_bytes(const ChunkPlan *plan, const TablePlan *decided)
{
	uint64		bytes = 0;

	for (int i = 0; i < decided->n_files; i++)
		bytes += plan->files[decided->first_file + i].est_bytes;
	return bytes;
}

/* Why it is not in chunks, and why not read by the extension. */
static char *
reasons(const TablePlan *decided)
{
	const char *whole = decided->whole_reason;
	const char *sql = decided->sql_reason;

	if (whole && sql && strcmp(whole, sql) == 0)
		return psprintf("whole, by SQL: %s", whole);
	if (whole && sql)
		return psprintf("whole: %s; by SQL: %s", whole, sql);
	if (whole || sql)
		return psprintf("%s: %s", whole ? "whole" : "by SQL",
						whole ? whole : sql);
	return pg_strdup("");
}

static void
add_table(printTableContent * content, const DumpContext *context, int no)
{
	const DumpTable *table = &context->tables->tables[no];
	const TablePlan *decided = &context->plan->tables[no];

	add_text(content, pg_strdup(printable(table->name)));
	add_bytes(content, table->heap_bytes);
	add_bytes(content, table->total_bytes - table->heap_bytes);
	add_text(content, psprintf("%d", decided->n_files));
	add_bytes(content, expected_bytes(context->plan, decided));
	add_text(content, pg_strdup(decided->sql_reason ? "SQL" : "extension"));
	add_text(content, reasons(decided));
}

static int
count_large_objects(const LargeObjects *objects)
{
	int			n = 0;

	for (int i = 0; i < objects->n_lists; i++)
		n += objects->lists[i].n_oids;
	return n;
}

/* One line for all of them; "chunks" are the groups that workers take. */
static void
add_large_objects(printTableContent * content, const LargeObjects *objects)
{
	int			n_objects = count_large_objects(objects);

	add_text(content, psprintf("(%d large object%s)", n_objects,
							   units_plural(n_objects)));
	add_text(content, pg_strdup(""));
	add_text(content, pg_strdup(""));
	add_text(content, psprintf("%d", objects->n_groups));
	add_bytes(content, objects->est_bytes);
	add_text(content, pg_strdup("SQL"));
	add_text(content, pg_strdup(""));
}

static void
print_table(const DumpContext *context, FILE * out)
{
	bool		has_objects = context->objects->n_groups > 0;
	printTableContent content;
	printTableOpt opt = {.format = PRINT_ALIGNED,.border = 1};

	opt.encoding = pg_char_to_encoding(context->encoding);
	opt.start_table = opt.stop_table = true;
	printTableInit(&content, &opt, NULL, N_COLUMNS,
				   context->tables->n_tables + (has_objects ? 1 : 0));
	for (int i = 0; i < N_COLUMNS; i++)
		printTableAddHeader(&content, unconstify(char *, headers[i]), false,
							i >= COLUMN_HEAP && i <= COLUMN_EXPECTED ? 'r' : 'l');
	for (int i = 0; i < context->tables->n_tables; i++)
		add_table(&content, context, i);
	if (has_objects)
		add_large_objects(&content, context->objects);
	printTable(&content, out, false, NULL);
	printTableCleanup(&content);
}

/*
 * The seconds until the last worker is done, if each takes the next job when
 * it is free, as the pool does, and all are equally fast.  That is longer than
 * bytes / rate when one job is left at the end.
 */
static double
expected_seconds(const JobQueue *queue, int n_workers, uint64 rate)
{
	double	   *busy = pg_malloc0(n_workers * sizeof(double));
	double		last = 0;

	for (int i = 0; i < queue->n_jobs; i++)
	{
		int			next = 0;

		for (int j = 1; j < n_workers; j++)
			if (busy[j] < busy[next])
				next = j;
		busy[next] += queue->jobs[i].est_bytes;
		last = Max(last, busy[next]);
	}
	free(busy);
	return last / ((double) rate / n_workers);
}

void
dry_run_print(const DumpContext *context)
{
	const Options *options = context->options;
	uint64		bytes = context->objects->est_bytes;
	int			n_tables = context->tables->n_tables;
	int			n_files = context->plan->n_files;
	int			n_objects = count_large_objects(context->objects);
	char		size[UNITS_BYTES];
	char		time[UNITS_BYTES];
	FILE	   *out = event_log_text_output();

	for (int i = 0; i < n_files; i++)
		bytes += context->plan->files[i].est_bytes;
	print_table(context, out);
	fprintf(out, "%d table%s in %d file%s, %d large object%s, about %s to read",
			n_tables, units_plural(n_tables), n_files, units_plural(n_files),
			n_objects, units_plural(n_objects), units_size(bytes, size));
	if (options->segment_pages != 0)
		fprintf(out, " (chunks of " UINT64_FORMAT " page%s)",
				options->segment_pages, units_plural(options->segment_pages));
	else if (!options->no_chunks)
		fprintf(out, " (chunks of %s)",
				units_size(context->plan->chunk_bytes, size));
	fprintf(out, ", compressed by %s.\n",
			compress_method_name(context->compress.method));
	if (options->expected_rate != 0)
		fprintf(out, "Expected time with %d job%s at %s a second: %s.\n",
				options->jobs, units_plural(options->jobs),
				units_size(options->expected_rate, size),
				units_duration(expected_seconds(context->queue, options->jobs,
												options->expected_rate),
							   time));
}
