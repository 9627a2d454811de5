/*
 * verify.c
 *		The main path of --verify: compares the files of an archive with its
 *		manifest and its table of contents.
 *
 * The leader reads both, and compares the names in them with the files that
 * exist (verify_list.c).  Then workers read the files, the largest first, and
 * check size, checksum, compression and number of rows.  They count in shared
 * memory.  A directory and the output of commands (--pipe) are verified in
 * the same way, but a command is run again after an error.
 */
#include "base/fe_compat.h"

#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "archive/archive_piped.h"
#include "archive/archive_prefetch.h"
#include "archive/archive_read.h"
#include "archive/toc_file.h"
#include "base/buffer.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "report/report.h"
#include "status/run.h"
#include "stream/decompress.h"
#include "verify/verify.h"
#include "verify/verify_list.h"

/* ----------
 * The state of a verification.
 * ----------
 */

typedef struct VerifyRun
{
	const char *directory;		/* or the pattern of --pipe */
	Archive    *archive;		/* with --pipe, the archive whose files
								 * commands return; otherwise NULL */
	Manifest   *manifest;		/* NULL if it does not exist or is damaged */
	bool		is_unsupported; /* the manifest has an unsupported version */
	VerifyCounts found;			/* counts of the leader, and later those of
								 * all workers */
	FileList   *list;
	VerifyFile **jobs;			/* files to read, largest first */
	int			n_jobs;
	volatile bool *no_data;		/* by job, shared memory: see VerifyCounts */
	VerifyCounts *counts;		/* by worker, in shared memory */
	int			worker;			/* number of this worker */
	int			n_workers;
	double		start;			/* run_clock_seconds() when reading began */
	uint64		expected_bytes; /* size of all files to read */
	PQExpBufferData findings;	/* texts of the workers' findings */
} VerifyRun;

/* ----------
 * Reading a file of an archive, and comparing its contents.
 * ----------
 */

#define READ_BYTES (128 * 1024)

/* The length and the lines of ARCHIVE_END_OF_ROWS. */
#define END_MARK_BYTES ((int) sizeof(ARCHIVE_END_OF_ROWS) - 1)
#define END_MARK_LINES 3

/* The text of a file up to the current position. */
typedef struct TextState
{
	uint64		bytes;
	uint64		lines;
	char		tail[END_MARK_BYTES + 1];	/* last bytes, right-aligned */
} TextState;

/* A file that is being read. */
typedef struct FileCheck
{
	const VerifyFile *file;
	pg_checksum_context checksum;
	Decompressor *decompressor; /* NULL = not compressed */
	const char *undecodable;	/* error of the decompressor, or NULL; after
								 * it, only the checksum is continued */
	char	   *unread;			/* why the file could not be read, or NULL */
	PQExpBufferData problems;	/* all problems of the file, which are one
								 * finding: clauses, one per line */
	char	   *out;
	TextState	text;
	uint64		stored_bytes;
	uint64		rows;
	uint64		raw_bytes;
	VerifyCounts *counts;
} FileCheck;

/*
 * Add a problem of the file.  Damage often causes several problems, which are
 * reported as one finding.
 */
static void add_problem(FileCheck *check, const char *format,...)
			pg_attribute_printf(2, 3);

static void
add_problem(FileCheck *check, const char *format,...)
{
	char		text[512];
	va_list		args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	appendPQExpBuffer(&check->problems, "%s\n", text);
}

/*
 * Count lines, and keep the last bytes, which must be the mark that ends COPY
 * data.  The mark may be spread over several calls.
 */
static void
take_text(TextState *text, const char *data, size_t len)
{
	size_t		keep = Min(len, sizeof(text->tail));
	const char *pos = data;
	const char *end = data + len;

	text->bytes += len;
	while ((pos = memchr(pos, '\n', end - pos)) != NULL)
	{
		text->lines++;
		pos++;
	}
	memmove(text->tail, text->tail + keep, sizeof(text->tail) - keep);
	memcpy(text->tail + sizeof(text->tail) - keep, end - keep, keep);
}

/*
 * A damaged or forged file may decompress to an unlimited number of bytes.
 * If it has more bytes than in the manifest, it is wrong, and no more of it
 * is decompressed.
 */
