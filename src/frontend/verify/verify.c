/*
 * verify.c
 *		Verifies an archive against its manifest and its table of contents.
 *
 * The leader reads both and compares the names in them with the files of the
 * directory: a missing or an unknown file is a finding.  Workers then read
 * the files, the largest first, and check size, checksum, compression and
 * rows.  Their counts are in shared memory.
 */
#include "base/fe_compat.h"

#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "archive/archive_piped.h"
#include "archive/archive_read.h"
#include "archive/toc_file.h"
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

/* The two that describe the others. */
static const VerifyFile manifest_file = {.name = MANIFEST_NAME};
static const VerifyFile toc_file = {.name = TOC_NAME};

/* ----------
 * A verification that is going on.
 * ----------
 */

typedef struct VerifyRun
{
	const char *directory;		/* or the command of --pipe */
	Archive    *archive;		/* that command returns its files; or NULL */
	Manifest   *manifest;		/* NULL without, or if it is damaged */
	VerifyCounts found;			/* by the leader */
	FileList   *list;
	VerifyFile **jobs;			/* files to be read, largest first */
	int			n_jobs;
	VerifyCounts *counts;		/* by worker, shared */
	int			worker;			/* in a worker: its number */
	int			n_workers;
	double		start;			/* of reading, as of run_clock_seconds() */
	uint64		expected_bytes; /* of all files to be read */
	PQExpBufferData findings;	/* of workers, the first of each */
} VerifyRun;

/* ----------
 * Reads a file of an archive and tells what is wrong with it.
 * ----------
 */

#define READ_BYTES (128 * 1024)

/* Of ARCHIVE_END_OF_ROWS. */
#define END_MARK_BYTES ((int) sizeof(ARCHIVE_END_OF_ROWS) - 1)
#define END_MARK_LINES 3

/* The text of a file, as it comes. */
typedef struct TextState
{
	uint64		bytes;
	uint64		lines;
	char		tail[END_MARK_BYTES + 1];	/* the last ones, aligned right */
} TextState;

/* A file being read. */
typedef struct FileCheck
{
	const VerifyFile *file;
	pg_checksum_context checksum;
	Decompressor *decompressor; /* NULL for none */
	const char *undecodable;	/* why, or NULL; then only the checksum is
								 * continued */
	PQExpBufferData problems;	/* all of the file's, as one finding */
	char	   *out;
	TextState	text;
	uint64		stored_bytes;
	uint64		rows;
	uint64		raw_bytes;
	VerifyCounts *counts;
} FileCheck;

/* Damage shows in several ways, which together are one finding. */
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
	appendPQExpBuffer(&check->problems, "%s%s",
					  check->problems.len > 0 ? ", and " : "", text);
}

/*
 * Count lines, and keep the end of the text, which must be the mark that ends
 * COPY data.  The end may come in several parts, so the tail is a window that
 * moves on.
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
 * A damaged or forged file may decompress without an end.  It is wrong as
 * soon as it has more bytes than the manifest says, so no more is
 * decompressed.
 */
static bool
too_long(const FileCheck *check)
{
	return check->file->want &&
		check->text.bytes > check->file->want->raw_bytes;
}

/*
 * Damage in the compressed data does not end the reading: the checksum of the
 * whole file tells whether the bytes or only their contents are wrong.
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
		add_problem(check, too_long(check) ?
					"decompresses to more than " UINT64_FORMAT " byte%s" :
					"does not decompress to " UINT64_FORMAT " byte%s",
					file->want->raw_bytes, units_plural(file->want->raw_bytes));
		return;
	}
	if (file->has_copy_rows)
	{
		if (text->bytes < END_MARK_BYTES ||
			memcmp(text->tail + 1, ARCHIVE_END_OF_ROWS, END_MARK_BYTES) != 0 ||
			(text->bytes > END_MARK_BYTES && text->tail[0] != '\n'))
		{
			add_problem(check, "lacks the line that ends the rows");
			return;
		}
		rows = text->lines - END_MARK_LINES;
		if (file->want && rows != file->want->rows)
			add_problem(check, "has " UINT64_FORMAT " row%s instead of "
						UINT64_FORMAT, rows, units_plural(rows),
						file->want->rows);
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
		add_problem(check, "does not match its checksum in the manifest");
}

/*
 * Everything there is, to the end; false, and a problem, if it cannot be
 * read.
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
			add_problem(check, "could not be read: %s", strerror(errno));
			break;
		}
		take_stored(check, buf, len);
		check->counts->bytes_read += len;
	}
	free(buf);
	return len == 0;
}

/*
 * The same of a command, which also compares size and checksum: a command
 * that has failed may return the file another time.
 */
