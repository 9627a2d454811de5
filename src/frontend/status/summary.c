/*
 * summary.c
 *		Reports the figures of a run at its end, and makes the manifest of a
 *		dump.
 *
 * The same figures go to the terminal, the event log, the metrics and the
 * page of --report, so they are computed here, from the results.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/units.h"
#include "status/summary.h"

/* ----------
 * Hints about what makes a run slower than necessary.
 * ----------
 */

/* The bytes of tables that SQL reads for this reason. */
static uint64
bytes_by_sql(const DumpPlan *plan, const char *sql_reason)
{
	const ChunkPlan *chunks = plan->chunks;
	uint64		bytes = 0;

	for (int i = 0; i < chunks->n_files; i++)
	{
		const char *reason = chunks->tables[chunks->files[i].table].sql_reason;

		if (reason && strcmp(reason, sql_reason) == 0)
			bytes += chunks->files[i].est_bytes;
	}
	return bytes;
}

/*
 * The bytes of tables that are not split because queries could run functions
 * of their owners.
 */
static uint64
undivided_bytes(const DumpPlan *plan)
{
	uint64		bytes = 0;

	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		const DumpTable *table = &plan->tables->tables[i];
		const TablePlan *decided = &plan->chunks->tables[i];

		if (table->stranger && decided->n_files == 1 && decided->sql_reason &&
			table->total_bytes >= plan->chunks->chunk_bytes * 3 / 2)
			bytes += table->total_bytes;
	}
	return bytes;
}

/* A role that owns one of these tables. */
static const char *
undivided_owner(const DumpPlan *plan)
{
	for (int i = 0; i < plan->tables->n_tables; i++)
		if (plan->tables->tables[i].stranger &&
			plan->chunks->tables[i].sql_reason)
			return plan->tables->tables[i].stranger;
	return "";
}

bool
advice_is_shown(const Options *options)
{
	/* A copy always prints a summary, so it also prints the hints. */
	return progress_is_shown() || options->verbose || options->target ||
		options->check;
}

void
advice_give_jobs(const Options *options, uint64 bytes)
{
	if (!options->jobs_given && !options->tasks && bytes >= ADVICE_BYTES)
		message_hint(psprintf("Using 1 worker for about %s; use -j NUM to run more.",
							  units_size(bytes)));
}

void
advice_give(const Options *options, const DumpPlan *plan)
{
	const char *missing = plan->extension && !options->no_extension ?
		plan->extension->missing : NULL;
	bool		installed = missing && plan->extension->is_there;
	uint64		whole = options->no_chunks ? 0 : undivided_bytes(plan);
	uint64		copied = missing ? bytes_by_sql(plan, missing) : 0;
	RunFigures *own = run_figures_own();

	if (own)
	{
		own->undivided_bytes = whole;
		own->copied_bytes = installed ? 0 : copied;
		own->unusable_bytes = installed ? copied : 0;
		return;
	}
	if (!advice_is_shown(options))
		return;
	if (plan->queue->n_jobs > 1)
		advice_give_jobs(options, dump_plan_bytes(plan));
	if (whole >= ADVICE_BYTES)
		message_hint(psprintf("Tables of other roles, about %s, are not split: querying them could run code of role \"%s\" with your privileges.  Use the extension, or --trust-owners if you trust these roles.",
							  units_size(whole), undivided_owner(plan)));
	if (copied >= ADVICE_BYTES)
		message_hint(psprintf(!installed ?
							  "About %s are read with COPY, which is slower than the extension (%s).  To install it, run CREATE EXTENSION pg_pardump; in the database." :
							  plan->extension->is_older ?
							  "About %s are read with COPY, which is slower than the extension (%s).  To update it, run ALTER EXTENSION pg_pardump UPDATE; in the database." :
							  "About %s are read with COPY, which is slower than the extension (%s).",
							  units_size(copied), missing));
}

/* ----------
 * The share of each server (--also-from).
 * ----------
 */

/*
 * For --dry-run and --check: a sentence that names the servers.  NULL if
 * there is only one.  Owned.
 */
char *
server_share_plan(const Run *run)
{
	PQExpBufferData text = buffer_new();

	if (run->servers == NULL)
		return NULL;
	for (int i = 0; i < run->n_servers; i++)
		appendPQExpBuffer(&text, "%s%s", i > 0 ? ", " : "", run->servers[i]);
	return psprintf("Rows are read from several servers: %s.", buffer_text(&text));
}

