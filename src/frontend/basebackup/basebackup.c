/*
 * basebackup.c
 *		The main path of a base backup: begin, list, read, end, complete.
 *
 * The steps are those of pg_basebackup, through SQL functions of a
 * non-exclusive backup: pg_backup_start(), reading all files while the server
 * writes to them, pg_backup_stop(), and the write-ahead log between both.
 * Replaying that log makes the files consistent.
 *
 * A backup is complete if and only if backup_manifest is there, or without a
 * manifest if the program says so: the manifest gets its name last of all.
 * pg_control is read and written after all other data, so that no server can
 * be started from what an incomplete run has left.
 *
 * The log is needed from the start to the end of the backup.  A temporary
 * slot keeps the server from removing it; complete segments are read while
 * the backup runs, so that the slot can advance.
 */
#include "base/fe_compat.h"

#include "access/xlog_internal.h"
#include "common/file_perm.h"
#include "fe_utils/recovery_gen.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "basebackup/backup_manifest.h"
#include "basebackup/backup_pool.h"
#include "basebackup/backup_read.h"
#include "basebackup/backup_server.h"
#include "basebackup/basebackup.h"
#include "basebackup/safe_directory.h"
#include "basebackup/tablespace_map.h"
#include "basebackup/tar_archive.h"
#include "session/table_lock.h"
#include "shared/crc32c.h"
#include "source/leader_session.h"
#include "status/metrics.h"

/* How often to query the WAL position. */
#define ASK_SECONDS 1.0

/* Reads WAL segments one after the other, when they are complete. */
typedef struct WalFollower
{
	Backup		one;			/* its only file is the current segment */
	BackupLayout *layout;
	XLogSegNo	segment;		/* the current one */
	int			piece;			/* the next piece of this segment */
	XLogSegNo	end;			/* segments before this one are complete */
	double		asked;			/* time of the query for end */
} WalFollower;

/*
 * Write a .done file for a segment of the backup.  Without it, a server that
 * is started from the backup, with archiving enabled, would archive the
 * segment again, under a name that already exists in its archive.
 */
static void
mark_archived(const Backup *backup, const char *name)
{
	backup->form->write_file(backup,
							 psprintf("pg_wal/archive_status/%s.done", name),
							 "", 0);
}

static char *
segment_path(const Backup *backup, XLogSegNo segment)
{
	char		name[MAXFNAMELEN];

	XLogFileName(name, backup->timeline, segment,
				 backup->server.wal_segment_bytes);
	return psprintf("pg_wal/%s", name);
}

/* Make a plan for n segments, which are read like other files. */
static Backup
plan_segments(const Backup *backup, XLogSegNo first, int n)
{
	Backup		wal = *backup;
	uint64		bytes = backup->server.wal_segment_bytes;

	wal.list = pg_malloc0(sizeof(BackupList));
	wal.list->n_files = n;
	wal.list->files = pg_malloc0(n * sizeof(BackupFile));
	wal.list->total_bytes = bytes * n;
	for (int i = 0; i < n; i++)
	{
		const BackupFile segment = {
			.path = segment_path(backup, first + i),
			.size = bytes,
			.tablespace = backup->options->wal_method == BACKUP_WAL_STREAM ?
			BACKUP_WAL_FILE : BACKUP_BASE,
			.is_wal = true,
		};

		wal.list->files[i] = segment;
	}
	wal.plan = backup_plan_new(wal.list);
	backup_pool_make_results(&wal);
	return wal;
}

/* ----------
 * Reading segments during the backup
 * ----------
 */
static XLogSegNo
first_segment(const Backup *backup)
{
	return backup->start / backup->server.wal_segment_bytes;
}

/*
 * With -X stream: from now on, backup_wal_attend() reads a piece of the next
 * complete segment, if there is one, in the leader's session, and advances
 * the slot to the end of the segments that were read.  So a long backup makes
 * the server keep little WAL.  The position is queried once a second.  Both
 * functions end with session_failed() on an error.
 */
static void
backup_wal_follow(Backup *backup)
{
	WalFollower *follower = pg_malloc0(sizeof(WalFollower));

	follower->segment = first_segment(backup);
	follower->one = plan_segments(backup, follower->segment, 1);
	follower->layout = backup->form->new_layout(&follower->one);
	backup->follower = follower;
}

/*
 * The plan of one segment is used for all segments, one after the other: only
 * the path of its file changes.
 */