static bool
read_command(FileCheck *check, const Archive *archive)
{
	const VerifyFile *file = check->file;
	CommandReader *reader;
	char	   *buf;
	ssize_t		len;

	/* the names in this text have been used: it is what is verified */
	if (file->text)
	{
		take_stored(check, file->text, file->size);
		check->counts->bytes_read += file->size;
		return true;
	}
	buf = pg_malloc(READ_BYTES);
	reader = archive_read_start(archive, file->name, file->want);
	while ((len = command_reader_read(reader, buf, READ_BYTES)) > 0)
	{
		take_stored(check, buf, len);
		check->counts->bytes_read += len;
	}
	if (len < 0)
		add_problem(check, "could not be read: %s", command_reader_error(reader));
	command_reader_free(reader);
	free(buf);
	return len == 0;
}

/*
 * Before it has a byte to compress, stock pg_dump writes no frame either: the
 * file of an empty large object is empty.  (In gzip it has a header.)  A data
 * file is never, its text ends with a mark, and neither is one of ours, which
 * a manifest lists.
 */
static bool
nothing_written(const FileCheck *check, CompressMethod method)
{
	return check->stored_bytes == 0 && check->file->want == NULL &&
		method != COMPRESS_GZIP;
}

/*
 * A file of another size cannot have the right checksum, so only the size is
 * reported then; text is checked if the size is right or the data could be
 * decompressed.
 */
static void
compare(FileCheck *check, CompressMethod method)
{
	const VerifyFile *file = check->file;
	bool		right_size = !file->want ||
		check->stored_bytes == file->want->stored_bytes;

	if (!right_size)
		add_problem(check, "has " UINT64_FORMAT " byte%s instead of "
					UINT64_FORMAT, check->stored_bytes,
					units_plural(check->stored_bytes),
					file->want->stored_bytes);
	else
		check_checksum(check);
	if (check->undecodable)
		add_problem(check, "could not be decompressed: %s", check->undecodable);
	else if (check->decompressor && !too_long(check) &&
			 !nothing_written(check, method) &&
			 !decompressor_complete(check->decompressor))
		add_problem(check, check->problems.len > 0 ?
					"its compressed data is cut off" :
					"is cut off within its compressed data");
	else if (check->decompressor || right_size)
		check_text(check);
}

/*
 * Read the whole file, decompress it as its suffix says, and compare it with
 * what is wanted.  All that is wrong with it is one text, owned; NULL if
 * nothing is, or a finding has been logged.  Without a problem the rest is
 * added to the counts.  Memory: a decompressor's.
 */
static char *
check_file(const VerifyRun *run, const VerifyFile *file, VerifyCounts *counts)
{
	FileCheck	check = {.file = file,.counts = counts};
	CompressMethod method = archive_name_method(file->name);
	int			fd = run->archive ? -1 :
		verify_file_open(run->directory, file, counts);
	char	   *problem;

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
	problem = check.problems.len > 0 ? pg_strdup(check.problems.data) : NULL;
	termPQExpBuffer(&check.problems);
	if (fd >= 0)
		close(fd);
	counts->rows += check.rows;
	counts->raw_bytes += check.raw_bytes;
	counts->stored_bytes += check.stored_bytes;
	if (check.decompressor)
		decompressor_free(check.decompressor);
	free(check.out);
	return problem;
}