/*
 * What was read from each server: "a:5432 (1.2 GB), ..."; owned.  NULL if
 * there is only one.
 */
static char *
server_share_text(const Run *run)
{
	PQExpBufferData text = buffer_new();

	if (run->servers == NULL)
		return NULL;
	for (int i = 0; i < run->n_servers; i++)
	{
		FileTotals	total = file_results_of_server(run->results, i);

		appendPQExpBufferStr(&text, i > 0 ? ", " : "");
		appendPQExpBuffer(&text, "%s (%s)", run->servers[i],
						  units_size(total.raw_bytes));
	}
	return buffer_text(&text);
}

/* ----------
 * Warns while the snapshot of a run grows old.
 * ----------
 */

/* How often to check the age. */
#define LOOK_MS 10000

/*
 * Returns NULL if it is not time to check again.  The next transaction ID is
 * that of the last checkpoint, which is close enough: reading the current one
 * would need another function.  Together with the epoch it can be compared
 * with the 64 bits of txid_current_snapshot(), in which IDs do not wrap
 * around.
 */
const char *
snapshot_age_query(SnapshotAge *age)
{
	int64		now = clock_monotonic_ms();

	if (!age->may_ask ||
		(age->looked_at != 0 && now < age->looked_at + LOOK_MS))
		return NULL;
	age->looked_at = now;
	return "SELECT c.next_xid, pg_catalog.txid_snapshot_xmin(pg_catalog.txid_current_snapshot()),"
		" pg_catalog.current_setting('autovacuum_freeze_max_age')"
		" FROM pg_catalog.pg_control_checkpoint() c";
}

void
snapshot_age_warn(SnapshotAge *age, const PGresult *res)
{
	unsigned int epoch;
	unsigned int xid;
	int64		xids;

	if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1 ||
		sscanf(PQgetvalue(res, 0, 0), "%u:%u", &epoch, &xid) != 2)
		return;
	xids = (int64) (((uint64) epoch << 32) + xid -
					result_number(res, 0, 1));
	/* Warn again only when the age has doubled. */
	if (xids <= Max(atoll(PQgetvalue(res, 0, 2)), age->warned * 2))
		return;
	age->warned = xids;
	pg_log_warning("the snapshot of this run is " INT64_FORMAT " transactions old",
				   xids);
	pg_log_warning_detail(SNAPSHOT_AGE_DETAIL,
						  PQgetvalue(res, 0, 2));
}

/* ----------
 * The summary of a dump.
 * ----------
 */

RunFigures
summary_figures(const Run *run)
{
	FileTotals	total = file_results_total(run->results);
	RunFigures	figures = {
		.tables = run->plan->tables->n_tables,
		.objects = run->results->n_objects,
		.rows = total.rows,
		.raw_bytes = total.raw_bytes,
		.stored_bytes = total.stored_bytes,
		.retries = run->n_retries,
		.masked_columns = dump_tables_count_masks(run->plan->tables),
	};

	for (int i = 0; i < run->results->n_files; i++)
	{
		const FileResult *file = &run->results->files[i];

		if (file->reused == NULL)
			continue;
		figures.reused_files++;
		figures.reused_bytes += file->stored_bytes;
	}
	return figures;
}

/*
 * Pass the figures to the parent, if this is the run of one of all databases.
 * The run has ended, so the expected bytes are those that were read.
 */
static void
hand_over(const Run *run)
{
	RunFigures *own = run_figures_own();
	RunFigures	figures;

	if (own == NULL)
		return;
	figures = summary_figures(run);
	figures.expected_bytes = figures.done_bytes = figures.raw_bytes;
	figures.stage = own->stage;
	figures.undivided_bytes = own->undivided_bytes;
	figures.copied_bytes = own->copied_bytes;
	figures.unusable_bytes = own->unusable_bytes;
	*own = figures;
}

