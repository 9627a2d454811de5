/*
 * dry_run.c
 *		Shows the plan of a dump instead of executing it: --dry-run in full,
 *		--check in a few lines.
 *
 * Everything that is printed comes from the structs that the workers would
 * execute, so the output cannot differ from a real run.
 */
#include "base/fe_compat.h"

#include "fe_utils/print.h"

#include "base/buffer.h"
#include "base/units.h"
#include "status/dry_run.h"
#include "status/run.h"
#include "status/summary.h"

/*
 * The number of tables that get a line of their own.  Tables with several
 * chunks always get one.
 */
#define TABLES_SHOWN 20

typedef enum PlanColumn
{
	COLUMN_TABLE,
	COLUMN_HEAP,
	COLUMN_TOAST,
	COLUMN_CHUNKS,
	COLUMN_TO_READ,
	COLUMN_READ_BY,
	COLUMN_NOTES,
	N_COLUMNS
} PlanColumn;

static const char *const headers[N_COLUMNS] = {
	"Table", "Heap", "TOAST", "Chunks", "To read", "Read by", "Notes"
};

/* Add a cell.  The table owns the text from now on. */
static void
add_text(printTableContent *content, char *text)
{
	printTableAddCell(content, text, false, true);
}

static void
add_bytes(printTableContent *content, uint64 bytes)
{
	add_text(content, pg_strdup(units_size(bytes)));
}

/* A line for a table of the plan, or the sum of several tables. */
typedef struct PlanLine
{
	int			table;			/* index in DumpTables */
	uint64		heap_bytes;
	uint64		toast_bytes;
	int			n_files;
	uint64		est_bytes;
} PlanLine;

static PlanLine
plan_line(const DumpPlan *plan, int no)
{
	const DumpTable *table = &plan->tables->tables[no];
	const TablePlan *decided = &plan->chunks->tables[no];
	PlanLine	line = {
		.table = no,
		.heap_bytes = table->heap_bytes,
		.toast_bytes = table->total_bytes - table->heap_bytes,
		.n_files = decided->n_files,
	};

	for (int i = 0; i < decided->n_files; i++)
		line.est_bytes += plan->chunks->files[decided->first_file + i].est_bytes;
	return line;
}

/*
 * Sort by size, largest first.  Tables of the same size keep the archive's
 * order.
 */
static int
compare_lines(const void *a, const void *b)
{
	const PlanLine *l1 = a;
	const PlanLine *l2 = b;

	if (l1->est_bytes != l2->est_bytes)
		return l1->est_bytes > l2->est_bytes ? -1 : 1;
	return l1->table - l2->table;
}

/* The lines of all tables, sorted; owned. */
static PlanLine *
sorted_lines(const DumpPlan *plan)
{
	int			n = plan->tables->n_tables;
	PlanLine   *lines = pg_malloc((n + 1) * sizeof(PlanLine));

	for (int i = 0; i < n; i++)
		lines[i] = plan_line(plan, i);
	qsort(lines, n, sizeof(PlanLine), compare_lines);
	return lines;
}

/* ----------
 * Reasons, which have numbers in the table, and are printed once below it.
 * ----------
 */
typedef struct Reasons
{
	char	  **texts;			/* the first has number 1 */
	int			n;
} Reasons;

/*
 * Append the number of a reason; takes over its text.  Many tables have the
 * same reason, so a text that is in the list already gets no second number.
 */
static void
append_reason(PQExpBuffer numbers, Reasons *reasons, char *text)
{
	int			no = 0;

	while (no < reasons->n && strcmp(reasons->texts[no], text) != 0)
		no++;
	if (no == reasons->n)
		*array_add(reasons->texts, reasons->n) = text;
	appendPQExpBuffer(numbers, "%s%d", numbers->len > 0 ? ", " : "(", no + 1);
}

/*
 * The numbers of the reasons why a table is not split, not read by the
 * extension, or not reused; owned.
 */