/* The same, and another attempt if a command may return other bytes then. */
static void
verify_file(const VerifyRun *run, const VerifyFile *file, VerifyCounts *counts)
{
	VerifyCounts before = *counts;
	Retry		retry = {0};
	char	   *problem;

	while ((problem = check_file(run, file, counts)) != NULL &&
		   run->archive &&
		   archive_read_again(run->archive, &retry,
							  psprintf("file \"%s\" %s", file->name, problem)))
	{
		/* nothing of that attempt counts */
		counts->rows = before.rows;
		counts->raw_bytes = before.raw_bytes;
		counts->stored_bytes = before.stored_bytes;
		counts->bytes_read = before.bytes_read;
	}
	if (problem)
		verify_finding(counts, file, "%s", problem);
}

/* ----------
 * What a verification tells: progress, events, the sum, the report.
 * ----------
 */

/*
 * The share that is done is measured in bytes of files, as they are stored.
 */
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
	progress_line_add(line, 2, "", " stored", "%s", units_size(bytes));
	progress_line_add(line, 3, "stored ", "", "%.1f MB/s",
					  bytes / seconds / (1024 * 1024));
	if (findings > 0)
		progress_line_add(line, 1, "", "", "%d problem%s", findings,
						  units_plural(findings));
}

/* The same for the process that shows the progress of all databases. */
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

	event_add_number(event, "files", run->list->n_files);
	event_add_number(event, "rows", run->found.rows);
	event_add_number(event, "raw_bytes", run->found.raw_bytes);
	event_add_number(event, "stored_bytes", run->found.stored_bytes);
	event_add_seconds(event, "seconds", run_clock_seconds());
	event_add_number(event, "findings", run->found.findings);
	event_write(event);
}

/*
 * What follows from the findings.  A restore needs toc.dat, and the manifest
 * of an archive that has one; all other files it reads by their entries.
 */
static void
report_failure(const VerifyRun *run, bool is_readable)
{
	int			n_files = run->list->n_files;

	pg_log_error("verification of archive \"%s\" failed: %d problem%s found, %d file%s checked",
				 printable(run->directory), run->found.findings,
				 units_plural(run->found.findings), n_files,
				 units_plural(n_files));
	pg_log_error_hint(is_readable ?
					  "Use another copy of the archive, or restore the tables whose files are not damaged with pg_parrestore -L." :
					  ARCHIVE_COPY_HINT);
}

/* The event of its end, and the line that sums up. */
static void
verify_report_sum(VerifyRun *run, bool is_readable)
{
	const VerifyCounts *found = &run->found;
	RunFigures *figures = run_figures_own();

	/* the program that runs all databases reports the failure itself */
	if (found->findings > 0 && figures == NULL)
		report_failure(run, is_readable);
	note_summary(run);
	/* one of several runs leaves the report to the parent process */
	if (figures)
	{
		figures->files = run->n_jobs;
		figures->rows = found->rows;
		figures->raw_bytes = found->raw_bytes;
		figures->stored_bytes = found->stored_bytes;
		figures->findings = found->findings;
		/* a short run has not been looked at while it read */
		verify_update(run, figures);
	}
	else if (found->findings == 0)
		fprintf(event_log_text_output(), run->manifest ?
				"archive verified: %d file%s, %s row%s, %s stored as %s\n" :
				"archive verified without a manifest: %d file%s, %s row%s, %s stored as %s\n",
				run->n_jobs, units_plural(run->n_jobs),
				units_count(found->rows), units_plural(found->rows),
				units_size(found->raw_bytes),
				units_size(found->stored_bytes));
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

	/* those of the leader, about the archive as a whole, come first */
	verify.findings = psprintf("%s%s", run->found.text, run->findings.data);
	report_end(page, run->manifest, &verify, NULL);
}

/* ----------
 * Names: what is there, and what should be
 * ----------
 */

static size_t
read_stream(void *arg, void *buf, size_t len)
{
	return fread(buf, 1, len, (FILE *) arg);
}

/*
 * A directory that is not an archive would give a finding for each of its
 * files; one message is better.
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

/* The table of contents, or NULL and a finding. */
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
		problem = "unexpected data after its end";
	}
	if (toc == NULL)
		verify_list_damaged(run->list, TOC_NAME, &run->found,
							psprintf("is damaged: %s", problem));
	fclose(stream);
	return toc;
}

