/*
 * reuse_file.c
 *		Takes the previous archive's file of a chunk, if its rows have not
 *		changed.
 *
 * Definition, rows, the old file's bytes: if one of them is in doubt, the
 * chunk is dumped.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/shared_memory.h"
#include "dump/fingerprint_query.h"
#include "dump/reuse_file.h"
#include "options/own_options.h"
#include "previous/previous_file.h"

/*
 * After this number of changed chunks of a table in a row others will have
 * changed, too: then only one in this number is tried.
 */
#define MAX_MISSES 8
#define TRY_EVERY 4

static const char rows_changed[] = "its rows have changed";

struct Reuse
{
	volatile int *misses;		/* by table: in a row; shared */
};

Reuse *
reuse_new(const DumpPlan *plan)
{
	Reuse	   *reuse;

	if (plan->previous == NULL)
		return NULL;
	reuse = pg_malloc0(sizeof(Reuse));
	reuse->misses = shared_memory_new(plan->tables->n_tables, sizeof(int));
	return reuse;
}

static void
set_hash(FileHash *hash, const char *text)
{
	hash->len = Max(hex_decode(text, hash->bytes, sizeof(hash->bytes)), 0);
}

/* All is as the previous archive's manifest has it. */
static void
set_result(const Run *run, FileResult *result, const ManifestFile *previous,
		   CopyMethod method, int64 start_us)
{
	result->rows = previous->rows;
	result->raw_bytes = previous->raw_bytes;
	result->stored_bytes = previous->stored_bytes;
	memcpy(result->checksum, previous->checksum, sizeof(result->checksum));
	result->checksum_len = previous->checksum_len;
	result->start_us = start_us;
	result->end_us = clock_wall_us();
	result->worker = run->results->worker;
	result->server = run->results->server;
	set_hash(&result->fingerprint, previous->fingerprint);
	set_hash(&result->first_fingerprint, previous->first_fingerprint);
	set_hash(&result->definition, previous->definition);
	result->reused = copy_method_name(method);
	__sync_synchronize();
	result->done = true;
}

static const char *
take_file(const Run *run, const DataFile *file, int64 start_us)
{
	const DumpPlan *plan = run->plan;
	CopyMethod	method = own_options_copy_method(run->options);
	char	   *name = archive_name_rows(file->dump_id, plan->compress.method);
	const char *problem;
	bool		taken = previous_file_take(plan->previous, file->previous,
										   run->archive, name, &method, &problem);

	free(name);
	if (!taken)
	{
		/* its owner may want to keep it */
		pg_log_warning("file \"%s/%s\" %s: its rows are dumped again",
					   plan->previous->directory, file->previous->path, problem);
		return "the previous archive's file is not as its manifest says";
	}
	set_result(run, run_file_result(run, file), file->previous, method, start_us);
	return NULL;
}

static void
tell_untouched(const DumpPlan *plan, const DataFile *file)
{
	char	   *what = data_file_describe(file, plan->tables);

	pg_log_info("no block of %s was written to since the previous archive", what);
	free(what);
}

/* What has changed of its definition or rows; NULL if nothing has. */
static const char *
what_changed(PGconn *conn, const DumpPlan *plan, const DumpTable *table,
			 const DataFile *file)
{
	char	   *columns = fingerprint_columns(conn, table);
	const char *what = NULL;

	if (!fingerprint_same_definition(conn, table, columns, file))
		what = "its definition has changed";
	else if (file->untouched)
		tell_untouched(plan, file);
	else if (!fingerprint_same_rows(conn, table, columns, file,
									plan->fingerprints))
		what = rows_changed;
	free(columns);
	return what;
}

const char *
reuse_file(Reuse *reuse, PGconn *conn, const Run *run, const DataFile *file)
{
	const DumpPlan *plan = run->plan;
	const DumpTable *table = &plan->tables->tables[file->table];
	const char *new_reason = plan->chunks->tables[file->table].new_reason;
	volatile int *misses = &reuse->misses[file->table];
	int64		start_us = clock_wall_us();
	const char *changed;

	if (new_reason)
		return new_reason;
	if (file->previous == NULL)
		return "the previous archive has no file of these blocks";
	if (*misses >= MAX_MISSES && !plan->knows_changes &&
		file->chunk_no % TRY_EVERY != 0)
		return "other chunks of the table have changed";
	changed = what_changed(conn, plan, table, file);
	if (changed == NULL)
	{
		*misses = 0;
		return take_file(run, file, start_us);
	}
	if (changed == rows_changed)
		++* misses;
	return changed;
}