static void
read_piece(WalFollower *follower)
{
	const Backup *one = &follower->one;
	BackupFile *file = &one->list->files[0];

	leader_watchdog_watch_rows();
	backup_read_piece(one, one->conn, NULL, follower->layout,
					  &one->plan->pieces[follower->piece++]);
	if (follower->piece < one->plan->n_pieces)
		return;
	one->form->end_plan(one);
	follower->segment++;
	follower->piece = 0;
	free(file->path);
	file->path = segment_path(one, follower->segment);
	backup_server_advance_slot(one, follower->segment *
							   one->server.wal_segment_bytes);
}

/*
 * A segment is complete when the server has written beyond it.  Before that,
 * its end would be read as zeros.
 */
static bool
is_complete(WalFollower *follower)
{
	const Backup *one = &follower->one;
	double		now = run_clock_seconds();

	if (follower->segment >= follower->end &&
		now - follower->asked >= ASK_SECONDS)
	{
		follower->asked = now;
		follower->end = backup_server_wal_position(one) /
			one->server.wal_segment_bytes;
	}
	return follower->segment < follower->end;
}

/*
 * The leader calls this several times a second while workers read files.  It
 * reads one piece at a time, so that the leader soon returns to its workers.
 */
static void
backup_wal_attend(Backup *backup)
{
	WalFollower *follower = backup->follower;

	if (follower->piece > 0 || is_complete(follower))
		read_piece(follower);
}

/* ----------
 * Reading the other segments, at the end of the backup
 * ----------
 */

/*
 * Read the timeline history files, without which a server could not follow
 * the backup's timeline.
 */
static void
fetch_histories(const Backup *backup)
{
	PGresult   *names = session_query(backup->conn,
									  "SELECT x FROM pg_catalog.pg_ls_dir('pg_wal') x"
									  " WHERE x OPERATOR(pg_catalog.~) '^[0-9A-F]{8}\\.history$'");

	for (int i = 0; i < PQntuples(names); i++)
	{
		const char *name = PQgetvalue(names, i, 0);
		char	   *path = psprintf("pg_wal/%s", name);
		PGresult   *res;

		if (!IsTLHistoryFileName(name))
			pg_fatal("invalid file name from the server: \"%s\"", path);
		res = backup_read_file(backup->conn, path);
		if (res)
		{
			backup->form->write_file(backup, path, PQgetvalue(res, 0, 0),
									 PQgetlength(res, 0, 0));
			mark_archived(backup, name);
		}
	}
}

/*
 * Read the segments that were not read yet, with all workers, up to the end
 * of the backup.  A standby may have replayed more WAL than pg_backup_stop()
 * reports as needed, so more segments may have been read already.
 */
static void
backup_wal_fetch(Backup *backup)
{
	WalFollower *follower = backup->follower;
	XLogSegNo	next = first_segment(backup);
	XLogSegNo	end = (backup->stop - 1) / backup->server.wal_segment_bytes + 1;

	/*
	 * Finish a segment that was partly read, because it must not be stored
	 * twice.
	 */
	while (follower && follower->piece > 0)
		read_piece(follower);
	if (follower)
		next = follower->segment;
	end = Max(next, end);
	if (next < end)
	{
		Backup		wal = plan_segments(backup, next, (int) (end - next));

		backup_pool_run(&wal, "WAL ", NULL);
		backup->n_retries = wal.n_retries;
	}
	for (XLogSegNo segment = first_segment(backup); segment < end; segment++)
		mark_archived(backup, segment_path(backup, segment) + strlen("pg_wal/"));
	fetch_histories(backup);
}

/* ----------
 * --report and --metrics of a base backup.
 *
 * The page uses the same data structure as for a dump, a manifest.  Pieces
 * take the place of data files, and files that of tables.
 * ----------
 */

/*
 * Block numbers use the program's block size, as messages about checksums do.
 */
#define BLOCK_OF(offset) ((int64) ((offset) / BLCKSZ))

/* Note the beginning of a stage for the event log and the page. */
static void
backup_report_stage(Backup *backup, const char *stage)
{
	run_event_stage(stage);
	Assert(backup->n_stages < MAX_BACKUP_STAGES);
	backup->stages[backup->n_stages++] = (ReportStage)
	{
		stage, clock_wall_us()
	};
}

/* The number of pages with wrong checksums. */
static uint64
backup_report_failures(const Backup *backup)
{
	uint64		failures = 0;

	for (int i = 0; i < backup->plan->n_pieces; i++)
		failures += backup->results.failures[i];
	return failures;
}

