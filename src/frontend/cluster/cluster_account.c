/*
 * cluster_account.c
 *		Prints and writes everything about the runs of all databases:
 *		progress, summary, events, metrics and the page of --report.
 *
 * The expected size of a database is known after its run has made a plan.
 * Before that, it is estimated from pg_database_size(), which also counts
 * indexes and free space, and from the ratio of the two in databases with a
 * plan.  The largest databases begin first, so the estimate of the total is
 * good soon.
 */
#include "base/fe_compat.h"

#include "common/string.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "cluster/cluster_account.h"
#include "cluster/globals.h"
#include "report/report.h"
#include "status/dry_run.h"
#include "status/metrics.h"
#include "status/summary.h"

/* node_exporter only reads files with this suffix. */
#define METRICS_SUFFIX ".prom"

/* The page of all databases, in the directory of --report. */
#define PAGE_NAME "index.html"

/* Rates are computed from this many of the last lines. */
#define RATE_LINES 10

/* A line names this many databases. */
#define NAMES_SHOWN 3

/* The progress of all runs together. */
typedef struct ClusterProgress
{
	double		time;			/* as of run_clock_seconds() */
	double		done_bytes;
	double		planned_bytes;	/* of databases that have a plan */
	double		expected_bytes; /* of all databases; 0 = unknown */
} ClusterProgress;

/* The state of the process, which has one run for all databases. */
static struct
{
	ClusterAccount account;
	Report	   *page;
	double		begun;			/* as of run_clock_seconds() */
	double		percent;		/* as shown; it never falls */
	ClusterProgress lines[RATE_LINES];	/* a ring */
	int			n_lines;
	bool		has_advised;
	char		shares[NAMES_SHOWN][UNITS_BYTES];
}			state;

/* ----------
 * Sums
 * ----------
 */
static int
count_states(const ClusterAccount *account, ClusterState wanted)
{
	int			n = 0;

	for (int i = 0; account->list && i < account->list->n; i++)
		n += account->states[i] == wanted;
	return n;
}

static RunFigures
sum_figures(const ClusterAccount *account)
{
	RunFigures	sum = {0};

	for (int i = 0; account->list && i < account->list->n; i++)
		run_figures_add(&sum, &account->figures[i]);
	return sum;
}

/*
 * A MetricsFigures callback.  There is no list before the first run begins.
 */
static void
cluster_account_append(PQExpBuffer buf, const void *arg)
{
	const ClusterAccount *account = arg;
	RunFigures	sum = sum_figures(account);

	metrics_number(buf, "databases", "Databases of the last run.",
				   account->list ? account->list->n : 0);
	metrics_number(buf, "failed_databases", "How many of them have failed.",
				   count_states(account, CLUSTER_FAILED));
	run_metrics_append(buf, "all_databases_", account->options, &sum);
}

/* ----------
 * --report, --metrics and --log-json of all databases.
 * ----------
 */

/*
 * Neither the directory of reports nor a page may be inside the directory of
 * the archives, which contains only what a dump has written.
 */
static void
keep_out(const Options *options, const char *option, const char *path)
{
	archive_dir_keep_out(options->directory, option, path);
	archive_dir_keep_out(options->restore, option, path);
	archive_dir_keep_out(options->verify, option, path);
}

static Report *
open_page(const Options *options)
{
	Options		page_options = *options;

	if (options->report == NULL)
		return NULL;
	report_check(options);
	keep_out(options, "--report", options->report);
	if (options->report_history)
		keep_out(options, "--report-history",
				 psprintf("%s/record", options->report_history));
	if (mkdir(options->report, 0700) < 0 && errno != EEXIST)
		pg_fatal("could not create directory \"%s\": %m", options->report);
	keep_out(options, "--report", psprintf("%s/page", options->report));
	/* the runs of the databases are recorded, each with its page */
	page_options.report = psprintf("%s/" PAGE_NAME, options->report);
	page_options.report_history = NULL;
	return report_begin(&page_options, NULL);
}