static bool
too_long(const FileCheck *check)
{
	return check->file->want &&
		check->text.bytes > check->file->want->raw_bytes;
}

/*
 * Continue after damage in the compressed data: the checksum of the whole
 * file shows whether the stored bytes were changed, or were wrong when they
 * were written.
 */
static void
take_stored(FileCheck *check, const char *data, size_t len)
{
	ssize_t		made;

	check->stored_bytes += len;
	checksum_add(&check->checksum, data, len);
	if (check->undecodable || too_long(check))
		return;
	if (check->decompressor == NULL)
	{
		take_text(&check->text, data, len);
		return;
	}
	decompressor_feed(check->decompressor, data, len);
	while ((made = decompressor_fetch(check->decompressor, check->out,
									  READ_BYTES)) > 0 && !too_long(check))
		take_text(&check->text, check->out, made);
	if (made < 0)
		check->undecodable = decompressor_error(check->decompressor);
}

static void
check_text(FileCheck *check)
{
	const VerifyFile *file = check->file;
	const TextState *text = &check->text;
	uint64		rows = 0;

	if (file->want && text->bytes != file->want->raw_bytes)
	{
		if (too_long(check))
			add_problem(check,
						ngettext("the decompressed data has more than " UINT64_FORMAT " byte",
								 "the decompressed data has more than " UINT64_FORMAT " bytes",
								 file->want->raw_bytes), file->want->raw_bytes);
		else
			add_problem(check,
						ngettext("the decompressed data has " UINT64_FORMAT " byte instead of " UINT64_FORMAT,
								 "the decompressed data has " UINT64_FORMAT " bytes instead of " UINT64_FORMAT,
								 text->bytes), text->bytes, file->want->raw_bytes);
		return;
	}
	if (file->has_copy_rows)
	{
		if (text->bytes < END_MARK_BYTES ||
			memcmp(text->tail + 1, ARCHIVE_END_OF_ROWS, END_MARK_BYTES) != 0 ||
			(text->bytes > END_MARK_BYTES && text->tail[0] != '\n'))
		{
			add_problem(check, "the line that ends the rows is missing");
			return;
		}
		rows = text->lines - END_MARK_LINES;
		if (file->want && rows != file->want->rows)
			add_problem(check,
						ngettext("the file has " UINT64_FORMAT " row instead of " UINT64_FORMAT,
								 "the file has " UINT64_FORMAT " rows instead of " UINT64_FORMAT,
								 rows), rows, file->want->rows);
	}
	check->rows = rows;
	check->raw_bytes = text->bytes;
}

static void
check_checksum(FileCheck *check)
{
	const ManifestFile *want = check->file->want;
	uint8		got[PG_CHECKSUM_MAX_LENGTH];
	int			len = pg_checksum_final(&check->checksum, got);

	if (want && want->checksum_len > 0 &&
		(len != want->checksum_len || memcmp(got, want->checksum, len) != 0))
		add_problem(check, "the checksum does not match the manifest");
}

/*
 * Read the whole file.  Returns false and sets unread if it cannot be read.
 */
static bool
read_all(FileCheck *check, int fd)
{
	char	   *buf = pg_malloc(READ_BYTES);
	ssize_t		len;

	while ((len = read(fd, buf, READ_BYTES)) != 0)
	{
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
		{
			check->unread =
				verify_file_text(check->file,
								 "could not read file \"%s\" of table %s: %m",
								 "could not read file \"%s\": %m");
			break;
		}
		take_stored(check, buf, len);
		check->counts->bytes_read += len;
	}
	free(buf);
	return len == 0;
}

/*
 * Read the whole output of a command.  The command reader also compares size
 * and checksum.  After an error, the caller may run the command again.
 */
static bool
read_command(FileCheck *check, const Archive *archive)
{
	const VerifyFile *file = check->file;
	CommandReader *reader;
	char	   *buf;
	ssize_t		len;

	/* verify this text, because the names in it were used */
	if (file->text)
	{
		take_stored(check, file->text, file->size);
		check->counts->bytes_read += file->size;
		return true;
	}
	buf = pg_malloc(READ_BYTES);
	reader = archive_prefetch_open(archive, file->name, file->want);
	while ((len = command_reader_read(reader, buf, READ_BYTES)) > 0)
	{
		take_stored(check, buf, len);
		check->counts->bytes_read += len;
	}
	if (len < 0 && file->table)
	{
		add_problem(check, "%s", command_reader_error(reader));
		check->unread = psprintf("could not verify the rows of table %s",
								 printable(file->table));
	}
	else if (len < 0)
		check->unread = pg_strdup(command_reader_error(reader));
	command_reader_free(reader);
	free(buf);
	return len == 0;
}

