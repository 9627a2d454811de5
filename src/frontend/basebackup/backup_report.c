/*
 * backup_report.c
 *		The page of --report, of a base backup.
 *
 * It is drawn from what would be a dump's manifest: of pieces instead of data
 * files, in which files stand for tables.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "basebackup/backup_report.h"
#include "status/run_event.h"

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
		.n_files = backup->plan->n_pieces,
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
	for (int i = 0; i < manifest.n_files; i++)
		describe_piece(backup, i, &manifest.files[i]);
	report_end(page, &manifest, NULL, &copy);
}