void
cluster_account_open(const Options *options, ClusterCommand command)
{
	const MetricsLabel labels[] = {
		{"command", run_metrics_command(options)}, {NULL}
	};

	state.account.options = options;
	state.account.command = command;
	metrics_begin(options, labels, cluster_account_append, &state.account);
	run_event_begin(options);
	state.page = open_page(options);
}

void
cluster_account_note_snapshot(const SnapshotRecord *snapshot)
{
	Event	   *event;

	if (snapshot == NULL)
		return;
	state.account.snapshot = snapshot;
	event = event_new("cluster_snapshot");
	event_add_text(event, "snapshot", snapshot->snapshot);
	event_add_text(event, "snapshot_time", snapshot->time);
	event_add_text(event, "timeline", snapshot->timeline);
	event_add_text(event, "lsn_upper_bound", snapshot->lsn);
	event_add_text(event, "replay_lsn", snapshot->replay_lsn);
	event_write(event);
}

void
cluster_account_note_target(const char *target)
{
	state.account.target = target;
}

void
cluster_account_note_connections(const char *connections)
{
	state.account.connections = connections;
}

/*
 * The metrics of each database are written next to those of the whole run,
 * with the OID in the name, because a name of a database may contain any
 * characters.  The suffix is kept, since node_exporter reads only files that
 * end in it.
 */
void
cluster_account_add_args(const Options *options,
						 const ClusterDatabase *database,
						 SimpleStringList *args)
{
	const char *path = options->metrics;

	if (path)
	{
		int			len = (int) strlen(path);

		if (pg_str_endswith(path, METRICS_SUFFIX))
			len -= (int) strlen(METRICS_SUFFIX);
		simple_string_list_append(args, psprintf("--metrics=%.*s.%u%s", len, path,
												 database->oid, path + len));
	}
	if (options->report)
		simple_string_list_append(args, psprintf("--report=%s/%u.html",
												 options->report, database->oid));
}

/* ----------
 * The line of progress
 * ----------
 */

/*
 * The bytes of a database that are done, and all of its bytes.  A complete
 * database counts as in the summary; for a failed one no more bytes are
 * expected.
 */
static double
done_bytes(const ClusterAccount *account, int no)
{
	const RunFigures *figures = &account->figures[no];

	if (account->states[no] == CLUSTER_COMPLETE &&
		account->command != CLUSTER_VERIFY)
		return figures->raw_bytes;
	return figures->done_bytes;
}

static double
expected_bytes(const ClusterAccount *account, int no)
{
	return account->states[no] > CLUSTER_RUNS ? done_bytes(account, no) :
		account->figures[no].expected_bytes;
}

static ClusterProgress
look(const ClusterAccount *account)
{
	ClusterProgress now = {.time = run_clock_seconds()};
	double		planned_size = 0;
	double		other_size = 0;
	bool		known = true;

	for (int i = 0; i < account->list->n; i++)
	{
		double		size = account->list->databases[i].bytes;

		now.done_bytes += done_bytes(account, i);

		/*
		 * The size of the rows is unknown before the run has made its plan.
		 */
		if (account->figures[i].expected_bytes == 0 &&
			account->states[i] <= CLUSTER_RUNS)
		{
			other_size += size;
			/* It is 0 if the role may not read it. */
			known = known && size > 0;
			continue;
		}
		now.planned_bytes += expected_bytes(account, i);
		planned_size += size;
	}
	if (planned_size > 0)
		other_size *= now.planned_bytes / planned_size;
	if (known && now.planned_bytes > 0)
		now.expected_bytes = now.planned_bytes + other_size;
	return now;
}

/*
 * The remaining time; 0 = unknown.  It follows from the share of bytes that
 * are done: the current rate would make it jump.  The estimate of a run
 * includes its index builds, but supposes that the run has all workers, so it
 * is a lower bound.
 */
static double
seconds_left(const ClusterAccount *account, double by_share)
{
	bool		rows_left = false;
	double		left = 0;

	for (int i = 0; i < account->list->n; i++)
	{
		const RunFigures *figures = &account->figures[i];

		if (account->states[i] > CLUSTER_RUNS)
			continue;
		rows_left = rows_left || figures->expected_bytes == 0 ||
			figures->done_bytes < figures->expected_bytes;
		left = Max(left, figures->eta_seconds);
	}
	return rows_left ? Max(left, by_share) : left;
}