/* The number of files, as far as they are known. */
static int
backup_report_files(const Backup *backup)
{
	int			n = 0;

	for (const Backup *part = backup; part; part = part->others)
		n += part->list->n_files - part->list->n_moved;
	return n;
}

static uint64
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

/* A MetricsFigures callback. */
static void
append_backup(PQExpBuffer buf, const void *arg)
{
	const Backup *backup = arg;
	const BackupResults *results = &backup->results;
	bool		has_results = results->bytes_done != NULL;

	metrics_number(buf, "backup_files", "Files to read in the last base backup.",
				   backup->plan ? backup_report_files(backup) : 0);
	metrics_number(buf, "backup_bytes", "Bytes read by the last base backup.",
				   has_results ? *results->bytes_done : 0);
	metrics_number(buf, "backup_checksum_failures",
				   "Pages with checksum failures in the last base backup.",
				   has_results ? backup_report_failures(backup) : 0);
	metrics_number(buf, "retries", "Jobs that the last run has retried.",
				   backup->n_retries);
}

/*
 * The label is the server's address, not a database: a base backup contains
 * all databases, and one host may take backups of many servers.  The backup
 * is filled in later, and must exist as long as the process.
 */
static void
backup_report_metrics(const Backup *backup)
{
	const Options *options = backup->options;
	const MetricsLabel labels[] = {
		{"command", "basebackup"},
		{"host", metrics_connection(options, "host", options->connection.pghost)},
		{"port", metrics_connection(options, "port", options->connection.pgport)},
		{NULL}
	};

	metrics_begin(options, labels, append_backup, backup);
}

/* ----------
 * The page
 * ----------
 */

/*
 * A description of a piece: a file or a part of one, or several files that
 * are too small for separate pieces.
 */
static char *
name_of(const Backup *backup, const BackupPiece *piece)
{
	const BackupRange *range = &backup->plan->ranges[piece->first];

	if (piece->n == 1)
		return backup->list->files[range->file].path;
	if (piece->tablespace == BACKUP_BASE)
		return pg_strdup("small files and the ends of large files");
	return psprintf("small files and the ends of large files of %s",
					backup->list->tablespaces[piece->tablespace].path);
}

/*
 * Describe a piece for the page.  A file counts in the piece with its
 * beginning, if it exists.
 */
static void
describe_piece(const Backup *backup, int no, ManifestFile *file)
{
	const BackupPiece *piece = &backup->plan->pieces[no];
	const PieceTime *time = &backup->results.times[no];
	const ManifestFile empty = {
		.path = psprintf("piece %d", no + 1),
		.kind = MANIFEST_ROWS,
		.table = name_of(backup, piece),
		.end_block = MANIFEST_NO_END,
		.start_us = time->start_us,
		.end_us = time->end_us,
		.worker = time->worker,
	};

	*file = empty;
	for (int i = 0; i < piece->n; i++)
	{
		const BackupRange *range = &backup->plan->ranges[piece->first + i];

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
}

/*
 * Write the page at the end (see report_end()).  n_failures is the number of
 * pages with wrong checksums.
 */
static void
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
	/* The page contains the pieces of all plans. */
	for (const Backup *part = backup; part; part = part->others)
		for (int i = 0; part->plan && i < part->plan->n_pieces; i++)
		{
			describe_piece(part, i, array_add(manifest.files, manifest.n_files));
		}
	report_end(page, &manifest, NULL, &copy);
}

/* ----------
 * The main path of a base backup: begin, list, read, end, complete.
 * ----------
 */

#define MANIFEST_TEMP "backup_manifest.tmp"

/* The file that ALTER SYSTEM writes, and to which -R appends. */
#define AUTO_CONF "postgresql.auto.conf"

/* The largest number of files that the leader writes. */
#define MOST_SPECIAL 5

/* A file that the leader writes. */
typedef struct SpecialFile
{
	const char *path;
	const char *data;
	size_t		len;
} SpecialFile;

typedef struct SpecialFiles
{
	SpecialFile files[MOST_SPECIAL];
	int			n;
} SpecialFiles;

/* ----------
 * Begin, list
 * ----------
 */