/*
 * Is this the empty file of an empty large object?  pg_dump writes no frame
 * before it has a byte to compress; only gzip files have a header.  Other
 * files are never empty: rows end with a mark, and pg_pardump, which writes a
 * manifest, always writes a frame.
 */
static bool
nothing_written(const FileCheck *check, CompressMethod method)
{
	return check->stored_bytes == 0 && check->file->want == NULL &&
		method != COMPRESS_GZIP;
}

/*
 * Compare the file with the manifest.  If the size is wrong, the checksum
 * cannot be right, and only the size is reported.  The text is checked if the
 * size is right or the data could be decompressed.
 */
static void
compare(FileCheck *check, CompressMethod method)
{
	const VerifyFile *file = check->file;
	bool		right_size = !file->want ||
		check->stored_bytes == file->want->stored_bytes;

	if (!right_size)
		add_problem(check,
					ngettext("the file has " UINT64_FORMAT " byte instead of " UINT64_FORMAT,
							 "the file has " UINT64_FORMAT " bytes instead of " UINT64_FORMAT,
							 check->stored_bytes),
					check->stored_bytes, file->want->stored_bytes);
	else
		check_checksum(check);
	if (check->undecodable)
		add_problem(check, "the data could not be decompressed: %s", check->undecodable);
	else if (check->decompressor && !too_long(check) &&
			 !nothing_written(check, method) &&
			 !decompressor_complete(check->decompressor))
		add_problem(check, "the compressed data is truncated");
	else if (check->decompressor || right_size)
		check_text(check);
}

/*
 * Read the whole file, decompress it according to its suffix, and compare it
 * with the manifest.  Returns a finding, and sets *details to its details or
 * NULL, and *unread to whether the file could not be read; owned.  Returns
 * NULL if there is none, or if the file cannot be opened, which is reported
 * here.
 * The results are added to the counts.  Memory is limited to that of a
 * decompressor.
 */
static char *
check_file(const VerifyRun *run, const VerifyFile *file, VerifyCounts *counts,
		   char **details, bool *unread)
{
	FileCheck	check = {.file = file,.counts = counts};
	CompressMethod method = archive_name_method(file->name);
	int			fd = run->archive ? -1 :
		verify_file_open(run->directory, file, counts);
	char	   *finding;

	if (fd < 0 && run->archive == NULL)
		return NULL;
	checksum_begin(&check.checksum, run->manifest ?
				   run->manifest->checksum_type : CHECKSUM_TYPE_NONE);
	check.out = pg_malloc(READ_BYTES);
	if (method != COMPRESS_NONE)
		check.decompressor = decompressor_new(method, DECOMPRESS_FILE);
	initPQExpBuffer(&check.problems);
	if (run->archive ? read_command(&check, run->archive) : read_all(&check, fd))
		compare(&check, method);
	*details = check.problems.len > 0 ? pg_strdup(check.problems.data) : NULL;
	*unread = check.unread != NULL;
	finding = *unread || *details == NULL ? check.unread :
		verify_file_text(file, "file \"%s\" of table %s is damaged",
						 "file \"%s\" is damaged");
	termPQExpBuffer(&check.problems);
	counts->no_data = run->archive && finding == NULL &&
		nothing_written(&check, method);
	if (fd >= 0)
		close(fd);
	counts->rows += check.rows;
	counts->raw_bytes += check.raw_bytes;
	counts->stored_bytes += check.stored_bytes;
	if (check.decompressor)
		decompressor_free(check.decompressor);
	free(check.out);
	return finding;
}

/*
 * Check a file, and report its problems.  If a command returned it, try again
 * first, because the command may return other bytes.
 */