static void
add_share(ProgressLine *line, const ClusterAccount *account,
		  const ClusterProgress *now, bool at_end)
{
	double		elapsed = now->time - state.begun;
	double		percent;
	double		left;
	const char *done;
	const char *total;

	done = units_size((uint64) now->done_bytes);
	total = units_size((uint64) now->expected_bytes);
	if (at_end)
		progress_add_time(line);
	else if (now->expected_bytes > 0)
	{
		/* It must not reach 100 before the end. */
		percent = Min(100.0 * now->done_bytes / Max(now->expected_bytes, 1), 99.9);
		state.percent = percent = Max(state.percent, percent);
		progress_line_add(line, 0, "", "", "%3d%%", (int) percent);
		left = percent <= 0 ? 0 :
			seconds_left(account, elapsed * (100 - percent) / percent);
		if (left > 0)
			progress_line_add(line, 0, "", "", "ETA %s", units_duration(left));
	}
	if (now->expected_bytes > 0 && !at_end)
		progress_line_add(line, 1, "", "", "%s of ~%s", done, total);
	else if (now->done_bytes > 0)
		progress_line_add(line, 1, "", "", "%s", done);
}

/* "running shop 61%, crm (indexes)" */
static void
add_running(ProgressLine *line, const ClusterAccount *account)
{
	int			n_shown = 0;
	int			n_running = count_states(account, CLUSTER_RUNS);

	for (int i = 0; i < account->list->n && n_shown < NAMES_SHOWN; i++)
	{
		const RunFigures *figures = &account->figures[i];
		const char *stage = figures->stage;
		char	   *share = state.shares[n_shown];
		ProgressField *field = &line->fields[line->n_fields];

		if (account->states[i] != CLUSTER_RUNS)
			continue;
		if (stage && strcmp(stage, "rows") != 0)
			snprintf(share, UNITS_BYTES, " (%s)", stage);
		else
			snprintf(share, UNITS_BYTES, " %d%%", (int) (100.0 * figures->done_bytes /
														 Max(figures->expected_bytes, 1)));
		progress_line_add_name(line, 3 + n_shown,
							   account->list->databases[i].name);
		field->before = n_shown == 0 ? "running " : "";
		field->after = share;
		n_shown++;
	}
	if (n_running > n_shown)
		progress_line_add(line, 3 + n_shown, "", " more", "%d",
						  n_running - n_shown);
}

/* A ProgressCompose. */
static void
cluster_account_compose(void *arg, ProgressLine *line, bool at_end)
{
	const ClusterAccount *account = arg;
	ClusterProgress now = look(account);
	ClusterProgress begin = {.time = state.begun};
	const ClusterProgress *before = state.n_lines == 0 ? &begin :
		&state.lines[state.n_lines < RATE_LINES ? 0 : state.n_lines % RATE_LINES];

	progress_line_add(line, 0, "databases ", "", "%d/%d", account->n_ended,
					  account->list->n);
	add_share(line, account, &now, at_end);

	/*
	 * Before the first plan is made, no bytes are known.  At the end, the
	 * summary shows the rate.
	 */
	if (!at_end && (now.done_bytes > 0 || now.expected_bytes > 0))
		progress_line_add(line, 2, "", "", "%s",
						  units_rate(now.done_bytes - before->done_bytes,
									 now.time - before->time));
	if (!at_end)
		add_running(line, account);
	state.lines[state.n_lines % RATE_LINES] = now;
	state.n_lines++;
}

ClusterAccount *
cluster_account_begin(const ClusterList *list)
{
	ClusterAccount *account = &state.account;

	account->list = list;
	account->figures = shared_memory_new(list->n, sizeof(RunFigures));
	account->states = pg_malloc0((list->n + 1) * sizeof(ClusterState));
	account->start_us = pg_malloc0((list->n + 1) * sizeof(int64));
	account->end_us = pg_malloc0((list->n + 1) * sizeof(int64));
	state.begun = run_clock_seconds();
	if (account->command != CLUSTER_CHECK)
		progress_stage(cluster_account_compose, account);
	return account;
}

