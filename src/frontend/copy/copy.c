/*
 * copy.c
 *		The main path of a direct copy: plan, definitions, rows, the rest.
 *
 * Both servers are connected to before anything is created, so that a wrong
 * password or a missing role is reported within the first second.  The source
 * is planned as for a dump, in one snapshot.  On the target the order is that
 * of pg_restore: database, objects to drop, definitions that rows need, rows,
 * then indexes, keys and triggers.  Indexes of a table are built as soon as
 * the table has all its rows, while other tables are still being loaded.
 *
 * The rows of a job are committed in one transaction, and there is no journal
 * on the target, unlike in a restore: a copy that failed is begun again,
 * because its snapshot is gone.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "compare/compare.h"
#include "copy/copy.h"
#include "copy/copy_worker.h"
#include "load/analyze.h"
#include "load/clean.h"
#include "load/definitions.h"
#include "load/load_order.h"
#include "load/restore_journal_open.h"
#include "load/target_check.h"
#include "replication/subscription.h"
#include "source/leader.h"
#include "status/dry_run.h"
#include "status/load_account.h"
#include "status/metrics.h"
#include "status/run_progress.h"
#include "status/summary.h"

/* ----------
 * In which formats a copy's tables went, and why.
 * ----------
 */

/* Reasons name columns, so there may be a different one for each table. */
#define REASONS_SHOWN 3

/* The tables of a format, for a reason or, if that is NULL, for any. */
static int
count_tables(const Run *run, const CopyFormats *formats,
			 CopyFormatKind kind, const char *reason)
{
	int			n = 0;

	for (int i = 0; i < run->plan->tables->n_tables; i++)
	{
		const CopyFormat *format = &formats->tables[i];

		n += OidIsValid(format->target) && format->kind == kind &&
			(reason == NULL ||
			 (format->reason && strcmp(format->reason, reason) == 0));
	}
	return n;
}

/*
 * Append the tables of a format by the first reasons why they have it, in the
 * order of tables.
 */
static void
append_tables(PQExpBuffer text, const Run *run, const CopyFormats *formats,
			  CopyFormatKind kind, const char *name)
{
	const char *shown[REASONS_SHOWN + 1];
	int			n_shown = 0;
	int			n_left = count_tables(run, formats, kind, NULL);

	for (int i = 0; n_left > 0; i++)
	{
		const CopyFormat *format = &formats->tables[i];
		const char *reason = format->reason;
		bool		is_new = OidIsValid(format->target) && format->kind == kind;
		bool		is_last = n_shown == REASONS_SHOWN;
		int			n;

		for (int j = 0; j < n_shown && is_new; j++)
			is_new = strcmp(reason, shown[j]) != 0;
		if (!is_new)
			continue;
		n = is_last ? n_left : count_tables(run, formats, kind, reason);
		if (text->len > 0)
			appendPQExpBufferStr(text, ", ");
		/* Only raw tuples, which take the least work, have no reason. */
		if (reason == NULL)
			appendPQExpBuffer(text, ngettext("%s (%d table)", "%s (%d tables)", n),
							  name, n);
		else if (is_last)
			appendPQExpBuffer(text,
							  ngettext("%s (%d table, other reason)",
									   "%s (%d tables, other reasons)", n),
							  name, n);
		else if (strcmp(reason, SMALL_TABLE) == 0)
			appendPQExpBuffer(text,
							  ngettext("%s (%d small table)",
									   "%s (%d small tables)", n), name, n);
		else
			appendPQExpBuffer(text,
							  ngettext("%s (%d table, reason: %s)",
									   "%s (%d tables, reason: %s)", n),
							  name, n, printable(reason));
		shown[n_shown++] = reason;
		n_left -= n;
	}
}

/*
 * How many tables were copied in each format, and why not in one that takes
 * less work, as a text for the summary.  NULL if there are no tables.  Owned.
 */
static char *
copy_account_formats(const Run *run, const CopyFormats *formats)
{
	PQExpBufferData text = buffer_new();

	append_tables(&text, run, formats, COPY_FORMAT_RAW, "raw tuples");
	append_tables(&text, run, formats, COPY_FORMAT_BINARY, "binary COPY");
	append_tables(&text, run, formats, COPY_FORMAT_TEXT, "text COPY");
	return text.len > 0 ? text.data : NULL;
}

/* ----------
 * The main path of a direct copy: plan, definitions, rows, the rest.
 * ----------
 */