static void
verify_file(const VerifyRun *run, const VerifyFile *file, VerifyCounts *counts)
{
	VerifyCounts before = *counts;
	Retry		retry = {0};
	char	   *finding;
	char	   *details;
	bool		unread;

	/* see archive_objects_has_no_data() */
	while (((finding = check_file(run, file, counts, &details, &unread)) != NULL ||
			(counts->no_data &&
			 (finding = check_file(run, file, counts, &details, &unread)) != NULL)) &&
		   run->archive &&
		   archive_read_again(run->archive, &retry, details ?
							  pnstrdup(details, strcspn(details, "\n")) :
							  finding))
	{
		/* discard the counts of that attempt */
		counts->rows = before.rows;
		counts->raw_bytes = before.raw_bytes;
		counts->stored_bytes = before.stored_bytes;
		counts->bytes_read = before.bytes_read;
	}
	if (finding)
		verify_finding(counts, finding, details);
	if (finding && run->archive && unread)
		counts->unread += command_reader_last_failed();
}

/* ----------
 * The output of a verification: progress, events, the summary, the report.
 * ----------
 */

/* Show the progress, which is measured in stored bytes. */
static void
verify_compose(void *arg, ProgressLine *line, bool at_end)
{
	const VerifyRun *run = arg;
	uint64		bytes = 0;
	int			files = 0;
	int			findings = run->found.findings;
	double		seconds;

	for (int i = 0; i < run->n_workers; i++)
	{
		bytes += run->counts[i].bytes_read;
		files += run->counts[i].files;
		findings += run->counts[i].findings;
	}
	seconds = progress_add_share(line, "", bytes, run->expected_bytes, run->start,
								 at_end);
	progress_line_add(line, 0, "", "", "files %d/%d", files, run->n_jobs);
	progress_line_add(line, 2, "", " stored", "%s of %s", units_size(bytes),
					  units_size(run->expected_bytes));
	/* At the end, the summary shows the rate. */
	if (!at_end)
		progress_line_add(line, 3, "", "", "%s stored", units_rate(bytes, seconds));
	if (findings > 0)
		progress_line_add(line, 1, "", "",
						  ngettext("%d problem", "%d problems", findings),
						  findings);
}

/*
 * Pass the progress to the process that shows the progress of all databases.
 */
static void
verify_update(void *arg, RunFigures *figures)
{
	const VerifyRun *run = arg;
	uint64		bytes = 0;

	for (int i = 0; i < run->n_workers; i++)
		bytes += run->counts[i].bytes_read;
	figures->expected_bytes = run->expected_bytes;
	figures->done_bytes = Min(bytes, run->expected_bytes);
}

static void
note_summary(const VerifyRun *run)
{
	Event	   *event = event_new("summary");

	event_add_number(event, "files", run->n_jobs);
	event_add_number(event, "rows", run->found.rows);
	event_add_number(event, "raw_bytes", run->found.raw_bytes);
	event_add_number(event, "stored_bytes", run->found.stored_bytes);
	event_add_seconds(event, "seconds", run_clock_seconds());
	event_add_number(event, "findings", run->found.findings);
	event_write(event);
}

/*
 * Report that the verification failed.  The hint depends on whether
 * pg_parrestore can restore a part of the archive: it needs toc.dat, and the
 * manifest if the archive has one.  All other files are read entry by entry.
 */
static void
report_failure(const VerifyRun *run, bool is_readable)
{
	pg_log_error(ngettext("verification of archive \"%s\" failed: %d problem found, files checked: %d",
						  "verification of archive \"%s\" failed: %d problems found, files checked: %d",
						  run->found.findings),
				 printable(run->directory), run->found.findings, run->n_jobs);
	if (run->found.unread == run->found.findings)
		pg_log_error_hint("Check the command of --pipe, and whether the files exist.  Then run the same command again.");
	else if (run->is_unsupported)
		pg_log_error_hint(JSON_READ_UNSUPPORTED_HINT);
	else if (!is_readable)
		pg_log_error_hint(ARCHIVE_COPY_HINT);
	else if (run->archive)
		pg_log_error_hint(ARCHIVE_COPY_HINT "  To restore the undamaged tables, write a list of entries with pg_parrestore -l and the same --pipe, remove the TABLE DATA lines of the damaged tables from it, and use --use-list.");
	else
		pg_log_error_hint(ARCHIVE_COPY_HINT "  To restore the undamaged tables, run \"pg_parrestore -l %s >list\", remove the TABLE DATA lines of the damaged tables from the file list, and run \"pg_parrestore --use-list=list -d DATABASE %s\".",
						  printable(run->directory), printable(run->directory));
}

