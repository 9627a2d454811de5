/*
 * run_event.c
 *		What a dump notes in the event log.
 */
#include "base/fe_compat.h"

#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "base/event_log.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "status/run_event.h"

static void
note_failure(void *arg)
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
	if (strcmp(options->log_json, "-") != 0)
		archive_dir_keep_out(options->verify ? options->verify :
							 options->restore ? options->restore : options->directory,
							 "event log", options->log_json);
	event_log_open(options->log_json, command_name(options));

	/*
	 * the first to be pushed is the last to be called: all is undone by then
	 */
	cleanup_push(note_failure, NULL);
}

void
run_event_stage(const char *stage)
{
	Event	   *event = event_new("stage");

	event_add_text(event, "stage", stage);
	event_write(event);
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
	event_add_text(event, "archive", options->restore);
	event_add_number(event, "jobs", options->jobs);
	event_add_number(event, "tables", plan->tables->n_tables);
	event_add_number(event, "chunks", plan->chunks->n_files);
	event_add_number(event, "large_objects", plan->objects->n_objects);
	event_add_number(event, "expected_bytes", dump_plan_bytes(plan));
	if (!target_address)
		event_add_text(event, "compression",
					   compress_method_name(plan->compress.method));
	event_write(event);
}

void
run_event_resumed(const Run *run)
{
	RunBefore	before = run_before(run);
	Event	   *event = event_new("resumed");

	event_add_number(event, "chunks", before.files);
	event_add_number(event, "pieces", before.parts);
	event_add_number(event, "large_objects", before.objects);
	event_add_number(event, "expected_bytes", (uint64) before.bytes);
	event_write(event);
}

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

	event_add_number(event, "jobs", options->jobs);
	event_add_number(event, "tables", plan->tables->n_tables);
	event_add_number(event, "chunks", plan->chunks->n_files);
	event_add_number(event, "large_objects", plan->objects->n_objects);
	event_add_number(event, "expected_bytes", dump_plan_bytes(plan));
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
	char	   *name;

	if (event == NULL)
		return NULL;
	name = archive_name_rows(file->dump_id, run->plan->compress.method);
	event_add_number(event, "worker", run->results->worker);
	if (run->servers)
		event_add_text(event, "server", run->servers[run->results->server]);
	if (run->archive)
		event_add_text(event, "file", name);
	event_add_text(event, "table", run->plan->tables->tables[file->table].name);
	event_add_number(event, "chunk", Max(file->chunk_no, 1));
	event_add_number(event, "chunks", file->n_chunks);
	free(name);
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

/* The same for who has asked for more words (-v -v). */
static void
log_chunk_end(const DumpTables *tables, const DataFile *file,
			  const FileResult *result)
{
	char	   *what = data_file_describe(file, tables);
	char		raw[UNITS_BYTES];
	char		stored[UNITS_BYTES];

	pg_log_debug("%s: " UINT64_FORMAT " row%s, %s stored as %s, %.3f s", what,
				 result->rows, units_plural(result->rows),
				 units_size(result->raw_bytes, raw),
				 units_size(result->stored_bytes, stored),
				 (result->end_us - result->start_us) / 1e6);
	free(what);
}

void
run_event_chunk_end(const Run *run, const DataFile *file,
					const char *new_reason)
{
	Event	   *event = chunk_event(run, "chunk_end", file);
	const FileResult *result = run_file_result(run, file);

	log_chunk_end(run->plan->tables, file, result);

	event_add_number(event, "rows", result->rows);
	event_add_number(event, "raw_bytes", result->raw_bytes);
	event_add_number(event, "stored_bytes", result->stored_bytes);
	event_add_seconds(event, "seconds",
					  (result->end_us - result->start_us) / 1e6);
	event_add_text(event, "reused", result->reused);
	event_add_text(event, "why_not_reused", new_reason);
	event_write(event);
}

void
run_event_retry(Run *run, int job)
{
	Event	   *event = event_new("retry");
	char	   *what = dump_plan_describe_job(run->plan, job, -1);

	run->n_retries++;
	event_add_text(event, "job", what);
	event_write(event);
	free(what);
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