/* ----------
 * Hints
 * ----------
 */

/*
 * The databases whose value is not 0, of which NAMES_SHOWN are named: "shop,
 * web, crm and 2 more".  n is their number.
 */
static char *
names_of(const ClusterAccount *account, const uint64 *values, int *n)
{
	PQExpBufferData names = buffer_new();

	*n = 0;
	for (int i = 0; i < account->list->n; i++)
		if (values[i] != 0 && ++*n <= NAMES_SHOWN)
			units_names_add(&names, account->list->databases[i].name);
	return units_names(buffer_text(&names), *n, NAMES_SHOWN);
}

/*
 * Print a hint about bytes of these databases, if there are enough of them.
 * The format is for their sum and the names.
 */
static void
give_hint(const ClusterAccount *account, const uint64 *bytes, const char *format)
{
	uint64		sum = 0;
	int			n;
	char	   *names = names_of(account, bytes, &n);

	for (int i = 0; i < account->list->n; i++)
		sum += bytes[i];
	if (sum >= ADVICE_BYTES)
		message_hint(psprintf(format, units_size(sum), names));
}

/* Does this run read rows, or check whether it could, and show hints? */
static bool
gives_hints(const ClusterAccount *account)
{
	return !account->options->dry_run &&
		account->command != CLUSTER_VERIFY && advice_is_shown(account->options);
}

void
cluster_account_advise(ClusterAccount *account)
{
	ClusterProgress now;

	if (state.has_advised || account->command == CLUSTER_CHECK ||
		!gives_hints(account))
		return;
	now = look(account);
	if (now.planned_bytes < ADVICE_BYTES)
		return;
	state.has_advised = true;
	advice_give_jobs(account->options,
					 (uint64) Max(now.expected_bytes, now.planned_bytes));
}

/* The bytes that a run would read, of all databases. */
static uint64
bytes_to_read(const ClusterAccount *account)
{
	uint64		bytes = 0;

	for (int i = 0; i < account->list->n; i++)
		bytes += account->figures[i].expected_bytes;
	return bytes;
}

/*
 * The other hints, at the end: then the plans of all databases are known.
 * --check gives all hints then.
 */
static void
give_hints(const ClusterAccount *account)
{
	int			n = account->list->n;
	uint64	   *whole;
	uint64	   *copied;
	uint64	   *unusable;

	if (!gives_hints(account))
		return;
	if (account->command == CLUSTER_CHECK)
		advice_give_jobs(account->options, bytes_to_read(account));
	whole = pg_malloc0((n + 1) * sizeof(uint64));
	copied = pg_malloc0((n + 1) * sizeof(uint64));
	unusable = pg_malloc0((n + 1) * sizeof(uint64));
	for (int i = 0; i < n; i++)
	{
		whole[i] = account->figures[i].undivided_bytes;
		copied[i] = account->figures[i].copied_bytes;
		unusable[i] = account->figures[i].unusable_bytes;
	}
	give_hint(account, whole,
			  "Tables of other roles, about %s (databases: %s), are not split: querying them could run code of these roles with your privileges.  Use the extension, or --trust-owners if you trust these roles.");
	give_hint(account, copied,
			  "About %s (databases: %s) are read with COPY, which is slower than the extension.  To install it, run CREATE EXTENSION pg_pardump; in each of these databases.");
	give_hint(account, unusable,
			  "About %s (databases: %s) are read with COPY, because the extension that is installed there cannot be used.  To print the reason, use -v.");
}

/* ----------
 * A line for each database, and the summary
 * ----------
 */

/*
 * The stream for the lines.  A dump and a restore of one database print a
 * summary if they show progress.  A copy and a verification always print it,
 * on standard output.
 */