static void
print_summary(const VerifyRun *run)
{
	const RunFigures figures = {
		.files = run->n_jobs,
		.rows = run->found.rows,
		.raw_bytes = run->found.raw_bytes,
		.stored_bytes = run->found.stored_bytes,
	};
	PQExpBufferData text = buffer_new();

	run_figures_append(&text, &figures, RUN_VERIFY, run_clock_seconds(), true);
	fprintf(event_log_text_output(), run->manifest ?
			"verified archive \"%s\":\n  %s\nno problems found\n" :
			"verified archive \"%s\" without a manifest:\n  %s\n",
			printable(run->directory), text.data);
	termPQExpBuffer(&text);
}

/* Write the event at the end, and the lines with the result. */
static void
verify_report_sum(VerifyRun *run, bool is_readable)
{
	const VerifyCounts *found = &run->found;
	RunFigures *figures = run_figures_own();

	/* with several databases, the parent process reports the failure */
	if (found->findings > 0 && figures == NULL)
		report_failure(run, is_readable);
	note_summary(run);
	/* with several databases, the parent process reports the result */
	if (figures)
	{
		figures->files = run->n_jobs;
		figures->rows = found->rows;
		figures->raw_bytes = found->raw_bytes;
		figures->stored_bytes = found->stored_bytes;
		figures->findings = found->findings;
		/* a short run may have ended before it passed on its progress */
		verify_update(run, figures);
	}
	else if (found->findings == 0)
		print_summary(run);
}

/* --report: complete the page. */
static void
verify_write_page(const VerifyRun *run, Report *page)
{
	ReportVerify verify = {
		.n_files = run->n_jobs,
		.rows = run->found.rows,
		.stored_bytes = run->found.stored_bytes,
		.n_findings = run->found.findings,
		.start_us = run_clock_start_us(),
		.end_us = clock_wall_us(),
	};

	/* findings of the leader, about the archive as a whole, come first */
	verify.findings = psprintf("%s%s", run->found.text, run->findings.data);
	report_end(page, run->manifest, &verify, NULL);
}

/* ----------
 * Reading the manifest and the table of contents
 * ----------
 */

static size_t
read_stream(void *arg, void *buf, size_t len)
{
	return fread(buf, 1, len, (FILE *) arg);
}

/*
 * Exit with a message if the directory is not an archive.  Otherwise, each of
 * its files would be a finding.
 */
