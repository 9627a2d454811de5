/*
 * run.c
 *		What can be asked of a run, and its events.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "process/run_figures.h"
#include "status/run.h"

void
run_make_results(Run *run, pg_checksum_type checksum_type)
{
	const DumpPlan *plan = run->plan;

	run->results = file_results_new(plan->chunks->n_files,
									plan->objects->n_objects,
									run->archive ? plan->objects->n_lists : 0,
									run->options->jobs, checksum_type);
}

/* Files and their results have the same places in their arrays. */
FileResult *
run_file_result(const Run *run, const DataFile *file)
{
	return &run->results->files[file - run->plan->chunks->files];
}

FileResult *
run_job_result(const Run *run, const Job *job, int i)
{
	const DumpPlan *plan = run->plan;
	const LargeObjectGroup *group;

	if (job->kind == JOB_DATA_FILES)
		return i == job->n ? NULL :
			run_file_result(run, plan->queue->files[job->first + i]);
	group = &plan->objects->groups[job->first];
	return i == group->n_oids ? NULL :
		&run->results->objects[group->first_object + i];
}

/*
 * A file is done when the leader has it from the worker.  The barrier is for
 * those who look without a message: those who see that it is done see its
 * figures, too.
 */
void
run_job_is_done(const Run *run, const Job *job, const volatile bool *left)
{
	FileResult *result;

	__sync_synchronize();
	for (int i = 0; (result = run_job_result(run, job, i)) != NULL; i++)
		if (job->kind != JOB_DATA_FILES || left == NULL ||
			!left[result - run->results->files])
			result->done = true;
}

bool
run_table_is_done(const void *arg, int table)
{
	const Run  *run = arg;
	const TablePlan *decided = &run->plan->chunks->tables[table];

	for (int i = 0; i < decided->n_files; i++)
		if (!run->results->files[decided->first_file + i].done)
			return false;
	return true;
}

/*
 * A table may be done and yet lack rows, where a restore went on after an
 * error.
 */
bool
run_table_is_complete(const Run *run, int table)
{
	const TablePlan *decided = &run->plan->chunks->tables[table];

	for (int i = 0; i < decided->n_files; i++)
		if (run->results->files[decided->first_file + i].incomplete)
			return false;
	return run_table_is_done(run, table);
}

/*
 * Files count as what they were expected to have: the estimate of this run is
 * what its percentages are of.
 */
ResumedWork
run_before(const Run *run)
{
	const FileResults *results = run->results;
	ResumedWork before = {0};

	for (int i = 0; i < results->n_files; i++)
	{
		const FileResult *file = &results->files[i];

		if (run_was_done_before(file))
		{
			before.files++;
			before.bytes += run->plan->chunks->files[i].est_bytes;
			continue;
		}
		before.parts += file->parts_before;
		before.bytes += file->bytes_before;
	}
	for (int i = 0; i < results->n_objects; i++)
		before.objects += run_was_done_before(&results->objects[i]);
	if (results->n_objects > 0)
		before.bytes += (double) run->plan->objects->est_bytes *
			before.objects / results->n_objects;
	return before;
}

/* ----------
 * What a dump notes in the event log.
 * ----------
 */

/*
 * An exit callback.  A run that ends with an error has this as its last
 * event, instead of a summary.
 */
static void
run_note_failure(void *arg)
{
	event_write(event_new("failed"));
}

static const char *
command_name(const Options *options)
{
	if (options->backup)
		return "basebackup";
	if (options->verify)
		return "verify";
	if (options->check)
		return "check";
	if (options->dry_run)
		return "dry-run";
	if (options->restore)
		return "restore";
	if (options->compare_with)
		return "compare";
	return options->target ? "copy" : "dump";
}

void
run_event_begin(const Options *options)
{
	if (options->log_json == NULL)
		return;
	/* a log in the archive would be a file that no manifest knows */
	if (strcmp(options->log_json, "-") != 0)
		archive_dir_keep_out(options->verify ? options->verify :
							 options->restore ? options->restore : options->directory,
							 "--log-json", options->log_json);
	event_log_open(options->log_json, command_name(options), message_database());

	/*
	 * the first to be pushed is the last to be called: all is undone by then
	 */
	cleanup_push(run_note_failure, NULL);
}

void
run_event_stage(const char *stage)
{
	Event	   *event = event_new("stage");

	if (run_figures_own())
		run_figures_own()->stage = stage;
	event_add_text(event, "stage", stage);
	event_write(event);
}

/* What is to be done, in numbers. */
static void
add_plan(Event *event, const Options *options, const DumpPlan *plan)
{
	event_add_number(event, "jobs", options->jobs);
	event_add_number(event, "tables", plan->tables->n_tables);
	event_add_number(event, "chunks", plan->chunks->n_files);
	event_add_number(event, "large_objects", plan->objects->n_objects);
	event_add_number(event, "expected_bytes", dump_plan_bytes(plan));
}

void
run_event_run(const Options *options, const DumpPlan *plan,
			  const PeerAddress *target_address)
{
	Event	   *event = event_new("run");

	event_add_text(event, "version", PARDUMP_VERSION);
	event_add_text(event, "database", plan->origin->database);
	if (target_address)
		event_add_text(event, "target", target_address->conninfo);
	event_add_text(event, "directory", options->directory);
	/* a command may contain a secret */
	event_add_text(event, "archive", options->pipe_command ? NULL : options->restore);
	add_plan(event, options, plan);
	if (!target_address)
		event_add_text(event, "compression",
					   compress_method_name(plan->compress.method));
	event_write(event);
}

