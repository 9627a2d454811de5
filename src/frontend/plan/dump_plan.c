/*
 * dump_plan.c
 *		Makes the plan of a dump or of a direct copy, from pg_dump's table of
 *		contents and facts about the server.
 *
 * dump_plan_make() calls the other files of this folder, in the order in
 * which their results depend on each other.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "plan/archive_layout.h"
#include "plan/dump_plan.h"

/* ----------
 * The facts about the server.
 * ----------
 */

/*
 * The insert position, not the write position: with synchronous_commit = off
 * a commit is visible before it is written.
 */
#define LSN_SQL \
"CASE WHEN pg_catalog.pg_is_in_recovery()" \
" THEN pg_catalog.pg_last_wal_replay_lsn()" \
" ELSE pg_catalog.pg_current_wal_insert_lsn() END"

/* A value of the result; owned; NULL for NULL. */
static char *
value(const PGresult *res, int column)
{
	return PQgetisnull(res, 0, column) ? NULL :
		pg_strdup(PQgetvalue(res, 0, column));
}

DumpOrigin *
dump_origin_read(PGconn *conn, bool has_lsn, bool has_identifier)
{
	DumpOrigin *origin = pg_malloc0(sizeof(DumpOrigin));
	char	   *sql = psprintf("SELECT %s, %s, d.oid, " LAYOUT_SQL " FROM pg_catalog.pg_database d"
							   " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()",
							   has_lsn ? LSN_SQL : "NULL",
							   has_identifier ? SYSTEM_IDENTIFIER_SQL : "NULL");
	PGresult   *res = session_query(conn, sql);

	/*
	 * All times are counted from the beginning of the run, not of this query.
	 */
	origin->start_us = run_clock_start_us();
	origin->server_version = pg_strdup(PQparameterStatus(conn, "server_version"));
	origin->database = pg_strdup(PQdb(conn));
	origin->lsn = value(res, 0);
	origin->system_identifier = value(res, 1);
	origin->database_oid = result_oid(res, 0, 2);
	origin->layout = value(res, 3);
	origin->has_lz4 = result_is_true(res, 0, 4);
	return origin;
}

/* ----------
 * The plan.
 * ----------
 */

/*
 * Should the server compress?  Over a Unix-domain socket this costs less CPU
 * in total, because fewer bytes go through the socket.  Other connections may
 * lead to another machine, even those to this one (through a tunnel).  Then
 * the workers have cores of their own, so they compress.  They also compress
 * here if there are fewer workers than processors: then a backend reads while
 * its worker compresses.  With --max-rate they compress, because the rate
 * applies to uncompressed rows.
 */
static bool
server_is_to_compress(const DumpPlan *plan, const Options *options,
					  const PGconn *conn)
{
	if (options->compress_place == COMPRESS_WHERE_BEST)
		return connection_is_unix_socket(conn) && options->max_rate == 0 &&
			options->jobs >= sysconf(_SC_NPROCESSORS_ONLN) &&
			plan->extension->missing == NULL;
	return options->compress_place == COMPRESS_ON_SERVER;
}

static void
choose_compressor(DumpPlan *plan, const Options *options, const PGconn *conn)
{
	char	   *spec;

	if (plan->compress.method == COMPRESS_NONE)
		return;
	if (!server_is_to_compress(plan, options, conn))
	{
		pg_log_info("compressing in the workers");
		return;
	}
	if (plan->extension->missing)
	{
		pg_log_error("compression on the server requires extension pg_pardump");
		pg_log_error_detail("%s", message_sentence(plan->extension->missing));
		pg_fatal_hint(!plan->extension->is_there ?
					  "Run CREATE EXTENSION pg_pardump; in the database, or compress in the workers (--compress=client-%s)." :
					  plan->extension->is_older ?
					  "Run ALTER EXTENSION pg_pardump UPDATE; in the database, or compress in the workers (--compress=client-%s)." :
					  "Compress in the workers (--compress=client-%s).",
					  compress_method_name(plan->compress.method));
	}
	spec = pg_malloc(COMPRESS_SPEC_ERROR_BYTES);
	compress_spec_print(&plan->compress, spec, COMPRESS_SPEC_ERROR_BYTES);
	plan->server_compress = spec;
	pg_log_info("compressing on the server");
}

/* The head that the manifest of this dump will have. */
static Manifest
head_of(const DumpPlan *plan)
{
	/* The result points to this buffer, and is used before the next call. */
	static char compression[COMPRESS_SPEC_ERROR_BYTES];
	Manifest	head = {
		.tool = PARDUMP_VERSION,
		.server_version = plan->origin->server_version,
		.encoding = unconstify(char *, plan->encoding),
		.compression = compression,
		.fingerprint_algorithm = unconstify(char *, plan->fingerprints->algorithm),
		.fingerprint_key = unconstify(char *, plan->fingerprints->key),
		.settings = plan->fingerprints->settings,
		.checksum_type = plan->checksum_type,
	};

	compress_spec_print(&plan->compress, compression, sizeof(compression));
	return head;
}

/* Is there a table whose files could have fingerprints? */
static bool
has_tables_to_compare(const DumpPlan *plan)
{
	for (int i = 0; i < plan->tables->n_tables; i++)
		if (!chunk_reason_is_small(&plan->tables->tables[i]))
			return true;
	return false;
}

/*
 * Report that fingerprints are impossible without the extension.  If no table
 * is large enough for fingerprints, as in the databases postgres and
 * template1, this is not a warning, so that a nightly dump of all databases
 * does not repeat it.
 */