static void
refuse_other_directory(const VerifyRun *run)
{
	const char *toc = psprintf("%s/%s", run->directory, TOC_NAME);
	const char *manifest = psprintf("%s/%s", run->directory, MANIFEST_NAME);

	if (faccessat(AT_FDCWD, toc, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
		faccessat(AT_FDCWD, manifest, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return;
	pg_log_error("\"%s\" is not an archive", run->directory);
	pg_log_error_detail("It contains neither \"%s\" nor \"%s\".", TOC_NAME,
						MANIFEST_NAME);
	archive_lookup_hint(run->directory);
	exit(1);
}

/* Returns the table of contents, or NULL after a finding. */
static Toc *
read_toc(VerifyRun *run)
{
	int			fd;
	FILE	   *stream;
	const char *problem;
	Toc		   *toc;

	if (run->archive)
		return run->archive->toc;
	fd = verify_list_open(run->list, TOC_NAME, &run->found);
	stream = fd < 0 ? NULL : fdopen(fd, "r");
	if (stream == NULL)
		return NULL;
	toc = toc_read_file(read_stream, stream, false, &problem);
	if (toc && getc(stream) != EOF)
	{
		toc_free(toc);
		toc = NULL;
		problem = "it contains data after its end";
	}
	if (toc == NULL)
		verify_list_damaged(run->list, TOC_NAME, &run->found,
							psprintf("file \"%s\" is damaged", TOC_NAME),
							problem);
	fclose(stream);
	return toc;
}

/*
 * Read the manifest.  Returns false if it does not exist, which is a finding
 * only in an archive of pg_pardump.
 */
static bool
read_manifest(VerifyRun *run)
{
	const char *problem;
	bool		exists;

	if (run->archive)
	{
		run->manifest = run->archive->manifest;
		return run->manifest != NULL;
	}
	run->manifest = manifest_load(run->directory, &exists, &problem);
	if (exists && run->manifest == NULL)
	{
		run->is_unsupported = strcmp(problem, JSON_READ_UNSUPPORTED) == 0;
		verify_finding(&run->found,
					   psprintf("could not read the manifest of archive \"%s\"",
								printable(run->directory)), problem);
	}
	return exists;
}

/* ----------
 * Files that workers read
 * ----------
 */

static int
verify_compare_sizes(const void *a, const void *b)
{
	uint64		size_a = (*(VerifyFile *const *) a)->size;
	uint64		size_b = (*(VerifyFile *const *) b)->size;

	return size_a < size_b ? 1 : size_a > size_b ? -1 : 0;
}

/*
 * Choose the files to read: all files that the manifest or the table of
 * contents names.  It is a finding if a file is missing in one of them.  But
 * if names_known is false, the table of contents, or a list that it names,
 * could not be read, so a file that is missing in it is not a finding.
 */
static void
choose_files(VerifyRun *run, bool names_known)
{
	run->jobs = pg_malloc((run->list->n_files + 1) * sizeof(VerifyFile *));
	for (int i = 0; i < run->list->n_files; i++)
	{
		ListedFile *listed = &run->list->files[i];
		bool		is_toc = strcmp(listed->file.name, TOC_NAME) == 0;

		if (listed->unusable)
			continue;
		if (run->manifest && !listed->in_manifest)
			verify_finding(&run->found,
						   verify_file_text(&listed->file, VERIFY_NOT_IN_MANIFEST),
						   NULL);
		else if (names_known && !is_toc && !listed->in_toc)
			verify_finding(&run->found,
						   verify_file_text(&listed->file,
											"file \"%s\" of table %s is not listed in " TOC_NAME,
											"file \"%s\" is not listed in " TOC_NAME),
						   NULL);
		if (listed->in_manifest || listed->in_toc)
			run->jobs[run->n_jobs++] = &listed->file;
	}
	if (run->n_jobs > 0)
		qsort(run->jobs, run->n_jobs, sizeof(VerifyFile *), verify_compare_sizes);
}

/* A PrefetchFileOfJob: each job is a file. */
static bool
verify_file_of_job(void *arg, int job, int no, PrefetchFile *file)
{
	const VerifyRun *run = arg;
	const VerifyFile *next = run->jobs[job];

	if (no > 0)
		return false;
	/* the leader has read the lists of large objects */
	file->path = next->text ? NULL : pg_strdup(next->name);
	file->want = next->want;
	return true;
}

/* Callbacks of the worker pool. */
static void
verify_start_worker(void *arg, int no)
{
	VerifyRun  *run = arg;

	run->worker = no;
	if (run->archive)
		archive_prefetch_begin(run->archive, verify_file_of_job, run);
}

static bool
verify_run_job(void *arg, int job, volatile int *step)
{
	VerifyRun  *run = arg;

	if (run->archive)
		archive_prefetch_begin_job(run->archive, job);
	verify_file(run, run->jobs[job], &run->counts[run->worker]);
	run->counts[run->worker].files++;
	run->no_data[job] = run->counts[run->worker].no_data;
	return true;
}

static char *
verify_describe_job(void *arg, int job, int step)
{
	VerifyRun  *run = arg;

	return pg_strdup(printable(run->jobs[job]->name));
}

/*
 * Workers count in shared memory, each in its own place, and the leader adds
 * the counts at the end.  If a worker is killed, the run ends with an error,
 * because it is not known which files it has read.
 */
static void
run_workers(VerifyRun *run)
{
	int			n_workers = run->n_workers;
	PoolWatch	watch = progress_watch();
	WorkerTask	task = {
		.arg = run,
		.job_detail = "The worker was verifying file \"%s\".",
		.start = verify_start_worker,
		.run = verify_run_job,
		.describe = verify_describe_job,
		.n_reservable = run->n_jobs,
	};

	run->counts = shared_memory_new(n_workers, sizeof(VerifyCounts));
	run->no_data = shared_memory_new(run->n_jobs + 1, sizeof(bool));
	for (int i = 0; i < run->n_jobs; i++)
		run->expected_bytes += run->jobs[i]->size;
	run->start = run_clock_seconds();
	progress_stage(verify_compose, run);
	run_figures_watch(verify_update, run);
	worker_pool_run(&task, &watch, n_workers, run->n_jobs);
	progress_end();
	for (int i = 0; i < n_workers; i++)
	{
		appendPQExpBufferStr(&run->findings, run->counts[i].text);
		run->found.rows += run->counts[i].rows;
		run->found.raw_bytes += run->counts[i].raw_bytes;
		run->found.stored_bytes += run->counts[i].stored_bytes;
		run->found.findings += run->counts[i].findings;
		run->found.unread += run->counts[i].unread;
	}
}

/* Warn of large objects for which commands have returned no data. */
static void
warn_empty(const VerifyRun *run)
{
	PQExpBufferData names = buffer_new();
	int			n = 0;

	for (int i = 0; i < run->n_jobs; i++)
		if (run->no_data[i])
			archive_piped_add_empty(&names, &n, run->jobs[i]->name);
	archive_piped_warn_empty(run->archive, names.data, n);
	termPQExpBuffer(&names);
}

/* ----------
 * The main path
 * ----------
 */

int
verify_archive(const Options *options)
{
	/* exit callbacks and workers use this until the process ends */
	VerifyRun  *run = pg_malloc0(sizeof(VerifyRun));
	bool		names_known;
	Report	   *page;
	Event	   *event;
	bool		has_manifest;
	Toc		   *toc;
	const char *problem;

	run->directory = options->verify;
	run->n_workers = options->jobs;
	initPQExpBuffer(&run->findings);
	interrupt_install_leader();
	progress_begin(options->progress, options->no_progress);
	run_event_begin(options);
	page = report_begin(options, run->directory);

	if (options->pipe_command)
	{
		run->archive = archive_piped_open(options);
		archive_piped_forget_toc(run->archive);
		run->list = verify_list_piped(run->archive, &run->found);
	}
	else
	{
		run->list = verify_list_new(run->directory);
		refuse_other_directory(run);
	}

	/*
	 * Match the names of the files with those in the manifest and the table
	 * of contents.
	 */
	has_manifest = read_manifest(run);
	/* first the manifest, because it contains more about a file */
	if (run->manifest)
		verify_list_mark_manifest(run->list, run->manifest, &run->found);
	toc = read_toc(run);
	problem = run->manifest ? manifest_snapshot_problem(run->manifest) : NULL;
	if (problem)
		verify_finding(&run->found, problem, NULL);
	/* with several databases, the archive may belong to another one */
	problem = toc ? toc_database_problem(toc) : NULL;
	if (problem)
		verify_finding(&run->found, psprintf("archive \"%s\" is from another database",
											 run->directory), problem);
	/* archives of pg_dump have no manifest */
	if (!has_manifest && toc && toc_has_mark(toc))
		verify_finding(&run->found, "file \"" MANIFEST_NAME "\" is missing", NULL);
	else if (!has_manifest && run->archive == NULL)
	{
		pg_log_warning(ARCHIVE_NO_MANIFEST, run->directory);
		pg_log_warning_detail("Files are read without checksums.");
	}
	names_known = toc && verify_list_mark_toc(run->list, toc, &run->found);
	choose_files(run, names_known);
	/* the event at the beginning, when the files to read are known */
	event = event_new("run");
	event_add_text(event, "version", PARDUMP_VERSION);
	event_add_text(event, "directory", run->archive ? NULL : run->directory);
	event_add_number(event, "jobs", run->n_workers);
	event_add_number(event, "files", run->n_jobs);
	event_write(event);
	run_workers(run);
	warn_empty(run);
	/* findings are a result, and nothing has to be undone */
	cleanup_forget_all();

	verify_report_sum(run, toc && (run->manifest || !has_manifest));
	verify_write_page(run, page);
	return run->found.findings == 0 ? 0 :
		run->found.findings == run->found.unread ? ARCHIVE_EXIT_UNREAD : 1;
}