static FILE *
output_of(const ClusterAccount *account)
{
	switch (account->command)
	{
		case CLUSTER_COPY:
		case CLUSTER_VERIFY:
		case CLUSTER_CHECK:
			return event_log_text_output();
		case CLUSTER_DUMP:
		case CLUSTER_RESTORE:
			break;
	}
	return progress_is_shown() ? stderr : NULL;
}

/* Add the figures of a database, or of all of them, to a list. */
static void
add_run_figures(PQExpBuffer list, const ClusterAccount *account,
				const RunFigures *figures, double seconds, bool with_rate)
{
	static const RunKind kinds[] = {
		[CLUSTER_DUMP] = RUN_DUMP,
		[CLUSTER_COPY] = RUN_COPY,
		[CLUSTER_RESTORE] = RUN_RESTORE,
		[CLUSTER_VERIFY] = RUN_VERIFY
	};

	PQExpBufferData text = buffer_new();

	run_figures_append(&text, figures, kinds[account->command], seconds, with_rate);
	units_list_add(list, text.data);
	termPQExpBuffer(&text);
}

/* Add the other figures of the summary that are not 0 to a list. */
static void
add_notes(PQExpBuffer list, const RunFigures *figures)
{
	if (figures->reused_files > 0)
		units_list_add(list, psprintf(ngettext("%d chunk reused", "%d chunks reused",
											   figures->reused_files),
									  figures->reused_files));
	if (figures->masked_columns > 0)
		units_list_add(list, psprintf(ngettext("%d column masked", "%d columns masked",
											   figures->masked_columns),
									  figures->masked_columns));
	if (figures->retries > 0)
		units_list_add(list, psprintf("retries: %d", figures->retries));
}

static void
add_problems(PQExpBuffer list, const RunFigures *figures)
{
	if (figures->findings > 0)
		units_list_add(list, psprintf(ngettext("%d problem found", "%d problems found",
											   figures->findings),
									  figures->findings));
}

/* Add the numbers of errors and problems that are not 0 to a list. */
static void
add_faults(PQExpBuffer list, const RunFigures *figures)
{
	if (figures->errors > 0)
		units_list_add(list, psprintf(ngettext("%d error ignored", "%d errors ignored",
											   figures->errors),
									  figures->errors));
	add_problems(list, figures);
}

static double
seconds_of(const ClusterAccount *account, int no)
{
	return (account->end_us[no] - account->start_us[no]) / 1e6;
}

/*
 * Are there figures?  A failed run has passed its figures only if it reached
 * its end, for example with errors that a restore ignored.
 */
static bool
has_figures(const RunFigures *figures)
{
	return figures->tables > 0 || figures->files > 0 || figures->errors > 0;
}

/*
 * "[2/5] shop: 321 tables, ... in 12.3 s", "[2/5] shop: verified, ...".  A
 * failure comes first, in capital letters, so that it is seen among many
 * lines.  Of a damaged archive, not all rows were counted.
 */
static void
print_database(const ClusterAccount *account, int no, FILE *out)
{
	const RunFigures *figures = &account->figures[no];
	bool		failed = account->states[no] == CLUSTER_FAILED;
	double		seconds = seconds_of(account, no);
	PQExpBufferData list = buffer_new();

	if (failed && account->start_us[no] == 0)
		units_list_add(&list, "NO ARCHIVE, its dump failed");
	else if (failed && !has_figures(figures))
		units_list_add(&list, psprintf("FAILED after %s", units_elapsed(seconds)));
	else if (figures->findings > 0)
	{
		units_list_add(&list, "DAMAGED");
		add_problems(&list, figures);
		units_list_add(&list, psprintf(ngettext("%d file in %s", "%d files in %s",
												figures->files),
									   figures->files, units_elapsed(seconds)));
	}
	else
	{
		if (figures->errors > 0)
		{
			units_list_add(&list, "INCOMPLETE");
			units_list_add(&list, psprintf(ngettext("%d error", "%d errors",
													figures->errors),
										   figures->errors));
		}
		else if (failed)
			units_list_add(&list, "FAILED");
		else if (account->command == CLUSTER_VERIFY)
			units_list_add(&list, "verified");
		add_run_figures(&list, account, figures, seconds, false);
		if (account->list->databases[no].todo == CLUSTER_TODO_RESUME)
			units_list_add(&list, "resumed");
		add_notes(&list, figures);
		if (account->options->compare && !failed)
			units_list_add(&list, "equal to the source");
	}
	message_before_output();
	fprintf(out, "[%d/%d] %s: %s\n", account->n_ended, account->list->n,
			printable(account->list->databases[no].name), list.data);
	fflush(out);
	termPQExpBuffer(&list);
}