/* One copy; exit callbacks, and the pool's in leader and workers, use it. */
typedef struct Copy
{
	CopyWork	work;			/* first: the arg of the pool's callbacks */
	Options		options;		/* the user's, and pg_restore's of a copy */
	DumpPlan	plan;
	Source		source;
	Target		target;
	Run			run;
	char	   *source_server;	/* connection_server_name(); owned */
	const char *new_name;		/* of the database to create, or NULL */
	RestoreStages restore;
	int		   *n_errors;		/* of definitions; shared */
	Oid		   *targets;		/* by table: where its rows go */
	int			n_done;			/* jobs of the queue */
	int		   *wave_begins;	/* by wave: its first job */
	LoadAccount account;
	Subscription *subscription; /* NULL if none is to be made */
} Copy;

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
/*
 * Jobs are sorted by their waves.  Foreign keys that exist on the target
 * already are checked at the end of each COPY, so all tables that a wave's
 * tables reference must have been loaded by earlier waves.
 */
static bool
copy_begin_job(void *arg, int job)
{
	const Copy *copy = arg;

	return copy->n_done >= copy->wave_begins[copy->plan.queue->jobs[job].wave];
}

static void
copy_job_is_done(void *arg, int job)
{
	((Copy *) arg)->n_done++;
}

/*
 * A worker was lost.  Nothing has to be undone on the target: the end of the
 * worker's session has rolled back the transaction of the job.
 */
static void
copy_reset_job(void *arg, int job)
{
	run_event_retry(&((Copy *) arg)->run, job);
}

/*
 * A comparison reads the source once more after the rows, in the same
 * snapshot, so the leader keeps it until then.
 */
static void
run_workers(Copy *copy)
{
	WorkerTask	task = copy_worker_task(&copy->work);

	task.reset = copy_reset_job;
	task.begin = copy_begin_job;
	task.done = copy_job_is_done;
	copy->source.keep_snapshot = copy->run.options->compare;
	leader_run_workers(&copy->source, &copy->run, &task);
}

/* ----------
 * The main path
 * ----------
 */

/* Exit callbacks and workers use it until the process ends. */
static Copy *
new_copy(const Options *options)
{
	Copy	   *copy = pg_malloc0(sizeof(Copy));

	copy->options = *options;
	/* how the target's definitions are made; pg_dump has no such option */
	copy->options.if_exists = true;
	copy->source.options = &copy->options;
	copy->target.options = &copy->options;
	copy->run.options = &copy->options;
	copy->run.plan = &copy->plan;
	copy->work.source = &copy->source;
	copy->work.target = &copy->target;
	copy->work.run = &copy->run;
	copy->restore.target = &copy->target;
	copy->restore.setup.options = &copy->options;
	copy->n_errors = shared_memory_new(1, sizeof(int));
	copy->restore.setup.n_errors = copy->n_errors;
	toc_context_share();
	return copy;
}

/*
 * The name of the database to create, by its entry; NULL if it is not asked
 * for.
 */
static const char *
database_to_create(const Options *options, const Toc *toc)
{
	const TocEntry *database = toc_find(toc, "DATABASE");

	if (!options->create)
		return NULL;
	if (database)
		return database->tag;
	toc_reject_pg_dump("The database to be created is missing.");
}

/*
 * Decide what is read, in which pieces, and in which phase each definition is
 * made on the target.  Nothing is changed on either server.
 */
static void
make_plan(Copy *copy, StockPgDump *pg_dump)
{
	const Options *options = copy->run.options;
	const DumpPlan *plan = &copy->plan;

	leader_plan(&copy->source, pg_dump, &copy->plan);
	copy->target.encoding = plan->encoding;
	stock_pg_restore_set_toc(&copy->restore.setup, plan->toc);
	copy->restore.archive = plan->toc;
	copy->restore.makes_extension = plan->leaves_out_extension;
	copy->restore.schedule = restore_schedule_make(plan->toc, plan->tables,
												   options->create);
	source_check(copy->source.conn, options, plan);
}

/*
 * Look at the target before anything is created there.  All checks only note
 * errors, and findings_report() exits at the end if there are any, so that a
 * user sees everything that is wrong in one run.
 */