/* "reused 308 of 320 chunks, 11.2 GB stored; new: 12, 717 MB stored" */
static char *
reused_text(const Run *run)
{
	RunFigures	figures = summary_figures(run);
	int			n_files = run->results->n_files;
	uint64		bytes = 0;

	/* without large objects, of which none is reused */
	for (int i = 0; i < n_files; i++)
		bytes += run->results->files[i].stored_bytes;
	return psprintf(ngettext("reused %d of %d chunk, %s stored; new: %d, %s stored",
							 "reused %d of %d chunks, %s stored; new: %d, %s stored",
							 n_files),
					figures.reused_files, n_files,
					units_size(figures.reused_bytes),
					n_files - figures.reused_files,
					units_size(bytes - figures.reused_bytes));
}

/*
 * The seconds that all workers together needed for a table's files.  Unlike
 * the time between the first and the last file, this does not grow when
 * workers do jobs of other tables in between.
 */
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

static double
table_bytes(const Run *run, int table)
{
	const TablePlan *decided = &run->plan->chunks->tables[table];
	double		bytes = 0;

	for (int i = 0; i < decided->n_files; i++)
		bytes += run->results->files[decided->first_file + i].raw_bytes;
	return bytes;
}

/*
 * The table with the largest value; -1 if all are 0, for example after
 * --resume.
 */
static int
find_most(const Run *run, double (*value) (const Run *run, int table),
		  double *most)
{
	int			result = -1;

	*most = 0;
	for (int i = 0; i < run->plan->tables->n_tables; i++)
	{
		double		its = value(run, i);

		if (its > *most)
		{
			result = i;
			*most = its;
		}
	}
	return result;
}

void
summary_print_tables(const Run *run, FILE *stream)
{
	const DumpTable *tables = run->plan->tables->tables;
	double		seconds;
	double		bytes;
	int			slowest = find_most(run, table_seconds, &seconds);
	int			largest = find_most(run, table_bytes, &bytes);

	if (slowest >= 0)
	{
		int			n_chunks = run->plan->chunks->tables[slowest].n_files;

		fprintf(stream, ngettext("slowest table: %s, %s of work in %d chunk\n",
								 "slowest table: %s, %s of work in %d chunks\n",
								 n_chunks),
				printable(tables[slowest].name), units_elapsed(seconds),
				n_chunks);
	}
	if (largest >= 0)
		fprintf(stream, "largest table: %s, %s\n",
				printable(tables[largest].name),
				units_size((uint64) bytes));
	if (run->n_retries > 0)
		fprintf(stream, "retries: %d\n", run->n_retries);
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
		fprintf(stream, ngettext("masked: %d column (tables: %d)\n",
								 "masked: %d columns (tables: %d)\n", n_columns),
				n_columns, n_tables);
}

static void
show_summary(const Run *run, double seconds)
{
	const Options *options = run->options;
	RunFigures	figures = summary_figures(run);
	PQExpBufferData list = buffer_new();
	const char *database = printable(run->plan->origin->database);

	run_figures_append(&list, &figures, RUN_DUMP, seconds, true);
	message_before_output();
	if (options->directory)
		fprintf(stderr, "dumped database \"%s\" into directory \"%s\":\n",
				database, printable(options->directory));
	else
		fprintf(stderr, "dumped database \"%s\" with --pipe:\n", database);
	fprintf(stderr, "  %s\n", list.data);
	summary_print_tables(run, stderr);
	summary_print_masks(run, stderr);
	if (run->plan->previous)
		fprintf(stderr, "%s\n", reused_text(run));
	if (run->servers)
		fprintf(stderr, "read from servers: %s\n", server_share_text(run));
	termPQExpBuffer(&list);
}

/*
 * Write the numbers of the summary to the event log.  Members that depend on
 * options are left out without these options.
 */
static void
note_summary(const Run *run, const FileTotals *total, double seconds)
{
	Event	   *event = event_new("summary");
	double		slowest_seconds;
	int			slowest = find_most(run, table_seconds, &slowest_seconds);
	RunFigures	figures = summary_figures(run);

	event_add_number(event, "tables", run->plan->tables->n_tables);
	event_add_number(event, "chunks", run->results->n_files);
	event_add_number(event, "large_objects", run->results->n_objects);
	event_add_number(event, "rows", total->rows);
	run_event_add_bytes(event, run, total->raw_bytes, total->stored_bytes);
	event_add_seconds(event, "seconds", seconds);
	if (slowest >= 0)
	{
		event_add_text(event, "slowest_table",
					   run->plan->tables->tables[slowest].name);
		event_add_seconds(event, "slowest_table_seconds", slowest_seconds);
	}
	event_add_number(event, "retries", run->n_retries);
	if (figures.masked_columns > 0)
		event_add_number(event, "masked_columns", figures.masked_columns);
	if (run->plan->previous)
	{
		event_add_number(event, "reused_chunks", figures.reused_files);
		event_add_number(event, "reused_bytes", figures.reused_bytes);
	}
	event_write(event);
}

