/*
 * backup_report.c
 *		What --report and --metrics tell of a base backup.
 *
 * The page is drawn from what would be a dump's manifest: of pieces instead
 * of data files, in which files stand for tables.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "basebackup/backup_report.h"
#include "status/metrics.h"
#include "status/run.h"

/* Blocks are those of the program, as in messages of checksums. */
#define BLOCK_OF(offset) ((int64) ((offset) / BLCKSZ))

void
backup_report_stage(Backup *backup, const char *stage)
{
	run_event_stage(stage);
	Assert(backup->n_stages < MAX_BACKUP_STAGES);
	backup->stages[backup->n_stages++] = (ReportStage)
	{
		stage, clock_wall_us()
	};
}

uint64
backup_report_failures(const Backup *backup)
{
	uint64		failures = 0;

	for (int i = 0; i < backup->plan->n_pieces; i++)
		failures += backup->results.failures[i];
	return failures;
}

int
backup_report_files(const Backup *backup)
{
	int			n = 0;

	for (const Backup *part = backup; part; part = part->others)
		n += part->list->n_files - part->list->n_moved;
	return n;
}

uint64
backup_report_bytes(const Backup *backup)
{
	uint64		bytes = 0;

	for (const Backup *part = backup; part; part = part->others)
		bytes += part->list->total_bytes;
	return bytes;
}

/* ----------
 * Metrics
 * ----------
 */

/* A MetricsFigures. */
static void
append_backup(PQExpBuffer buf, const void *arg)
{
	const Backup *backup = arg;
	const BackupResults *results = &backup->results;
	bool		has_results = results->bytes_done != NULL;

	metrics_number(buf, "backup_files", "Files that the last base backup was to read.",
				   backup->plan ? backup_report_files(backup) : 0);
	metrics_number(buf, "backup_bytes", "Bytes of files that the last base backup has read.",
				   has_results ? *results->bytes_done : 0);
	metrics_number(buf, "backup_checksum_failures",
				   "Pages whose checksum was wrong in the last base backup.",
				   has_results ? backup_report_failures(backup) : 0);
	metrics_number(buf, "retries", "Jobs that the last run has begun anew.",
				   backup->n_retries);
}

/*
 * By the server that it is of, as the database is of no matter: one host may
 * take the backups of many.
 */
void
backup_report_metrics(const Backup *backup)
{
	const Options *options = backup->options;
	char	   *host = metrics_connection(options, "host",
										  options->connection.pghost);
	char	   *port = metrics_connection(options, "port",
										  options->connection.pgport);
	const MetricsLabel labels[] = {
		{"command", "basebackup"}, {"host", host}, {"port", port}, {NULL}
	};

	metrics_begin(options, labels, append_backup, backup);
	free(host);
	free(port);
}

/* ----------
 * The page
 * ----------
 */

/* What a piece is of: a file, or what is too small for a piece. */
static char *
name_of(const Backup *backup, const BackupPiece *piece)
{
	const BackupRange *range = &backup->plan->ranges[piece->first];

	if (piece->n == 1)
		return backup->list->files[range->file].path;
	if (piece->tablespace == BACKUP_BASE)
		return pg_strdup("small files, and ends of large ones");
	return psprintf("small files, and ends of large ones, of %s",
					backup->list->tablespaces[piece->tablespace].path);
}

/* Files count where they begin, if they are there. */
static void
describe_piece(const Backup *backup, int no, ManifestFile *file)
{
	const BackupPiece *piece = &backup->plan->pieces[no];
	const BackupPlan *plan = backup->plan;

	file->path = psprintf("piece %d", no + 1);
	file->kind = MANIFEST_ROWS;
	file->table = name_of(backup, piece);
	file->end_block = MANIFEST_NO_END;
	for (int i = 0; i < piece->n; i++)
	{
		const BackupRange *range = &plan->ranges[piece->first + i];

		if (backup->results.vanished[range->file])
			continue;
		file->rows += range->offset == 0;
		file->raw_bytes += range->length;
		if (piece->n > 1 ||
			range->length == backup->list->files[range->file].size)
			continue;
		file->start_block = BLOCK_OF(range->offset);
		file->end_block = BLOCK_OF(range->offset + range->length + BLCKSZ - 1);
	}
	file->start_us = backup->results.times[no].start_us;
	file->end_us = backup->results.times[no].end_us;
	file->worker = backup->results.times[no].worker;
}

/* The pieces of all plans, unless files is NULL; returns how many. */
static int
describe_pieces(const Backup *backup, ManifestFile *files)
{
	int			n = 0;

	for (const Backup *part = backup; part; part = part->others)
		for (int i = 0; part->plan && i < part->plan->n_pieces; i++, n++)
			if (files)
				describe_piece(part, i, &files[n]);
	return n;
}

void
backup_report_end(Report *page, const Backup *backup, uint64 n_failures)
{
	const Options *options = backup->options;
	Manifest	manifest = {
		.tool = PARDUMP_VERSION,
		.server_version = pg_strdup(backup->server.version),
		.system_identifier = psprintf(UINT64_FORMAT,
									  backup->server.system_identifier),
		.database = pg_strdup(options->label),
		.compression = pg_strdup(compress_method_name(options->compress.method)),
		.lsn = psprintf("%X/%X", LSN_FORMAT_ARGS(backup->start)),
		.start_us = backup->stages[0].start_us,
		.end_us = clock_wall_us(),
		.jobs = options->jobs,
		.retries = backup->n_retries,
		.n_files = describe_pieces(backup, NULL),
	};
	ReportCopy	copy = {
		.archive = options->directory,
		.is_backup = true,
		.n_errors = (int) Min(n_failures, PG_INT32_MAX),
		.stages = backup->stages,
		.n_stages = backup->n_stages,
		.end_us = manifest.end_us,
	};

	if (page == NULL)
		return;
	manifest.files = pg_malloc0((manifest.n_files + 1) * sizeof(ManifestFile));
	(void) describe_pieces(backup, manifest.files);
	report_end(page, &manifest, NULL, &copy);
}