static void
check_target(Copy *copy)
{
	const Options *options = copy->run.options;
	const Toc  *toc = copy->plan.toc;

	copy->new_name = database_to_create(options, toc);
	target_refuse_source(&copy->target, copy->plan.origin,
						 toc->pg_dump_version, copy->new_name);
	restore_stage_leave_out_extension(&copy->restore, copy->new_name);
	target_check(copy->target.conn, copy->restore.schedule, options,
				 copy->plan.queue->n_jobs, copy->plan.encoding, copy->new_name);
	if (options->data_only)
		restore_journal_refuse_unfinished(copy->target.conn, options);
	copy_format_check(copy->source.conn, &copy->target, &copy->plan);
	if (copy->new_name == NULL)
		target_check_tables(copy->target.conn, copy->plan.tables,
							options->clean);
	if (copy->new_name == NULL && !options->clean)
		target_check_sequences(copy->target.conn, copy->restore.schedule);
	if (copy->new_name == NULL)
		target_check_objects(copy->target.conn, &copy->plan, options);
	clean_objects_check_copy(&copy->restore);
	findings_report();
}

/*
 * Create the database, if that is asked for, and prepare the session for the
 * rows.  The tables of a new database are checked again, because its template
 * may have brought some.
 */
static void
prepare_target(Copy *copy)
{
	const Options *options = copy->run.options;

	if (copy->new_name)
		restore_stage_database(&copy->restore, copy->new_name);
	target_begin(&copy->target);

	/*
	 * Every new database has the schema public, and pg_dump has a statement
	 * for it with -n.  What --clean drops is created again.
	 */
	if (!options->clean)
		copy->restore.schedule->has_public =
			target_has(copy->target.conn, TARGET_SCHEMA, "public");
	/* its template may have brought some */
	if (copy->new_name)
		target_check_tables(copy->target.conn, copy->plan.tables, false);
	findings_report();
	/* tried before hours of work: can the target reach the source at all? */
	if (options->create_subscription)
		copy->subscription = subscription_try(copy->source.conn,
											  copy->target.address,
											  copy->source.slot, options);
}

/*
 * Tables of extensions are created by CREATE EXTENSION, so if one extension
 * failed, a table without a definition in the archive may be missing, or may
 * be another object of that name.
 */
static bool
extension_has_failed(const Copy *copy)
{
	for (int i = 0; i < copy->plan.toc->n_entries; i++)
		if (toc_entry_is(&copy->plan.toc->entries[i], "EXTENSION") &&
			copy->restore.failed[copy->plan.toc->entries[i].dump_id])
			return true;
	return false;
}

/*
 * Where the rows go.  A table that this copy could not make gets none, also
 * if there is one of its name: that has another one's rows.
 */
static void
find_targets(Copy *copy)
{
	PGconn	   *conn = copy->target.conn;
	const DumpTables *tables = copy->plan.tables;
	Oid		   *own = target_find_tables(conn, tables, false);
	bool		in_doubt = !copy->options.data_only && extension_has_failed(copy);
	bool	   *of_extension = in_doubt ?
		target_are_of_extensions(conn, own, tables->n_tables) : NULL;

	copy->targets = target_find_tables(conn, tables, true);
	for (int i = 0; i < tables->n_tables; i++)
	{
		const DumpTable *table = &tables->tables[i];
		bool		is_made = table->has_definition ?
			OidIsValid(own[i]) &&
			!copy->restore.failed[toc_table_dump_id(table->entry)] :
			!in_doubt || of_extension[i];

		if (OidIsValid(copy->targets[i]) && is_made)
			continue;
		/* what no error explains would be found only after other rows */
		if (*copy->n_errors == 0)
		{
			pg_log_error("table %s does not exist on the target",
						 printable(table->copy_name));
			pg_fatal_hint("Create the table, or leave out this table with -T '%s'.",
						  printable(table->name));
		}
		pg_log_warning("not copying rows of table %s, which could not be created",
					   printable(table->name));
		copy->targets[i] = InvalidOid;
	}
}

/*
 * What the rows need.  As in pg_restore an error is told and counted, and
 * what is left is made.
 */
static void
make_definitions(Copy *copy)
{
	copy->restore.failed = shared_memory_new(copy->plan.toc->max_dump_id + 1,
											 sizeof(bool));
	definitions_make(&copy->restore, NULL);
	if (*copy->n_errors > 0)
		restore_stage_give_hint(&copy->options, copy->target.conn);
	restore_stage_make_extension(&copy->restore);
	find_targets(copy);
	/* a restart until now does not matter: all definitions are on the disk */
	copy->target.incarnation = target_state(copy->target.conn).incarnation;
	/* signals cancel what the leader waits for on the source */
	interrupt_set_connection(copy->source.conn);
}

/*
 * Tables that this copy has not made may have foreign keys already, as those
 * of extensions and with --data-only, and so may partitions of such tables.
 * The others get theirs after their rows.
 */