/* Only the extension can compress on the server. */
static void
check_compression(const Backup *backup)
{
	const Options *options = backup->options;

	if (options->compress_place != COMPRESS_ON_SERVER ||
		options->compress.method == COMPRESS_NONE ||
		backup->extension->missing == NULL)
		return;
	pg_log_error("could not compress files on the server");
	pg_log_error_detail("%s", message_sentence(backup->extension->missing));
	pg_fatal_hint("Use --compress=client-METHOD, or connect to a database that has the extension, as a role that may execute pg_pardump_read_files().");
}

/*
 * The backup that waits for its server.  It is static because the watch only
 * gets the session as an argument.
 */
static Backup *waiting;
static SessionWaitWatch other_watch;

/*
 * A SessionWaitWatch for statements that take long on the server: shows
 * progress, and keeps the slot from becoming idle.
 */
static void
basebackup_watch_wait(PGconn *conn, bool came, int64 *since)
{
	progress_tick();
	backup_server_use_slot(waiting);
	if (other_watch)
		other_watch(conn, came, since);
}

static void
begin_wait(Backup *backup)
{
	waiting = backup;
	other_watch = session_wait_set_watch(basebackup_watch_wait);
}

/*
 * List the files in a separate session: an error, for example about a
 * tablespace that is dropped meanwhile, removes the temporary slots of its
 * session (postgres.c:PostgresMain()).
 */
static BackupList *
list_files(const Backup *backup)
{
	PGconn	   *conn = backup_server_connect(backup, true);
	BackupList *list;

	interrupt_set_connection(conn);
	list = backup_list_new(conn, backup->extension,
						   table_lock_wait_ms(conn, backup->options),
						   backup->server.major,
						   backup->server.catalog_version);
	interrupt_set_connection(backup->conn);
	session_close(conn);
	return list;
}

static void
basebackup_begin(Backup *backup, const char *argv0)
{
	Event	   *event;

	backup_server_open(backup, get_progname(argv0));
	backup->extension = server_extension_find(backup->conn, backup->options,
											  EXTENSION_READS_FILES);
	if (backup->extension->missing == NULL)
		pg_log_info("reading files with extension pg_pardump");
	check_compression(backup);

	/*
	 * Files get the permissions of the server's files; the umask does not
	 * matter.
	 */
	SetDataDirectoryCreatePerm(backup->server.directory_mode);
	umask(pg_mode_mask);
	plain_layout_claim(backup->options);

	backup_report_stage(backup, "start");
	progress_stage_if_long(backup->options->fast_checkpoint ?
						   "waiting for the checkpoint" :
						   "waiting for the checkpoint (-c fast speeds it up)");
	begin_wait(backup);
	backup_server_start(backup);
	pg_log_info("write-ahead log start point: %X/%X on timeline %u",
				LSN_FORMAT_ARGS(backup->start), backup->timeline);
	progress_end();

	backup_report_stage(backup, "list");
	progress_stage_if_long("listing files");
	backup->list = list_files(backup);
	(void) session_wait_set_watch(other_watch);
	if (backup->options->tar_format && backup->options->write_recovery_conf)
	{
		backup_list_remove(backup->list, AUTO_CONF);

		/*
		 * The server is a standby.  -R writes this file, and the archive must
		 * not contain it twice.
		 */
		backup_list_remove(backup->list, "standby.signal");
	}
	backup->others = pg_malloc0(sizeof(Backup));
	backup->others->list = backup_plan_part_others(backup->list);
	backup->plan = backup_plan_new(backup->list);
	progress_end();
	event = event_new("run");
	event_add_text(event, "version", PARDUMP_VERSION);
	event_add_text(event, "directory", backup->options->directory);
	event_add_number(event, "jobs", backup->options->jobs);
	event_add_number(event, "files", backup_report_files(backup));
	event_add_number(event, "tablespaces", backup->list->n_tablespaces);
	event_add_number(event, "pieces", backup->plan->n_pieces);
	event_add_number(event, "expected_bytes", backup_report_bytes(backup));
	event_write(event);
}

/* ----------
 * Complete
 * ----------
 */

/*
 * The CRC of a file, combined from its parts.  An empty file has the CRC 0.
 * If the file has only one part, its length does not matter, because the CRC
 * before it is that of no bytes.
 */
static uint32
file_crc(const Backup *backup, int file, int *range)
{
	uint32		crc = 0;

	for (; *range < backup->plan->n_ranges &&
		 backup->plan->ranges[*range].file == file; ++*range)
		crc = crc32c_combine(crc, backup->results.crcs[*range],
							 backup->plan->ranges[*range].length);
	return crc;
}