void
run_event_resumed(const Run *run)
{
	ResumedWork before = run_before(run);
	Event	   *event = event_new("resumed");

	event_add_number(event, "chunks", before.files);
	event_add_number(event, "pieces", before.parts);
	event_add_number(event, "large_objects", before.objects);
	event_add_number(event, "expected_bytes", (uint64) before.bytes);
	event_write(event);
}

/*
 * The reasons are those of --dry-run.  What is NULL is left out of an event.
 */
void
run_event_plan(const DumpPlan *plan, int table, uint64 est_bytes)
{
	Event	   *event = event_new("plan");
	const DumpTable *t = &plan->tables->tables[table];
	const TablePlan *decided = &plan->chunks->tables[table];

	event_add_text(event, "table", t->name);
	event_add_number(event, "heap_bytes", t->heap_bytes);
	event_add_number(event, "toast_bytes", t->total_bytes - t->heap_bytes);
	event_add_number(event, "chunks", decided->n_files);
	event_add_number(event, "expected_bytes", est_bytes);
	event_add_text(event, "read_by", decided->sql_reason ? "SQL" : "extension");
	event_add_text(event, "why_whole", decided->whole_reason);
	event_add_text(event, "why_sql", decided->sql_reason);
	if (t->masks)
		event_add_number(event, "masked_columns", dump_table_count_masks(t));
	if (plan->previous)
	{
		event_add_number(event, "reusable_chunks",
						 chunk_plan_count_reusable(plan->chunks, table));
		event_add_text(event, "why_not_reused", decided->new_reason);
	}
	event_write(event);
}

void
run_event_dry_run(const Options *options, const DumpPlan *plan, double seconds)
{
	Event	   *event = event_new("dry_run");

	add_plan(event, options, plan);
	event_add_text(event, "compression",
				   compress_method_name(plan->compress.method));
	if (options->expected_rate != 0)
		event_add_seconds(event, "expected_seconds", seconds);
	event_write(event);
}

/* The file's name in the archive, its table, and its place in it. */
static Event *
chunk_event(const Run *run, const char *kind, const DataFile *file)
{
	Event	   *event = event_new(kind);

	if (event == NULL)
		return NULL;
	event_add_number(event, "worker", run->results->worker);
	if (run->servers)
		event_add_text(event, "server", run->servers[run->results->server]);
	if (run->archive)
		event_add_text(event, "file",
					   archive_name_rows(file->dump_id,
										 run->plan->compress.method));
	event_add_text(event, "table", run->plan->tables->tables[file->table].name);
	event_add_number(event, "chunk", Max(file->chunk_no, 1));
	event_add_number(event, "chunks", file->n_chunks);
	return event;
}

void
run_event_chunk_start(const Run *run, const DataFile *file,
					  const char *format, const char *format_reason)
{
	Event	   *event = chunk_event(run, "chunk_start", file);
	bool		by_sql = run->plan->chunks->tables[file->table].sql_reason != NULL;

	event_add_number(event, "expected_bytes", file->est_bytes);
	event_add_text(event, "format", format);
	event_add_text(event, "format_reason", format_reason);
	if (run->plan->extension)
		event_add_text(event, "read_by", by_sql ? "SQL" : "extension");
	event_write(event);
}

void
run_event_add_bytes(Event *event, const Run *run, uint64 raw_bytes,
					uint64 stored_bytes)
{
	event_add_number(event, "raw_bytes", raw_bytes);
	event_add_number(event, "stored_bytes", stored_bytes);
	/* the name above is that of the log's first version for both */
	if (run->archive == NULL)
		event_add_number(event, "wire_bytes", stored_bytes);
}

/* The same for who has asked for more words (-v -v). */
static void
log_chunk_end(const Run *run, const DataFile *file, const FileResult *result)
{
	char	   *what = data_file_describe(file, run->plan->tables);

	pg_log_debug(run->archive ?
				 ngettext("%s: %s row, %s stored as %s, %.3f s",
						  "%s: %s rows, %s stored as %s, %.3f s", result->rows) :
				 ngettext("%s: %s row, %s, %s sent, %.3f s",
						  "%s: %s rows, %s, %s sent, %.3f s", result->rows),
				 what, units_count(result->rows),
				 units_size(result->raw_bytes),
				 units_size(result->stored_bytes),
				 (result->end_us - result->start_us) / 1e6);
	free(what);
}

void
run_event_chunk_end(const Run *run, const DataFile *file,
					const char *new_reason)
{
	Event	   *event = chunk_event(run, "chunk_end", file);
	const FileResult *result = run_file_result(run, file);

	log_chunk_end(run, file, result);

	event_add_number(event, "rows", result->rows);
	run_event_add_bytes(event, run, result->raw_bytes, result->stored_bytes);
	event_add_seconds(event, "seconds",
					  (result->end_us - result->start_us) / 1e6);
	event_add_text(event, "reused", result->reused);
	event_add_text(event, "why_not_reused", new_reason);
	event_write(event);
}

/* Counted for the summary as well. */
void
run_event_retry(Run *run, int job)
{
	Event	   *event = event_new("retry");

	run->n_retries++;
	event_add_text(event, "job", dump_plan_describe_job(run->plan, job, -1));
	event_write(event);
}

void
run_event_read_again(const Run *run, const DataFile *file)
{
	Event	   *event = event_new("retry");

	event_add_text(event, "job", data_file_describe(file, run->plan->tables));
	event_write(event);
}

void
run_event_objects(const Run *run, const char *kind,
				  const LargeObjectGroup *group)
{
	Event	   *event = event_new(kind);

	event_add_number(event, "worker", run->results->worker);
	event_add_number(event, "objects", group->n_oids);
	event_add_number(event, "first_oid", group->oids[0]);
	event_write(event);
}