static bool
may_have_keys(const Copy *copy)
{
	const DumpTables *tables = copy->plan.tables;

	for (int i = 0; i < tables->n_tables; i++)
		if (!tables->tables[i].has_definition || tables->tables[i].root_table)
			return true;
	return copy->options.data_only;
}

/*
 * job_queue_make() has put the largest jobs first.  The keys of the target
 * may need another order, which is known only now that the tables exist.
 * Commits are noted in shared memory: a worker that replaces a lost one finds
 * out there whether a COMMIT without an answer was done.
 */
static void
order_rows(Copy *copy)
{
	int			n = copy->plan.tables->n_tables;
	const JobQueue *queue = copy->plan.queue;

	if (!copy->run.options->disable_triggers && may_have_keys(copy))
		queue = load_order_make(copy->target.conn, &copy->plan, NULL,
								false, copy->targets);
	copy->plan.queue = queue;
	copy->work.commits = shared_memory_new(queue->n_jobs, sizeof(TargetCommit));
	copy->wave_begins = pg_malloc0((n + 1) * sizeof(int));
	for (int i = queue->n_jobs - 1; i >= 0; i--)
		copy->wave_begins[queue->jobs[i].wave] = i;
}

static void
copy_rows_and_indexes(Copy *copy)
{
	LoadAccount *account = &copy->account;
	const Options *options = copy->run.options;
	const DumpPlan *plan = &copy->plan;
	IndexPlan	indexes = {
		.stages = &copy->restore,
		.tables = plan->tables,
		.is_loaded = run_table_is_done,
		.arg = &copy->run,
		.add_rest = run_progress_add_rest,
	};
	IndexBuilder *builder;

	/* the target has the tables now, and can be asked for their types */
	copy->work.formats = copy_formats_decide(copy->source.conn,
											 &copy->target, plan, copy->targets);
	order_rows(copy);
	/* so that the account of a failure names their tables */
	for (int i = 0; i < plan->chunks->n_files; i++)
		if (!OidIsValid(copy->targets[plan->chunks->files[i].table]))
			copy->run.results->files[i].incomplete = true;
	account->formats = copy_account_formats(&copy->run, copy->work.formats);
	run_event_run(options, plan, copy->target.address);
	load_account_stage(account, LOAD_STAGE_ROWS);
	builder = index_builder_start(&indexes);
	load_account_indexes(account, &copy->run, index_builder_builds(builder));
	run_workers(copy);

	/*
	 * Close the source at once.  Indexes and constraints may take hours, in
	 * which the snapshot would keep vacuum on the source from removing rows.
	 */
	interrupt_set_connection(NULL);
	if (!options->compare)
		leader_close(&copy->source);
	load_account_stage(account, LOAD_STAGE_INDEXES);
	if (!index_builder_finish(builder))
		account->incomplete = true;
}

/* --compare */
static void
compare(Copy *copy)
{
	int			n_different;

	load_account_stage(&copy->account, LOAD_STAGE_COMPARE);
	target_renew(&copy->target);
	n_different = compare_copy(&copy->source, &copy->target, &copy->plan,
							   &copy->account.compared);
	if (n_different > 0)
	{
		pg_log_error(ngettext("source and target differ in %d object",
							  "source and target differ in %d objects",
							  n_different), n_different);
		pg_fatal_hint("Truncate tables that differ, and copy their rows again with --data-only and --table.");
	}
}

/*
 * Everything that must not see the rows being loaded: foreign keys, triggers,
 * event triggers, statistics.  Unlogged tables are checked last, because a
 * crash of the target at any time before has emptied them.
 */
static void
complete_target(Copy *copy)
{
	const Options *options = copy->run.options;

	load_account_stage(&copy->account, LOAD_STAGE_REST);
	definitions_make_rest(&copy->restore, NULL);
	definitions_make_event_triggers(&copy->restore, NULL);
	if (*copy->n_errors > 0)
	{
		char	   *names = toc_context_entries(copy->plan.toc);

		pg_log_warning("errors ignored on copy: %d", *copy->n_errors);
		if (names)
			pg_log_warning_detail("Entries with errors: %s.", names);
		pg_log_warning_hint(FAILED_STATEMENTS_HINT);
		copy->account.incomplete = true;
	}
	load_account_stage(&copy->account, LOAD_STAGE_ANALYZE);
	/* after all that may take long: what the target lost is lost by now */
	target_history_check_unlogged(copy->target.conn, copy->plan.tables,
								  copy->target.incarnation);
	/* --statistics brings the source's own */
	if (!options->no_analyze && !options->statistics)
		analyze_target(&copy->target, copy->plan.tables, copy->plan.toc);
}