static void
add_files(BackupManifest *manifest, const Backup *backup, bool with_crc)
{
	int			range = 0;

	for (int i = 0; i < backup->list->n_files; i++)
	{
		const BackupFile *file = &backup->list->files[i];
		uint32		crc = file_crc(backup, i, &range);

		if (!backup->results.vanished[i])
			backup_manifest_add_file(manifest, file->path, file->size,
									 file->mtime, with_crc ? &crc : NULL);
	}
}

static void
write_manifest(const Backup *backup, const SpecialFiles *special)
{
	const char *method = backup->options->manifest_checksums;
	bool		with_crc = method == NULL || pg_strcasecmp(method, "none") != 0;
	char	   *path = psprintf("%s/" MANIFEST_TEMP, backup->options->directory);
	BackupManifest *manifest = backup_manifest_begin(path, backup->server.major,
													 backup->server.system_identifier);

	for (const Backup *part = backup; part; part = part->others)
		add_files(manifest, part, with_crc);
	for (int i = 0; i < special->n; i++)
	{
		const SpecialFile *file = &special->files[i];
		uint32		crc = crc32c_of(file->data, file->len);

		backup_manifest_add_file(manifest, file->path, file->len, time(NULL),
								 with_crc ? &crc : NULL);
	}
	backup_manifest_add_wal_range(manifest, backup->timeline, backup->start,
								  backup->stop);
	backup_manifest_finish(manifest);
}

static void
add_special(SpecialFiles *special, const char *path, const char *data,
			size_t len)
{
	special->files[special->n++] = (SpecialFile)
	{
		path, data, len
	};
}

/* -R in tar format: add the file with the server's settings and new ones. */
static void
add_recovery_conf(const Backup *backup, SpecialFiles *special)
{
	PGresult   *res = backup_read_file(backup->conn, AUTO_CONF);
	PQExpBufferData all = buffer_new();

	if (res)
		appendBinaryPQExpBuffer(&all, PQgetvalue(res, 0, 0),
								PQgetlength(res, 0, 0));
	appendPQExpBufferStr(&all, generate_recovery_config(backup->conn)->data);
	add_special(special, AUTO_CONF, buffer_text(&all), all.len);
	add_special(special, "standby.signal", "", 0);
}

/*
 * Write the map from the tablespaces that are in the backup.  The server's
 * map describes the start of the backup, and a tablespace may have been
 * created or dropped before they were listed.  WAL contains the others.
 */
static void
add_tablespace_map(const Backup *backup, SpecialFiles *special)
{
	PQExpBufferData text = buffer_new();

	for (int i = 0; i < backup->list->n_tablespaces; i++)
		tablespace_map_append(&text,
							  strtoul(backup->list->tablespaces[i].oid, NULL, 10),
							  backup->list->tablespaces[i].location);
	if (text.len > 0)
		add_special(special, "tablespace_map", text.data, text.len);
}

/*
 * End the backup on the server, and write the files that are only known then.
 * pg_control is read before the end of the backup, because its checkpoint
 * must not be newer than the WAL of the backup, and is written last.
 */
static void
end_data(Backup *backup, SpecialFiles *special)
{
	/* Read it after all other data, and before the end of the backup. */
	PGresult   *control = backup_server_control_file(backup);
	char	   *label;

	backup_report_stage(backup, "stop");
	progress_stage_if_long("waiting for the end of the backup");
	begin_wait(backup);
	label = backup_server_stop(backup);
	(void) session_wait_set_watch(other_watch);
	pg_log_info("write-ahead log end point: %X/%X",
				LSN_FORMAT_ARGS(backup->stop));
	progress_end();

	backup_report_stage(backup, "wal");
	if (backup->options->wal_method != BACKUP_WAL_NONE)
		backup_wal_fetch(backup);
	add_special(special, "backup_label", label, strlen(label));
	if (backup->form->has_map)
		add_tablespace_map(backup, special);
	if (backup->options->write_recovery_conf && backup->options->tar_format)
		add_recovery_conf(backup, special);
	add_special(special, "global/pg_control", PQgetvalue(control, 0, 0),
				PQgetlength(control, 0, 0));
	for (int i = 0; i < special->n; i++)
		backup->form->write_file(backup, special->files[i].path,
								 special->files[i].data, special->files[i].len);
	if (backup->form->finish)
		backup->form->finish(backup);
}

/*
 * Flush everything, and only then rename the manifest, which makes the backup
 * complete: after a crash of this machine there must not be a manifest next
 * to files that have lost their contents.
 */