/* An error names the databases that failed. */
static void
print_with_errors(const ClusterAccount *account, FILE *out)
{
	PQExpBufferData names = buffer_new();

	for (int i = 0; i < account->list->n; i++)
		if (account->states[i] == CLUSTER_FAILED &&
			account->figures[i].errors > 0)
			units_names_add(&names, account->list->databases[i].name);
	if (names.len > 0)
		fprintf(out, "  restored with errors: %s\n", names.data);
	termPQExpBuffer(&names);
}

/* "dumped: roles, tablespaces, 4 of 5 databases" */
static void
print_databases(const ClusterAccount *account, FILE *out)
{
	static const char *const formats[] = {
		[CLUSTER_DUMP] = "dumped: %s\n",
		[CLUSTER_COPY] = "copied: %s\n",
		[CLUSTER_RESTORE] = "restored: %s\n",
		[CLUSTER_VERIFY] = "verified: %s\n"
	};
	int			n = account->list->n;
	int			n_complete = count_states(account, CLUSTER_COMPLETE);
	PQExpBufferData list = buffer_new();

	units_list_add(&list, globals_names(account->options));
	units_list_add(&list, n_complete == n ?
				   psprintf(ngettext("%d database", "%d databases", n), n) :
				   psprintf(ngettext("%d of %d database", "%d of %d databases", n),
							n_complete, n));
	if (account->list->n_before > 0)
		units_list_add(&list, psprintf("%d by earlier runs", account->list->n_before));
	fprintf(out, formats[account->command], list.data);
	termPQExpBuffer(&list);
}

/* The snapshot of a dump or a copy, which --cluster-snapshot has taken. */
static void
print_snapshot(const ClusterAccount *account, FILE *out)
{
	const SnapshotRecord *snapshot = account->snapshot;
	const char *time;

	if (snapshot == NULL || account->command == CLUSTER_VERIFY)
		return;
	time = printable(snapshot->time);
	if (snapshot->lsn)
		fprintf(out, "  snapshot: %s, no changes after WAL position %s\n", time, snapshot->lsn);
	else if (snapshot->replay_lsn)
		fprintf(out, "  snapshot: %s, replay position %s\n", time, snapshot->replay_lsn);
	else
		fprintf(out, "  snapshot: %s\n", time);
}

static void
print_summary(const ClusterAccount *account, FILE *out)
{
	RunFigures	sum = sum_figures(account);
	PQExpBufferData figures = buffer_new();
	PQExpBufferData faults = buffer_new();

	add_run_figures(&figures, account, &sum, run_clock_seconds(), true);
	add_notes(&figures, &sum);
	add_faults(&faults, &sum);
	message_before_output();
	print_databases(account, out);
	fprintf(out, "  %s\n", figures.data);
	if (faults.len > 0)
		fprintf(out, "  %s\n", faults.data);
	print_with_errors(account, out);
	if (account->target)
		fprintf(out, "  target: %s\n", account->target);
	print_snapshot(account, out);
	fflush(out);
	termPQExpBuffer(&figures);
	termPQExpBuffer(&faults);
}

/* ----------
 * Events
 * ----------
 */