void
summary_report(const Run *run, bool show)
{
	FileTotals	total = file_results_total(run->results);
	double		seconds = run_clock_seconds();

	/* Write an event for each server, for the event log. */
	for (int i = 0; i < run->n_servers; i++)
	{
		FileTotals	its = file_results_of_server(run->results, i);
		Event	   *event = event_new("server");

		event_add_text(event, "server", run->servers[i]);
		event_add_number(event, "files", its.n_done);
		event_add_number(event, "rows", its.rows);
		run_event_add_bytes(event, run, its.raw_bytes, its.stored_bytes);
		event_write(event);
	}
	if (show)
		show_summary(run, seconds);
	else if (run->plan->previous)
		pg_log_info("%s", reused_text(run));
	note_summary(run, &total, seconds);
	hand_over(run);
}

/* The hash in hexadecimal, owned; NULL if there is none. */
static char *
hash_text(const FileHash *hash)
{
	return hash->len == 0 ? NULL : hex_encode(hash->bytes, hash->len);
}

static ManifestFile *
run_manifest_add_file(Manifest *manifest, ManifestFileKind kind, char *path,
					  const FileResult *result)
{
	ManifestFile *file = &manifest->files[manifest->n_files++];

	file->path = path;
	file->kind = kind;
	file->rows = result->rows;
	file->raw_bytes = result->raw_bytes;
	file->stored_bytes = result->stored_bytes;
	memcpy(file->checksum, result->checksum, sizeof(file->checksum));
	file->checksum_len = result->checksum_len;
	file->start_us = result->start_us;
	file->end_us = result->end_us;
	file->worker = result->worker;
	return file;
}

static char *
data_file_path(const Run *run, const DataFile *file)
{
	if (run->archive)
		return archive_name_rows(file->dump_id, run->plan->compress.method);
	if (file->n_chunks > 1)
		return psprintf("chunk %d of %d", file->chunk_no, file->n_chunks);
	return pg_strdup("whole table");
}

/*
 * Members for --incremental in a later run are only set if this run has taken
 * fingerprints.
 */
static void
add_data_file(Manifest *manifest, const Run *run, const DataFile *data_file,
			  char *path, const FileResult *result)
{
	const DumpTable *table = &run->plan->tables->tables[data_file->table];
	ManifestFile *file = run_manifest_add_file(manifest, MANIFEST_ROWS, path, result);

	file->schema = table->entry->namespace;
	file->table = table->entry->tag;
	file->root_schema = table->root_schema;
	file->root_table = table->root_table;
	file->where = table->where;
	file->sample = table->sample;
	file->masks = table->mask_hash;
	file->start_block = data_file->start_block;
	file->end_block = data_file->end_block == InvalidBlockNumber ?
		MANIFEST_NO_END : (int64) data_file->end_block;
	if (run->plan->fingerprints == NULL)
		return;
	file->table_oid = table->oid;
	file->relation_blocks = table->heap_blocks;
	file->filenode = table->is_logged ? table->filenode : 0;
	file->tablespace = table->tablespace;
	file->fingerprint = hash_text(&result->fingerprint);
	file->first_fingerprint = hash_text(&result->first_fingerprint);
	file->definition = hash_text(&result->definition);
	file->reused = unconstify(char *, result->reused);
}

/*
 * Add the share of each worker in a file that several workers have read.
 * This is not a file of an archive, but a large table that a copy cuts into
 * pieces while it runs.  Returns how many workers there were.
 */
static int
add_shares(Manifest *manifest, const Run *run, const DataFile *data_file,
		   const FileResult *shares)
{
	int			n = 0;

	for (int i = 0; i < run->results->n_workers; i++)
	{
		if (shares[i].end_us == 0)
			continue;
		add_data_file(manifest, run, data_file,
					  psprintf("pieces by worker %d", i), &shares[i]);
		n++;
	}
	return n;
}