static void
complete(Backup *backup)
{
	const Options *options = backup->options;

	/* Its contents are used until the process ends. */
	SpecialFiles special = {.n = 0};

	end_data(backup, &special);

	/*
	 * In plain format, -R appends to the files in the backup.  Their entries
	 * in the manifest stay, because pg_verifybackup checks neither of them.
	 */
	if (options->write_recovery_conf && !options->tar_format)
		WriteRecoveryConfig(backup->conn, unconstify(char *, options->directory),
							generate_recovery_config(backup->conn));
	if (!options->no_manifest)
		write_manifest(backup, &special);

	backup_report_stage(backup, "sync");
	progress_stage_count("syncing files to disk", "", NULL, 0);
	backup->form->sync(backup);
	claimed_directory_check();
	progress_end();
	if (!options->no_manifest)
		claimed_directory_rename(MANIFEST_TEMP, "backup_manifest",
								 options->sync_method != SYNC_NONE);
}

static void
print_summary(const Backup *backup, const char *server)
{
	const Options *options = backup->options;
	RunFigures	figures = {
		.files = backup_report_files(backup),
		.raw_bytes = backup_report_bytes(backup),
	};
	PQExpBufferData text = buffer_new();

	if (options->tar_format && options->compress.method != COMPRESS_NONE)
		figures.stored_bytes = tar_archive_stored_bytes(options->directory);
	run_figures_append(&text, &figures, RUN_BACKUP, run_clock_seconds(), true);
	message_before_output();
	fprintf(stderr, "backed up server \"%s\" into directory \"%s\":\n  %s\n",
			server, printable(options->directory), text.data);
	fprintf(stderr, "  WAL from %X/%X to %X/%X on timeline %u\n",
			LSN_FORMAT_ARGS(backup->start), LSN_FORMAT_ARGS(backup->stop),
			backup->timeline);
	termPQExpBuffer(&text);
}

static void
basebackup_report_end(const Backup *backup, const char *server, uint64 failures)
{
	Event	   *event = event_new("end");

	event_add_number(event, "files", backup_report_files(backup));
	event_add_number(event, "bytes", backup_report_bytes(backup));
	event_add_number(event, "checksum_failures", failures);
	event_add_number(event, "retries", backup->n_retries);
	event_add_seconds(event, "seconds", run_clock_seconds());
	event_write(event);
	if (progress_is_shown())
		print_summary(backup, server);
}

int
basebackup_take(const Options *options, const char *argv0)
{
	/* Exit callbacks and workers use it until the process ends. */
	Backup	   *backup = pg_malloc0(sizeof(Backup));
	Report	   *page;
	uint64		failures;
	char	   *server;

	backup->options = options;
	backup->form = options->tar_format ? &tar_form : &plain_form;
	progress_begin(options->progress, options->no_progress);

	/*
	 * Register the metrics first, so that they are written after everything
	 * else has been undone.
	 */
	backup_report_metrics(backup);
	run_event_begin(options);
	page = report_begin(options, options->directory);
	interrupt_install_leader();
	session_set_max_rate(options->max_rate);
	basebackup_begin(backup, argv0);

	backup->form->make_directories(backup);
	backup_report_stage(backup, "files");
	if (options->wal_method == BACKUP_WAL_STREAM)
		backup_wal_follow(backup);
	backup_pool_read(backup, backup->follower ? backup_wal_attend : NULL);
	complete(backup);

	/* Wrong checksums are a result, not a failure: the backup stays. */
	cleanup_forget_all();
	interrupt_set_connection(NULL);
	if (backup->slot && backup->slot_conn != backup->conn)
		session_close(backup->slot_conn);
	server = connection_server_name(backup->conn);
	session_close(backup->conn);
	failures = backup_report_failures(backup);
	basebackup_report_end(backup, server, failures);
	metrics_end(failures == 0);
	backup_report_end(page, backup, failures);
	if (failures == 0)
		return 0;
	pg_log_error(ngettext("checksum error occurred: " UINT64_FORMAT " page",
						  "checksum error occurred: " UINT64_FORMAT " pages",
						  failures), failures);
	pg_log_error_detail("The backup is complete, but contains these pages as they are on the server.");
	pg_log_error_hint("Keep earlier backups, and check the server's disks.  In the database of a file base/OID/NUMBER, this query names its relation: SELECT pg_filenode_relation(0, NUMBER);");
	return 1;
}