/*
 * The first line of the summary, with the servers if both databases have the
 * same name; owned.
 */
static char *
describe_copied(const Copy *copy)
{
	const char *source = copy->plan.origin->database;
	const char *target = PQdb(copy->target.conn);

	if (strcmp(source, target) != 0)
		return psprintf("copied database \"%s\" to database \"%s\":",
						printable(source), printable(target));
	return psprintf("copied database \"%s\" on \"%s\" to database \"%s\" on \"%s\":",
					printable(source), copy->source_server, printable(target),
					connection_server_name(copy->target.conn));
}

/*
 * Everything is on the target.  Until cleanup_forget_all() the exit callbacks
 * would report this run as failed, and drop its slot and subscription;
 * nothing after that call may be needed for a correct copy.
 */
static void
end_copy(Copy *copy, Report *page)
{
	subscription_go_on(copy->subscription, copy->source.slot);
	copy->account.copied = describe_copied(copy);
	load_account_print(&copy->account, event_log_text_output());
	summary_report(&copy->run, false);
	interrupt_set_connection(NULL);
	session_close(copy->target.conn);
	/* not before: until now a failure was to be accounted for, and undone */
	cleanup_forget_all();
	restore_stage_end(&copy->restore);
	metrics_end(true);
	/* last: should it fail, all else is done and told */
	load_page_end(page, &copy->account, 0, copy->target.address);
}

void
copy_database(const Options *options, const char *argv0)
{
	Copy	   *copy = new_copy(options);
	StockPgDump *pg_dump;
	Report	   *page;

	progress_begin(options->progress, options->no_progress);

	/*
	 * Register these exit callbacks first: they run in reverse order, so
	 * these run when everything else has been undone, and report the final
	 * state.
	 */
	run_metrics_begin(options, &copy->run);
	run_event_begin(options);
	pg_dump = stock_pg_dump_find(options, argv0);
	copy->restore.setup.program =
		stock_pg_restore_find(stock_pg_dump_path(pg_dump));
	leader_connect(&copy->source);
	copy->source_server = connection_server_name(copy->source.conn);
	stock_pg_dump_check(pg_dump, options, PQserverVersion(copy->source.conn));
	/* before there is a slot, and pg_dump begins */
	page = report_begin(options, NULL);

	/*
	 * Connect to the target before the snapshot is taken: a user may take
	 * minutes to type a password, in which a snapshot or a slot would hold
	 * back vacuum and WAL on the source.  All connection options but --target
	 * describe the source.
	 */
	copy->target.params.dbname = options->target;
	copy->target.params.prompt_password = options->connection.prompt_password;
	target_open(&copy->target);
	leader_open(&copy->source, pg_dump, &copy->plan);
	load_account_begin(&copy->account, &copy->run);

	make_plan(copy, pg_dump);
	/* before workers are forked; and an account of a failure counts them */
	run_make_results(&copy->run, CHECKSUM_TYPE_NONE);
	/* The plan tells what the target must have, and what it must not have. */
	check_target(copy);
	/* up to here only a slot has been made, and none if we only look */
	if (options->check)
	{
		ConnectionsLeft left = connection_limit_left(copy->target.conn, true);

		/* the run would create the one that its session is not in yet */
		const char *database = options->create ? copy->plan.origin->database :
			pg_strdup(PQdb(copy->target.conn));
		char	   *facts = psprintf("  target: %s\n",
									 connection_server_name(copy->target.conn));

		progress_end();
		leader_close(&copy->source);
		session_close(copy->target.conn);
		dry_run_print_sums(options, &copy->plan, NULL,
						   Max(copy->run.n_servers, 1),
						   &copy->source.rights.connections, &left, database,
						   facts);
		findings_end();
		return;
	}

	/* first, as pg_restore creates the database */
	restore_stage_begin(&copy->restore);
	prepare_target(copy);
	clean_drop(&copy->restore);
	load_account_stage(&copy->account, LOAD_STAGE_DEFINITIONS);
	make_definitions(copy);
	copy_rows_and_indexes(copy);
	/* foreign keys and triggers only now: they are not for a copy's rows */
	complete_target(copy);

	/*
	 * Compare before the subscription is created: changes that it applies
	 * would look like differences.
	 */
	if (options->compare)
		compare(copy);

	load_account_stage(&copy->account, LOAD_STAGE_END);

	/*
	 * A subscription must not continue from an incomplete copy.  The errors
	 * have been reported, and an exit callback reports how far the copy came.
	 */
	if (copy->account.incomplete)
		exit(1);
	end_copy(copy, page);
}