static char *
reason_numbers(Reasons *reasons, const TablePlan *decided)
{
	const char *whole = decided->whole_reason;
	const char *sql = decided->sql_reason;
	PQExpBufferData numbers = buffer_new();

	if (whole && sql && strcmp(whole, sql) == 0)
	{
		append_reason(&numbers, reasons,
					  psprintf("not split, and read with COPY: %s", whole));
		whole = sql = NULL;
	}
	if (whole)
		append_reason(&numbers, reasons, psprintf("not split: %s", whole));
	if (sql)
		append_reason(&numbers, reasons, psprintf("read with COPY: %s", sql));
	if (decided->new_reason)
		append_reason(&numbers, reasons,
					  psprintf("not reused: %s", decided->new_reason));
	if (numbers.len > 0)
		appendPQExpBufferChar(&numbers, ')');
	return numbers.data;
}

/* ----------
 * The table
 * ----------
 */
static const char *
read_by(const TablePlan *decided)
{
	return decided->sql_reason ? "COPY" : "extension";
}

/* Add the cells with sizes: all except the first and the last two. */
static void
add_sizes(printTableContent *content, const PlanLine *line)
{
	add_bytes(content, line->heap_bytes);
	add_bytes(content, line->toast_bytes);
	add_text(content, psprintf("%d", line->n_files));
	add_bytes(content, line->est_bytes);
}

static void
add_table(printTableContent *content, const DumpPlan *plan,
		  const PlanLine *line, Reasons *reasons)
{
	const TablePlan *decided = &plan->chunks->tables[line->table];

	add_text(content, pg_strdup(printable(plan->tables->tables[line->table].name)));
	add_sizes(content, line);
	add_text(content, pg_strdup(read_by(decided)));
	add_text(content, reason_numbers(reasons, decided));
}

/*
 * One line for all smaller tables, which are not split.  Their reasons are
 * left out, because hardly anyone wants to know why a small table is not
 * split.
 */
static void
add_small_tables(printTableContent *content, const DumpPlan *plan,
				 const PlanLine *lines, int n)
{
	const TablePlan *decided = plan->chunks->tables;
	const char *reader = read_by(&decided[lines[0].table]);
	PlanLine	sum = {0};

	for (int i = 0; i < n; i++)
	{
		sum.heap_bytes += lines[i].heap_bytes;
		sum.toast_bytes += lines[i].toast_bytes;
		sum.n_files += lines[i].n_files;
		sum.est_bytes += lines[i].est_bytes;
		if (strcmp(reader, read_by(&decided[lines[i].table])) != 0)
			reader = "both";
	}
	/* a single one is shown, see count_shown() */
	add_text(content, psprintf("(%d smaller tables)", n));
	add_sizes(content, &sum);
	add_text(content, pg_strdup(reader));
	add_text(content, pg_strdup(""));
}

/*
 * One line for all large objects.  In its column "chunks" is the number of
 * groups, because a worker takes a group at a time.
 */
static void
add_large_objects(printTableContent *content, const LargeObjects *objects)
{
	int			n_objects = objects->n_objects;

	add_text(content, psprintf(ngettext("(%d large object)", "(%d large objects)",
										n_objects), n_objects));
	add_text(content, pg_strdup(""));
	add_text(content, pg_strdup(""));
	add_text(content, psprintf("%d", objects->n_groups));
	add_bytes(content, objects->est_bytes);
	add_text(content, pg_strdup("COPY"));
	add_text(content, pg_strdup(""));
}

/* Returns how many of the sorted lines are shown. */
static int
count_shown(const Options *options, const DumpPlan *plan,
			const PlanLine *lines)
{
	int			n = plan->tables->n_tables;
	int			n_shown = Min(n, TABLES_SHOWN);

	if (options->verbose)
		return n;
	for (int i = n_shown; i < n; i++)
		if (lines[i].n_files > 1)
			n_shown = i + 1;
	/* If only one would be left for the line of smaller tables, show it. */
	return n - n_shown == 1 ? n : n_shown;
}