static void
add_figures(Event *event, const ClusterAccount *account,
			const RunFigures *figures)
{
	if (account->command == CLUSTER_VERIFY)
		event_add_number(event, "files", figures->files);
	else
	{
		event_add_number(event, "tables", figures->tables);
		event_add_number(event, "large_objects", figures->objects);
	}
	event_add_number(event, "rows", figures->rows);
	event_add_number(event, "raw_bytes", figures->raw_bytes);
	event_add_number(event, "stored_bytes", figures->stored_bytes);
	if (account->command == CLUSTER_COPY || account->command == CLUSTER_RESTORE)
		event_add_number(event, "wire_bytes", figures->stored_bytes);
	if (account->command == CLUSTER_VERIFY)
		event_add_number(event, "findings", figures->findings);
	else
		event_add_number(event, "retries", figures->retries);
	if (account->command == CLUSTER_RESTORE)
		event_add_number(event, "errors", figures->errors);
}

static Event *
database_event(const char *kind, const ClusterDatabase *database)
{
	Event	   *event = event_new(kind);

	event_add_text(event, "database", database->name);
	event_add_number(event, "oid", database->oid);
	return event;
}

void
cluster_account_note_begin(ClusterAccount *account, int no)
{
	const ClusterDatabase *database = &account->list->databases[no];
	Event	   *event = database_event("database_start", database);

	account->states[no] = CLUSTER_RUNS;
	account->start_us[no] = clock_wall_us();
	event_add_number(event, "bytes", database->bytes);
	event_write(event);

	/*
	 * The run prints the plan below this line; --check prints its own line.
	 */
	if (account->command == CLUSTER_CHECK && !account->options->check)
	{
		fprintf(output_of(account), "[%d/%d] %s, %s:\n", account->n_ended + 1,
				account->list->n, printable(database->name),
				units_size(database->bytes));
		fflush(output_of(account));
	}
}

void
cluster_account_note_end(ClusterAccount *account, int no, ClusterState end)
{
	const RunFigures *figures = &account->figures[no];
	Event	   *event = database_event("database_end", &account->list->databases[no]);

	account->states[no] = end;
	/* 0 = this run did not begin, because the dump had failed */
	if (account->start_us[no] != 0)
		account->end_us[no] = clock_wall_us();
	account->n_ended++;
	event_add_text(event, "state", end == CLUSTER_FAILED ? "failed" : "complete");
	if (account->command != CLUSTER_CHECK)
		add_figures(event, account, figures);
	event_add_seconds(event, "seconds", seconds_of(account, no));
	event_write(event);
	if (account->command != CLUSTER_CHECK && output_of(account))
		print_database(account, no, output_of(account));
}

/* ----------
 * The end
 * ----------
 */
static void
note_summary(const ClusterAccount *account)
{
	RunFigures	sum = sum_figures(account);
	Event	   *event = event_new("summary");

	event_add_number(event, "databases", account->list->n);
	event_add_number(event, "failed_databases",
					 count_states(account, CLUSTER_FAILED));
	if (account->command != CLUSTER_CHECK)
		add_figures(event, account, &sum);
	event_add_seconds(event, "seconds", run_clock_seconds());
	event_write(event);
}

static const char *const page_titles[] = {
	[CLUSTER_DUMP] = "Dump of all databases",
	[CLUSTER_COPY] = "Copy of all databases",
	[CLUSTER_RESTORE] = "Restore of all databases",
	[CLUSTER_VERIFY] = "Verification of all databases",
	[CLUSTER_CHECK] = "Dump of all databases"
};

/* The outcome of a database's run, besides its figures; NULL for none. */
static const char *
page_notes(const ClusterAccount *account, int no)
{
	PQExpBufferData notes = buffer_new();

	if (account->states[no] == CLUSTER_FAILED)
		units_list_add(&notes, account->start_us[no] == 0 ?
					   "no archive" : "failed");
	add_notes(&notes, &account->figures[no]);
	add_faults(&notes, &account->figures[no]);
	return notes.len > 0 ? notes.data : NULL;
}

/* The names of the databases that failed, or NULL. */
static const char *
failed_names(const ClusterAccount *account)
{
	uint64	   *failed = pg_malloc0((account->list->n + 1) * sizeof(uint64));
	char	   *names;
	int			n;

	for (int i = 0; i < account->list->n; i++)
		failed[i] = account->states[i] == CLUSTER_FAILED;
	names = names_of(account, failed, &n);
	return n > 0 ? names : NULL;
}