/* False if there is none, which is a finding only in an archive of ours. */
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
	if (!exists)
		pg_log_info("the archive has no manifest, so sizes and checksums are not checked");
	else if (run->manifest == NULL)
		verify_finding(&run->found, &manifest_file, "is damaged: %s", problem);
	return exists;
}

/* ----------
 * Files: read by workers
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
 * Each file that is named is read.  A file that neither the manifest nor the
 * table of contents names is a finding, and so is a file that only one of
 * them names.  If the table of contents could not be read (names_known is
 * false) a file cannot be blamed for being missing there.
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
			verify_finding(&run->found, &listed->file,
						   "is not in the manifest");
		else if (names_known && !is_toc && !listed->in_toc)
			verify_finding(&run->found, &listed->file,
						   "is not listed in " TOC_NAME);
		if (listed->in_manifest || listed->in_toc)
			run->jobs[run->n_jobs++] = &listed->file;
	}
	if (run->n_jobs > 0)
		qsort(run->jobs, run->n_jobs, sizeof(VerifyFile *), verify_compare_sizes);
}

/* Callbacks of the worker pool. */
static void
verify_start_worker(void *arg, int no)
{
	((VerifyRun *) arg)->worker = no;
}

static bool
verify_run_job(void *arg, int job, volatile int *step)
{
	VerifyRun  *run = arg;

	verify_file(run, run->jobs[job], &run->counts[run->worker]);
	run->counts[run->worker].files++;
	return true;
}

static char *
verify_describe_job(void *arg, int job, int step)
{
	VerifyRun  *run = arg;

	return psprintf("file \"%s\"", printable(run->jobs[job]->name));
}

/*
 * Workers add up what they find in shared memory, each in its own place; the
 * leader sums up at the end.  A worker that is killed is an error, as nothing
 * would tell which files it had read.
 */
static void
run_workers(VerifyRun *run)
{
	int			n_workers = run->n_workers;
	PoolWatch	watch = progress_watch();
	WorkerTask	task = {
		.arg = run,
		.doing = "verifying %s",
		.start = verify_start_worker,
		.run = verify_run_job,
		.describe = verify_describe_job,
	};

	run->counts = shared_memory_new(n_workers, sizeof(VerifyCounts));
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
	}
}

/* ----------
 * The main path
 * ----------
 */

int
verify_archive(const Options *options)
{
	/* exit callbacks and workers use it until the process ends */
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
	 * Match the files that are there with those that the manifest and the
	 * table of contents name.  True if these are all names that there should
	 * be.
	 */
	has_manifest = read_manifest(run);
	/* it comes first, as it knows more of a file, its checksum for one */
	if (run->manifest)
		verify_list_mark_manifest(run->list, run->manifest, &run->found);
	toc = read_toc(run);
	problem = run->manifest ? manifest_snapshot_problem(run->manifest) : NULL;
	if (problem)
		verify_finding(&run->found, &manifest_file, "%s", problem);
	/* of several databases each has its own */
	problem = toc ? toc_database_problem(toc) : NULL;
	if (problem)
		verify_finding(&run->found, &toc_file, "%s", problem);
	/* stock pg_dump's archives have none */
	if (!has_manifest && toc && toc_has_mark(toc))
		verify_finding(&run->found, &manifest_file, "is missing");
	names_known = toc && verify_list_mark_toc(run->list, toc, &run->found);
	choose_files(run, names_known);
	/* The event of its beginning, when the files to be read are known. */
	event = event_new("run");
	event_add_text(event, "version", PARDUMP_VERSION);
	event_add_text(event, "directory", run->archive ? NULL : run->directory);
	event_add_number(event, "jobs", run->n_workers);
	event_add_number(event, "files", run->n_jobs);
	event_write(event);
	run_workers(run);
	/* findings are a result: all has been done, and nothing to be undone */
	cleanup_forget_all();

	verify_report_sum(run, toc && (run->manifest || !has_manifest));
	verify_write_page(run, page);
	return run->found.findings > 0 ? 1 : 0;
}