/*
 * Print the table with psql's functions, which know the width of characters
 * in the encoding.
 */
static void
print_table(const Options *options, const DumpPlan *plan,
			const PlanLine *lines, FILE *out)
{
	int			n_tables = plan->tables->n_tables;
	int			n_shown = count_shown(options, plan, lines);
	bool		has_objects = plan->objects->n_groups > 0;
	Reasons		reasons = {0};
	printTableContent content;
	printTableOpt opt = {.format = PRINT_ALIGNED,.border = 1};

	opt.encoding = pg_char_to_encoding(plan->encoding);
	opt.start_table = opt.stop_table = true;
	printTableInit(&content, &opt, NULL, N_COLUMNS,
				   n_shown + (n_shown < n_tables ? 1 : 0) + (has_objects ? 1 : 0));
	for (int i = 0; i < N_COLUMNS; i++)
		printTableAddHeader(&content, unconstify(char *, headers[i]), false,
							i >= COLUMN_HEAP && i <= COLUMN_TO_READ ? 'r' : 'l');
	for (int i = 0; i < n_shown; i++)
		add_table(&content, plan, &lines[i], &reasons);
	if (n_shown < n_tables)
		add_small_tables(&content, plan, lines + n_shown, n_tables - n_shown);
	if (has_objects)
		add_large_objects(&content, plan->objects);
	printTable(&content, out, false, NULL);
	printTableCleanup(&content);
	for (int i = 0; i < reasons.n; i++)
		fprintf(out, "(%d) %s\n", i + 1, reasons.texts[i]);
}

/*
 * The seconds until the last worker is done, if all workers are equally fast,
 * and each takes the next job when it is free, as the pool assigns them.
 * This is more than bytes / rate if one job is left at the end.
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
	return last / ((double) rate / n_workers);
}

/* Returns the time that a run needs at --expected-rate, as a text; owned. */
static char *
expected_time(const Options *options, double seconds)
{
	return psprintf(ngettext("expected time: %s, with %d job at %s/s",
							 "expected time: %s, with %d jobs at %s/s",
							 options->jobs),
					units_duration(seconds), options->jobs,
					units_size(options->expected_rate));
}

void
dry_run_print_times(const Options *options, uint64 bytes, double seconds,
					FILE *out)
{
	if (options->max_rate != 0)
		fprintf(out, "  minimum time: %s at %s/s (--max-rate)\n",
				units_duration((double) bytes / options->max_rate),
				units_size(options->max_rate));
	if (options->expected_rate != 0)
		fprintf(out, "  %s\n", expected_time(options, seconds));
}

static void
print_sums(const Options *options, const DumpPlan *plan, uint64 bytes,
		   FILE *out)
{
	fprintf(out, "tables: %d, chunks: %d, large objects: %d, to read: about %s\n",
			plan->tables->n_tables, plan->chunks->n_files,
			plan->objects->n_objects, units_size(bytes));
	if (options->segment_pages != 0)
		fprintf(out, ngettext("chunk size: " UINT64_FORMAT " page\n",
							  "chunk size: " UINT64_FORMAT " pages\n",
							  options->segment_pages), options->segment_pages);
	else if (!options->no_chunks)
		fprintf(out, "chunk size: %s\n",
				units_size(plan->chunks->chunk_bytes));
	fprintf(out, "compression: %s\n",
			compress_method_name(plan->compress.method));
}

/*
 * Print the number of chunks that could be reused.  Only a real run reads the
 * rows, and finds out whether they have changed.
 */