static void
add_data_files(Manifest *manifest, const Run *run)
{
	const ChunkPlan *chunks = run->plan->chunks;
	const FileResults *results = run->results;

	for (int i = 0; i < chunks->n_files; i++)
	{
		const DataFile *file = &chunks->files[i];
		char	   *path = data_file_path(run, file);

		/* The manifest claims that the archive is complete, so check it. */
		if (!results->files[i].done)
			pg_fatal("file \"%s\" has not been written", path);
		if (file_results_shares(results, i) == NULL ||
			add_shares(manifest, run, file, file_results_shares(results, i)) == 0)
			add_data_file(manifest, run, file, path, &results->files[i]);
	}
}

/* The number of files, or more. */
static int
count_files(const FileResults *results)
{
	int			n = results->n_files + results->n_objects + results->n_lists + 1;

	for (int i = 0; i < results->n_files; i++)
		if (file_results_shares(results, i))
			n += results->n_workers;
	return n;
}

static void
add_large_objects(Manifest *manifest, const Run *run)
{
	const LargeObjects *objects = run->plan->objects;

	for (int i = 0; i < objects->n_groups; i++)
	{
		const LargeObjectGroup *group = &objects->groups[i];

		for (int j = 0; j < group->n_oids; j++)
		{
			int			no = group->first_object + j;

			/* A copy has no files, but the page of --report needs names. */
			char	   *path = run->archive == NULL ?
				psprintf("large object %u", group->oids[j]) :
				archive_name_large_object(group->oids[j],
										  run->plan->compress.method);

			if (!run->results->objects[no].done)
				pg_fatal("file \"%s\" has not been written", path);
			run_manifest_add_file(manifest, MANIFEST_LARGE_OBJECT, path,
								  &run->results->objects[no]);
		}
	}
	for (int i = 0; i < run->results->n_lists; i++)
		run_manifest_add_file(manifest, MANIFEST_OBJECT_LIST,
							  pg_strdup(objects->lists[i].filename),
							  &run->results->lists[i]);
}

Manifest *
run_manifest_new(const Run *run)
{
	const FileResults *results = run->results;
	const DumpPlan *plan = run->plan;
	const DumpOrigin *origin = plan->origin;
	char	   *compression = pg_malloc(COMPRESS_SPEC_ERROR_BYTES);
	Manifest   *manifest = pg_malloc(sizeof(Manifest));
	Manifest	head = {
		.tool = PARDUMP_VERSION,
		.server_version = origin->server_version,
		.pg_dump_version = plan->toc->pg_dump_version,
		.system_identifier = origin->system_identifier,
		.database = origin->database,
		.encoding = unconstify(char *, plan->encoding),
		.left_out = plan->leaves_out_extension ? MANIFEST_OWN_EXTENSION : NULL,
		.snapshot = unconstify(char *, plan->snapshot),
		.lsn = origin->lsn,
		.cluster_snapshot = manifest_expected_snapshot(),
		.servers = server_share_text(run),
		.compression = run->archive ? compression : NULL,
		.chunk_bytes = plan->chunks->chunk_bytes,
		.slot = unconstify(char *, origin->slot),
		.slot_lsn = unconstify(char *, origin->slot_lsn),
		.start_us = origin->start_us,
		.end_us = clock_wall_us(),
		.jobs = run->options->jobs,
		.retries = run->n_retries,
		.checksum_type = results->checksum_type,
	};

	compress_spec_print(&plan->compress, compression,
						COMPRESS_SPEC_ERROR_BYTES);
	if (plan->fingerprints)
	{
		head.fingerprint_algorithm =
			unconstify(char *, plan->fingerprints->algorithm);
		head.fingerprint_key = unconstify(char *, plan->fingerprints->key);
		head.settings = plan->fingerprints->settings;
	}
	if (plan->history)
	{
		head.history_token = plan->history->token;
		head.history_lsn = plan->history->lsn;
		head.history_timeline = plan->history->timeline;
		head.history_server_start = plan->history->server_start;
		head.history_database = plan->history->database;
		head.history_xmax = plan->history->xmax;
	}
	*manifest = head;
	manifest->files = pg_malloc0(count_files(results) * sizeof(ManifestFile));
	add_data_files(manifest, run);
	add_large_objects(manifest, run);
	run_manifest_add_file(manifest, MANIFEST_TOC, pg_strdup(TOC_NAME), results->toc);
	return manifest;
}