static void
report_missing(const DumpPlan *plan, const Options *options)
{
	const char *detail = message_sentence(plan->extension->missing);

	if (!has_tables_to_compare(plan))
	{
		pg_log_info("cannot record fingerprints");
		pg_log_info_detail("%s", detail);
		return;
	}
	pg_log_warning("cannot record fingerprints");
	pg_log_warning_detail("%s", detail);
	pg_log_warning_detail("A later incremental dump cannot reuse files of this archive.");
	if (options->no_extension)
		pg_log_warning_hint("Run the command without --no-extension.");
	else if (!plan->extension->is_there)
		pg_log_warning_hint("Run CREATE EXTENSION pg_pardump; in the database.");
	else if (plan->extension->is_older)
		pg_log_warning_hint("Run ALTER EXTENSION pg_pardump UPDATE; in the database.");
	if (options->incremental)
		previous_archive_warn(options->incremental, plan->extension->missing);
}

/*
 * Plan the fingerprints.  The key comes from the previous archive, so that
 * fingerprints can be compared over a series of archives.
 */
static void
plan_fingerprints(DumpPlan *plan, PGconn *conn, const Options *options)
{
	const char *problem;
	FingerprintSpec *spec;
	Manifest	head;

	plan->checksum_type = manifest_checksum_type(options);
	if (!options->manifest_fingerprints && options->incremental == NULL)
		return;
	if (plan->extension->missing)
	{
		report_missing(plan, options);
		return;
	}
	spec = fingerprint_spec_new(conn, plan->checksum_type);
	plan->fingerprints = spec;
	if (options->incremental == NULL)
		return;
	head = head_of(plan);
	plan->previous = plan->fetched ?
		previous_archive_accept(plan->fetched, &head, &problem) :
		previous_archive_open(options->incremental, &head, &problem);
	if (plan->previous)
		spec->key = plan->previous->manifest->fingerprint_key;
	else
	{
		previous_archive_warn(options->incremental, problem);
		pg_log_warning_hint("The new archive contains fingerprints, so the next incremental dump can reuse its files.");
	}
}

void
dump_plan_make(DumpPlan *plan, PGconn *conn, const Options *options)
{
	ChunkPlan  *chunks;
	JobRules	rules = {NULL};

	/*
	 * Each step needs results of the earlier ones: the previous archive is
	 * only accepted if its compression is the same; it determines how tables
	 * are cut; the layout assigns dump IDs to the chunks; and the lists of
	 * large objects are those that the layout names.
	 */
	choose_compressor(plan, options, conn);
	plan_fingerprints(plan, conn, options);
	chunks = chunk_plan_make(options, plan->tables, plan->extension,
							 plan->previous, server_chunks_read, conn);
	plan->chunks = chunks;
	/* The layout names the files of chunks, and of lists of large objects. */
	if (options->target == NULL)
		plan->toc = archive_layout_make(plan->pg_dump_toc, plan->tables,
										chunks);
	else
		plan->toc = plan->pg_dump_toc;
	plan->objects = large_objects_read(conn, plan->toc);
	if (options->target)
	{
		rules.targets = plan->tables;
		rules.builds = dump_tables_count_builds(plan->tables, plan->toc);
	}
	plan->queue = job_queue_make(chunks, plan->objects, &rules);
}

/*
 * Do WAL summaries prove that no block of the file has changed?  The last
 * file has no end, but blocks after those of the table were empty, and are
 * empty now.
 */
static bool
is_untouched(const ChangedBlocks *changes, const DumpTable *table,
			 const DataFile *file)
{
	const ManifestFile *previous = file->previous;
	BlockNumber end = file->end_block == InvalidBlockNumber ?
		table->heap_blocks : file->end_block;

	return previous && table->is_logged && table->filenode != 0 &&
		previous->filenode == table->filenode &&
		previous->tablespace == table->tablespace &&
		!changed_blocks_touch(changes, table->tablespace, table->filenode,
							  file->start_block, end);
}

void
dump_plan_note_changes(DumpPlan *plan, const ChangedBlocks *changes)
{
	DataFile   *files = plan->chunks->files;

	plan->knows_changes = true;
	for (int i = 0; i < plan->chunks->n_files; i++)
		files[i].untouched = is_untouched(changes,
										  &plan->tables->tables[files[i].table],
										  &files[i]);
}

uint64
dump_plan_bytes(const DumpPlan *plan)
{
	uint64		bytes = plan->objects->est_bytes;

	for (int i = 0; i < plan->chunks->n_files; i++)
		bytes += plan->chunks->files[i].est_bytes;
	return bytes;
}

uint64
dump_plan_new_bytes(const DumpPlan *plan)
{
	uint64		bytes = plan->objects->est_bytes;

	for (int i = 0; i < plan->chunks->n_files; i++)
		if (plan->chunks->files[i].previous == NULL)
			bytes += plan->chunks->files[i].est_bytes;
	return bytes;
}

uint64
dump_plan_previous_bytes(const DumpPlan *plan)
{
	uint64		bytes = 0;

	for (int i = 0; i < plan->chunks->n_files; i++)
		if (plan->chunks->files[i].previous)
			bytes += plan->chunks->files[i].previous->stored_bytes;
	return bytes;
}

char *
dump_plan_describe_job(const DumpPlan *plan, int job, int step)
{
	return job_describe(plan->queue, &plan->queue->jobs[job], step,
						plan->tables, plan->objects);
}