static void
print_reusable(const DumpPlan *plan, FILE *out)
{
	int			n = 0;

	for (int i = 0; i < plan->tables->n_tables; i++)
		n += chunk_plan_count_reusable(plan->chunks, i);
	fprintf(out, ngettext("reusable from the previous archive, if rows have not changed: %d of %d chunk\n",
						  "reusable from the previous archive, if rows have not changed: %d of %d chunks\n",
						  plan->chunks->n_files),
			n, plan->chunks->n_files);
}

/*
 * Print the plan to standard output, or to standard error if the event log is
 * written to standard output.
 */
void
dry_run_print(const Options *options, const DumpPlan *plan)
{
	PlanLine   *lines = sorted_lines(plan);
	uint64		bytes = dump_plan_bytes(plan);
	double		seconds = 0;
	FILE	   *out = event_log_text_output();

	for (int i = 0; i < plan->tables->n_tables; i++)
		/* the event log has all tables, in the same order */
		run_event_plan(plan, lines[i].table, lines[i].est_bytes);
	print_table(options, plan, lines, out);

	/*
	 * Print the masks as the user wrote them, because no other output shows
	 * which column has which mask.
	 */
	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		const DumpTable *table = &plan->tables->tables[i];

		for (int j = 0; table->masks && j < table->n_columns; j++)
		{
			if (table->masks[j].expression == NULL)
				continue;
			fprintf(out, "masked: %s", printable(table->name));
			fprintf(out, ".%s:", printable(table->columns[j]));
			fprintf(out, "%s\n", printable(table->masks[j].expression));
		}
	}
	print_sums(options, plan, bytes, out);
	if (plan->previous)
		print_reusable(plan, out);
	if (options->expected_rate != 0)
	{
		seconds = expected_seconds(plan->queue, options->jobs,
								   options->expected_rate);
		fprintf(out, "%s\n", expected_time(options, seconds));
	}
	run_event_dry_run(options, plan, seconds);
}

/* ----------
 * --check
 * ----------
 */

/* The bytes that the extension reads; the other bytes are read with COPY. */
static uint64
bytes_by_extension(const DumpPlan *plan)
{
	const ChunkPlan *chunks = plan->chunks;
	uint64		bytes = 0;

	for (int i = 0; i < chunks->n_files; i++)
	{
		const DataFile *file = &chunks->files[i];

		if (chunks->tables[file->table].sql_reason == NULL)
			bytes += file->est_bytes;
	}
	return bytes;
}

static void
print_readers(const DumpPlan *plan, FILE *out)
{
	const char *missing = plan->extension->missing;
	uint64		by_extension = bytes_by_extension(plan);
	uint64		by_sql = dump_plan_bytes(plan) - by_extension;

	if (missing)
		fprintf(out, "  read by: COPY, %s (%s)\n", units_size(by_sql), missing);
	else if (by_extension == 0)
		fprintf(out, "  read by: COPY, %s\n", units_size(by_sql));
	else if (by_sql == 0)
		fprintf(out, "  read by: extension, %s\n", units_size(by_extension));
	else
		fprintf(out, "  read by: extension, %s; COPY, %s\n",
				units_size(by_extension), units_size(by_sql));
}

/*
 * With --all-databases: one line for the database.  Facts that are the same
 * for all databases are printed after the last one.
 */
static void
print_database(const char *title, const DumpPlan *plan, const ArchiveNeed *need,
			   FILE *out)
{
	int			n_tables = plan->tables->n_tables;
	int			n_objects = plan->objects->n_objects;
	uint64		bytes = dump_plan_bytes(plan);
	uint64		by_extension = plan->extension ? bytes_by_extension(plan) : 0;
	PQExpBufferData list = buffer_new();

	units_list_add(&list, psprintf(ngettext("%d table", "%d tables", n_tables),
								   n_tables));
	if (n_objects > 0)
		units_list_add(&list, psprintf(ngettext("%d large object", "%d large objects",
												n_objects), n_objects));
	if (by_extension > 0 && by_extension < bytes)
		units_list_add(&list, psprintf("%s (%s with COPY)", units_size(bytes),
									   units_size(bytes - by_extension)));
	else
		units_list_add(&list, psprintf(bytes == 0 ? "%s" :
									   by_extension > 0 ? "%s (extension)" :
									   "%s (COPY)", units_size(bytes)));
	if (need)
		units_list_add(&list, psprintf("archive about %s",
									   units_size(archive_space_expect(need))));
	if (need && plan->previous)
		units_list_add(&list, psprintf("reused up to %s",
									   units_size(need->previous_bytes)));
	fprintf(out, "%s: %s\n", title, list.data);
	termPQExpBuffer(&list);
}

