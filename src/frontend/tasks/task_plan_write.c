/*
 * task_plan_write.c
 *		Writes the plan of a dump for its tasks.
 */
#include "base/fe_compat.h"

#include "tasks/task_plan_write.h"
#include "tasks/task_server.h"

static PlannedTable *
make_tables(const DumpPlan *plan)
{
	int			n = plan->tables->n_tables;
	PlannedTable *tables = pg_malloc0((n + 1) * sizeof(PlannedTable));

	for (int i = 0; i < n; i++)
	{
		tables[i].table = plan->tables->tables[i];
		tables[i].decided = plan->chunks->tables[i];
		tables[i].n_masks = tables[i].table.masks ? tables[i].table.n_columns : 0;
	}
	return tables;
}

static int *
make_queue(const DumpPlan *plan)
{
	const ChunkPlan *chunks = plan->chunks;
	int		   *numbers = pg_malloc0((chunks->n_files + 1) * sizeof(int));

	for (int i = 0; i < chunks->n_files; i++)
		numbers[i] = (int) (plan->queue->files[i] - chunks->files);
	return numbers;
}

/* Further standbys, which tasks reach as the leader has. */
static void
add_standbys(PlanFile *file, const Standbys *standbys, const char *run_id)
{
	if (standbys == NULL)
		return;
	file->standbys = pg_malloc0(standbys->n * sizeof(PlannedStandby));
	for (int i = 1; i < standbys->n; i++)
	{
		const Standby *standby = &standbys->list[i];
		PlannedStandby *planned = &file->standbys[file->n_standbys++];

		planned->name = standby->name;
		planned->conninfo = task_address_of(standby->conn, standby->address);
		planned->snapshot = unconstify(char *, standby->snapshot);
		planned->identity = unconstify(char *, standby->identity);
		planned->holder_query = standby->holder_query;
		task_server_hold(standby->conn, run_id);
	}
}

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
task_plan_write(const char *path, const Source *source, const DumpPlan *plan,
				const char *run_id)
{
	PlanFile	file = {
		.head = make_head(source, plan, run_id),
		.tables = make_tables(plan),
		.n_tables = plan->tables->n_tables,
		.files = plan->chunks->files,
		.n_files = plan->chunks->n_files,
		.queue = make_queue(plan),
		.n_queue = plan->chunks->n_files,
		.groups = plan->objects->groups,
		.n_groups = plan->objects->n_groups,
		.jobs = plan->queue->jobs,
		.n_jobs = plan->queue->n_jobs,
	};

	add_standbys(&file, source->standbys, run_id);
	task_plan_write_file(path, &file);
	for (int i = 0; i < file.n_standbys; i++)
		free(file.standbys[i].conninfo);
	free(file.standbys);
	free(file.tables);
	free(file.queue);
	free(file.head.compression);
	free(file.head.run.conninfo);
}