/*
 * A database whose run did not complete has no page of its own, except one
 * from an earlier run.
 */
static void
write_page(const ClusterAccount *account)
{
	const Options *options = account->options;
	int			n = account->list->n;
	ReportDatabase *databases = pg_malloc0((n + 1) * sizeof(ReportDatabase));
	ReportCluster cluster = {
		.title = page_titles[account->command],
		/* a command may contain a secret */
		.archive = account->command == CLUSTER_COPY || options->pipe_command ? NULL :
		options->verify ? options->verify :
		options->restore ? options->restore : options->directory,
		.snapshot = account->snapshot,
		.databases = databases,
		.n = n,
		.n_failed = count_states(account, CLUSTER_FAILED),
		.failed = failed_names(account),
		.start_us = run_clock_start_us(),
		.end_us = clock_wall_us(),
		.has_stored = account->command == CLUSTER_DUMP ||
		account->command == CLUSTER_VERIFY,
	};

	for (int i = 0; i < n; i++)
	{
		char	   *page = psprintf("%u.html", account->list->databases[i].oid);
		char	   *path = psprintf("%s/%s", options->report, page);
		bool		ended = account->states[i] == CLUSTER_COMPLETE ||
			has_figures(&account->figures[i]);

		databases[i] = (ReportDatabase)
		{
			.name = account->list->databases[i].name,
				.page = ended && access(path, F_OK) == 0 ? page : NULL,
				.notes = page_notes(account, i),
				.start_us = account->start_us[i],
				.end_us = account->end_us[i],
				.figures = &account->figures[i],
		};
	}
	(void) report_end_cluster(state.page, &cluster);
}

/*
 * The last lines of --check of a dump: what a run would do, as dry_run.c
 * prints it for one database.
 */
static void
print_check(const ClusterAccount *account)
{
	const Options *options = account->options;
	const char *directory = options->directory;
	RunFigures	sum = sum_figures(account);
	ArchiveNeed need = {.raw_bytes = sum.raw_bytes,.compressed = sum.stored_bytes < sum.raw_bytes};
	uint64		bytes = bytes_to_read(account);
	uint64		available;
	FILE	   *out = output_of(account);
	int			n = account->list->n;

	fprintf(out, ngettext("A run would dump %d database, about %s:\n",
						  "A run would dump %d databases, about %s:\n", n),
			n, units_size(bytes));
	fprintf(out, "  global objects: %s\n", globals_names(options));
	fprintf(out, "  tables: %d, large objects: %d\n", sum.tables, sum.objects);
	fprintf(out, "  jobs: %d\n", options->jobs);
	fprintf(out, "%s\n", account->connections);
	/* this run has tried to take it, and would have ended with an error */
	if (options->cluster_snapshot)
		fprintf(out, "  snapshot of all databases: can be taken\n");
	if (sum.compression)
		fprintf(out, "  archives: about %s with %s\n",
				units_size(sum.stored_bytes), sum.compression);
	else
		fprintf(out, "  archives: about %s\n", units_size(sum.stored_bytes));
	if (directory && archive_space_available(directory, &need, &available))
		fprintf(out, "  free disk space: %s\n", units_size(available));
	dry_run_print_times(options, bytes, options->expected_rate == 0 ? 0 :
						(double) bytes / options->expected_rate, out);
	findings_add_databases(&sum.checked, n,
						   count_states(account, CLUSTER_FAILED) < n ?
						   failed_names(account) : NULL);
	if (directory)
		archive_space_check(directory, &need);
}

void
cluster_account_end(ClusterAccount *account)
{
	progress_end();
	if (account->command == CLUSTER_CHECK && account->options->check &&
		account->options->restore == NULL && account->list->n > 0 &&
		output_of(account))
		print_check(account);
	give_hints(account);
	/* With --globals-only there are no databases. */
	if (account->list->n > 0 && account->command != CLUSTER_CHECK &&
		output_of(account))
		print_summary(account, output_of(account));
	note_summary(account);
	if (state.page)
		write_page(account);
}