/* The number is unknown, exact, or between two numbers. */
static const char *const connections_texts[][3] = {
	[CONNECTIONS_SOURCE] = {
		"  connections to the source: %d needed",
		"  connections to the source: %d needed, %d free",
		"  connections to the source: %d needed, %d to %d free"
	},
	[CONNECTIONS_SOURCE_AT_MOST] = {
		"  connections to the source: at most %d needed",
		"  connections to the source: at most %d needed, %d free on the server",
		"  connections to the source: at most %d needed, %d to %d free on the server"
	},
	[CONNECTIONS_TARGET_AT_MOST] = {
		"  connections to the target: at most %d needed",
		"  connections to the target: at most %d needed, %d free",
		"  connections to the target: at most %d needed, %d to %d free"
	}
};

char *
dry_run_connections(ConnectionsText text, int needed, const ConnectionsLeft *left)
{
	const char *const *texts = connections_texts[text];

	if (left == NULL || left->at_most == PG_INT32_MAX)
		return psprintf(texts[0], needed);
	return psprintf(texts[left->at_least == left->at_most ? 1 : 2], needed,
					left->at_least + 1, left->at_most + 1);
}

/*
 * Each worker has a connection to one server, and the leader has one to each.
 * On a target, index builds need more.
 */
static void
print_jobs(const Options *options, const DumpPlan *plan, int n_servers,
		   const ConnectionsLeft *source, const ConnectionsLeft *target,
		   FILE *out)
{
	int			n_workers = Min(options->jobs, plan->queue->n_jobs);
	int			n_builds = options->index_jobs ? (int) options->index_jobs :
		options->jobs;

	/*
	 * The user decides where tasks run, and so how many connections they
	 * need.
	 */
	if (options->tasks)
	{
		fprintf(out, ngettext("  jobs: %d task at a time\n",
							  "  jobs: %d tasks at a time\n", options->jobs),
				options->jobs);
		return;
	}
	fprintf(out, "  jobs: %d\n", options->jobs);
	if (n_servers > 0)
		fprintf(out, "%s\n",
				dry_run_connections(CONNECTIONS_SOURCE, n_workers + n_servers,
									n_servers == 1 ? source : NULL));
	if (target)
		fprintf(out, "%s\n",
				dry_run_connections(CONNECTIONS_TARGET_AT_MOST,
									n_workers + n_builds + 1, target));
}

static void
print_archive(const Options *options, const DumpPlan *plan,
			  const ArchiveNeed *need, FILE *out)
{
	uint64		available;

	if (need->compressed)
		fprintf(out, "  archive: about %s with %s\n",
				units_size(archive_space_expect(need)),
				compress_method_name(plan->compress.method));
	else
		fprintf(out, "  archive: about %s\n",
				units_size(archive_space_expect(need)));
	if (plan->previous)
		fprintf(out, "  reused from the previous archive: up to %s\n",
				units_size(need->previous_bytes));
	if (options->directory &&
		archive_space_available(options->directory, need, &available))
		fprintf(out, "  free disk space: %s\n", units_size(available));
}

