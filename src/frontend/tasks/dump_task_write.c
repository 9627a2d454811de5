/*
 * dump_task_write.c
 *		Writes what tasks are to read.
 */
#include "base/fe_compat.h"

#include "tasks/dump_task_format.h"
#include "tasks/dump_task_write.h"
#include "base/hex.h"
#include "tasks/plan_write.h"
#include "tasks/task_address.h"
#include "tasks/task_run.h"
#include "tasks/task_server.h"

/* What is written in place of the columns that are masked. */
static void
append_masks(PQExpBuffer buf, const DumpTable *table)
{
	appendPQExpBufferStr(buf, ", \"masks\": [");
	for (int i = 0; i < table->n_columns; i++)
	{
		appendPQExpBufferStr(buf, i > 0 ? ", " : "");
		plan_field_append_text(buf, table->masks[i].sql);
	}
	appendPQExpBufferChar(buf, ']');
}

static void
write_tables(PlanWriter *writer, const DumpPlan *plan)
{
	PQExpBuffer buf = &writer->buf;

	plan_write_array(writer, "tables");
	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		PlannedTable planned = {plan->tables->tables[i], plan->chunks->tables[i]};
		const DumpTable *table = &planned.table;

		plan_write_element(writer, i);
		appendPQExpBufferChar(buf, '{');
		plan_fields_append(buf, dump_task_table_fields, &planned);
		appendPQExpBufferStr(buf, ", \"columns\": [");
		for (int j = 0; j < table->n_columns; j++)
		{
			appendPQExpBufferStr(buf, j > 0 ? ", " : "");
			plan_field_append_text(buf, table->columns[j]);
		}
		appendPQExpBufferChar(buf, ']');
		if (table->masks)
			append_masks(buf, table);
		appendPQExpBufferChar(buf, '}');
		plan_write_end_element(writer);
	}
	plan_write_end_array(writer);
}

static void
append_previous(PQExpBuffer buf, const ManifestFile *file)
{
	PlannedPrevious previous = {
		.file = *file,
		.checksum = hex_encode(file->checksum, file->checksum_len),
	};

	appendPQExpBufferStr(buf, ", \"previous\": {");
	plan_fields_append(buf, dump_task_previous_fields, &previous);
	appendPQExpBufferChar(buf, '}');
	free(previous.checksum);
}

static void
write_files(PlanWriter *writer, const ChunkPlan *chunks)
{
	plan_write_array(writer, "files");
	for (int i = 0; i < chunks->n_files; i++)
	{
		const DataFile *file = &chunks->files[i];

		plan_write_element(writer, i);
		appendPQExpBufferChar(&writer->buf, '{');
		plan_fields_append(&writer->buf, dump_task_file_fields, file);
		if (file->previous)
			append_previous(&writer->buf, file->previous);
		appendPQExpBufferChar(&writer->buf, '}');
		plan_write_end_element(writer);
	}
	plan_write_end_array(writer);
}

static void
write_groups(PlanWriter *writer, const LargeObjects *objects)
{
	plan_write_array(writer, "groups");
	for (int i = 0; i < objects->n_groups; i++)
	{
		const LargeObjectGroup *group = &objects->groups[i];

		plan_write_element(writer, i);
		appendPQExpBuffer(&writer->buf, "{\"first\": %d, \"oids\": [",
						  group->first_object);
		for (int j = 0; j < group->n_oids; j++)
			appendPQExpBuffer(&writer->buf, "%s%u", j > 0 ? ", " : "",
							  group->oids[j]);
		appendPQExpBufferStr(&writer->buf, "]}");
		plan_write_end_element(writer);
	}
	plan_write_end_array(writer);
}

/* Further standbys, which tasks reach as the leader has. */
static void
write_standbys(PlanWriter *writer, const Standbys *standbys,
			   const char *run_id)
{
	plan_write_array(writer, "standbys");
	for (int i = 1; standbys && i < standbys->n; i++)
	{
		const Standby *standby = &standbys->list[i];
		PlannedStandby planned = {
			.name = standby->name,
			.conninfo = task_address_of(standby->conn, standby->address),
			.snapshot = unconstify(char *, standby->snapshot),
			.identity = unconstify(char *, standby->identity),
			.holder_query = standby->holder_query,
		};

		plan_write_object(writer, i - 1, dump_task_standby_fields, &planned);
		free(planned.conninfo);
		task_server_hold(standby->conn, run_id);
	}
	plan_write_end_array(writer);
}

/* ----------
 * All of it
 * ----------
 */
static DumpTaskHead
make_head(const Source *source, const DumpPlan *plan, const char *run_id)
{
	const Options *options = source->options;
	DumpTaskHead head = {
		.run = task_run_make(run_id, options, source->conn, source->address),
		.snapshot = unconstify(char *, plan->snapshot),
		.snapshot_identity = unconstify(char *, plan->snapshot_identity),
		.encoding = unconstify(char *, plan->encoding),
		.compression = pg_malloc(COMPRESS_SPEC_ERROR_BYTES),
		.server_compression = unconstify(char *, plan->server_compress),
		.checksums = pg_checksum_type_name(plan->checksum_type),
		.lock_wait_ms = plan->lock_wait_ms,
		.extra_float_digits = unconstify(char *, options->extra_float_digits),
		.quote_all_identifiers = options->quote_all_identifiers,
		.no_sync = options->sync_method == SYNC_NONE,
		.archive = options->directory ? make_absolute_path(options->directory) : NULL,
		.pipe_command = unconstify(char *, options->pipe_command),
		.server_version = plan->tables->server_version,
		.block_bytes = plan->tables->block_bytes,
		.extension_missing = unconstify(char *, plan->extension->missing),
		.extension_functions = plan->extension->functions,
		.extension_table = plan->extension->lock_table,
		.knows_changes = plan->knows_changes,
		.n_objects = plan->objects->n_objects,
	};

	if (plan->fingerprints)
	{
		head.fingerprint_algorithm = unconstify(char *, plan->fingerprints->algorithm);
		head.fingerprint_key = unconstify(char *, plan->fingerprints->key);
		head.fingerprint_settings = plan->fingerprints->settings;
	}
	if (plan->previous)
	{
		head.previous = make_absolute_path(plan->previous->directory);
		head.copy_method = unconstify(char *, options->incremental_copy_method);
	}
	compress_spec_print(&plan->compress, head.compression,
						COMPRESS_SPEC_ERROR_BYTES);
	return head;
}

void
dump_task_write(const char *path, const Source *source, const DumpPlan *plan,
				const char *run_id)
{
	DumpTaskHead head = make_head(source, plan, run_id);
	PlanWriter	writer;

	plan_write_begin(&writer, path, &head.run, dump_task_head_fields, &head);
	write_standbys(&writer, source->standbys, run_id);
	write_tables(&writer, plan);
	write_files(&writer, plan->chunks);
	plan_write_queue(&writer, plan->queue, plan->chunks->files,
					 plan->chunks->n_files);
	write_groups(&writer, plan->objects);
	plan_write_end(&writer);
	free(head.compression);
	free(head.run.conninfo);
}