/* The same for programs: what they would else have to take from the text. */
static void
event_check_plan(const Options *options, const DumpPlan *plan,
				 const ArchiveNeed *need, int n_servers,
				 const ConnectionsLeft *source)
{
	Event	   *event = event_new("check_plan");
	uint64		available;

	event_add_number(event, "jobs", options->jobs);
	event_add_number(event, "tables", plan->tables->n_tables);
	event_add_number(event, "chunks", plan->chunks->n_files);
	event_add_number(event, "large_objects", plan->objects->n_objects);
	event_add_number(event, "expected_bytes", dump_plan_bytes(plan));
	if (plan->extension)
		event_add_number(event, "extension_bytes", bytes_by_extension(plan));
	if (options->tasks == 0 && n_servers > 0)
		event_add_number(event, "connections_needed",
						 Min(options->jobs, plan->queue->n_jobs) + n_servers);
	if (n_servers == 1 && source && source->at_most != PG_INT32_MAX)
	{
		/* as in the text, with the connection of the check itself */
		event_add_number(event, "connections_free_min", source->at_least + 1);
		event_add_number(event, "connections_free_max", source->at_most + 1);
	}
	if (need)
	{
		event_add_text(event, "compression",
					   compress_method_name(plan->compress.method));
		event_add_number(event, "archive_bytes", archive_space_expect(need));
		if (plan->previous)
			event_add_number(event, "reusable_bytes", need->previous_bytes);
		if (options->directory &&
			archive_space_available(options->directory, need, &available))
			event_add_number(event, "free_bytes", available);
	}
	if (options->expected_rate != 0)
		event_add_seconds(event, "expected_seconds",
						  expected_seconds(plan->queue, options->jobs,
										   options->expected_rate));
	event_write(event);
}

/* The first line: "A run would dump 321 tables, about 1.46 GB:" */
static void
print_first_line(const Options *options, int n_tables, uint64 bytes,
				 const char *database, FILE *out)
{
	const char *size = units_size(bytes);

	if (options->target)
		fprintf(out, ngettext("A run would copy %d table, about %s, into database \"%s\":\n",
							  "A run would copy %d tables, about %s, into database \"%s\":\n",
							  n_tables), n_tables, size, printable(database));
	else if (options->restore == NULL)
		fprintf(out, ngettext("A run would dump %d table, about %s:\n",
							  "A run would dump %d tables, about %s:\n",
							  n_tables), n_tables, size);
	else if (options->pipe_command && bytes == 0)
		/* without a manifest, commands do not say how long files are */
		fprintf(out, ngettext("A run would restore %d table into database \"%s\":\n",
							  "A run would restore %d tables into database \"%s\":\n",
							  n_tables), n_tables, printable(database));
	else
		fprintf(out, ngettext("A run would restore %d table, about %s, into database \"%s\":\n",
							  "A run would restore %d tables, about %s, into database \"%s\":\n",
							  n_tables), n_tables, size, printable(database));
}

void
dry_run_print_sums(const Options *options, const DumpPlan *plan,
				   const ArchiveNeed *need, int n_servers,
				   const ConnectionsLeft *source,
				   const ConnectionsLeft *target, const char *database,
				   const char *facts)
{
	int			n_objects = plan->objects->n_objects;
	uint64		bytes = dump_plan_bytes(plan);
	double		seconds = 0;
	const char *title = findings_take_title();
	FILE	   *out = event_log_text_output();

	event_check_plan(options, plan, need, n_servers, source);
	advice_give(options, plan);
	if (title)
	{
		print_database(title, plan, need, out);
		return;
	}
	print_first_line(options, plan->tables->n_tables, bytes, database, out);
	fputs(facts ? facts : "", out);
	if (n_objects > 0)
		fprintf(out, "  large objects: %d\n", n_objects);
	if (plan->extension)
		print_readers(plan, out);
	print_jobs(options, plan, n_servers, source, target, out);
	if (need)
		print_archive(options, plan, need, out);
	if (options->expected_rate != 0)
		seconds = expected_seconds(plan->queue, options->jobs,
								   options->expected_rate);
	dry_run_print_times(options, bytes, seconds, out);
}
