/*
 * verify.c
 *		Verifies an archive against its manifest and its table of contents.
 *
 * The leader reads these two and matches names, of which each that is missing
 * or too many is a finding.  The workers read the files, the largest first,
 * and check size, checksum, decompression and rows (verify_file.c).  What
 * they count is in shared memory.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "archive/archive_name.h"
#include "archive/archive_open.h"
#include "archive/manifest.h"
#include "archive/toc.h"
#include "archive/toc_file.h"
#include "base/clock.h"
#include "base/event_log.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "process/progress.h"
#include "process/worker_pool.h"
#include "report/report.h"
#include "status/run.h"
#include "verify/verify.h"
#include "verify/verify_file.h"

/* ----------
 * What a verification tells: progress, events, the sum, the report.
 * ----------
 */

/* The event of its beginning, when the files to be read are known. */
static void
verify_report_run(const VerifyRun *run)
{
	Event	   *event = event_new("run");

	event_add_text(event, "version", PARDUMP_VERSION);
	event_add_text(event, "directory", run->directory);
	event_add_number(event, "jobs", run->n_workers);
	event_add_number(event, "files", run->n_jobs);
	event_write(event);
}

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
	double		seconds = Max(run_clock_seconds() - run->start, 0.001);
	double		share;
	char		size[UNITS_BYTES];
	char		time[UNITS_BYTES];

	for (int i = 0; i < run->n_workers; i++)
	{
		bytes += run->counts[i].bytes_read;
		files += run->counts[i].files;
		findings += run->counts[i].findings;
	}
	share = at_end ? 1 : Min((double) bytes / Max(run->expected_bytes, 1), 0.999);
	progress_line_add(line, 0, "", "", "%3d%%", (int) (share * 100));
	if (at_end)
		progress_add_time(line);
	else if (share > 0)
		progress_line_add(line, 0, "", "", "ETA %s",
						  units_duration(seconds / share - seconds, time));
	progress_line_add(line, 0, "", "", "files %d/%d", files, run->n_jobs);
	progress_line_add(line, 2, "", "", "%s", units_size(bytes, size));
	progress_line_add(line, 3, "", "", "%.1f MB/s",
					  bytes / seconds / (1024 * 1024));
	if (findings > 0)
		progress_line_add(line, 1, "", "", "%d finding%s", findings,
						  units_plural(findings));
}

/* Show from now on how far the workers are; progress_end() ends it. */
static void
verify_report_progress(VerifyRun *run)
{
	for (int i = 0; i < run->n_jobs; i++)
		run->expected_bytes += run->jobs[i]->size;
	run->start = run_clock_seconds();
	progress_stage(verify_compose, run);
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

/* The event of its end, and the line that sums up. */
static void
verify_report_sum(const VerifyRun *run)
{
	const VerifyCounts *found = &run->found;
	int			n_files = run->list->n_files;
	char		raw[UNITS_BYTES];
	char		stored[UNITS_BYTES];

	note_summary(run);
	if (found->findings > 0)
	{
		message_before_output();
		fprintf(stderr, "%d finding%s in %d file%s\n", found->findings,
				units_plural(found->findings), n_files, units_plural(n_files));
	}
	else
		fprintf(event_log_text_output(),
				"archive verified%s: %d file%s, " UINT64_FORMAT " row%s, %s stored as %s\n",
				run->manifest ? "" : " without a manifest",
				run->n_jobs, units_plural(run->n_jobs),
				found->rows, units_plural(found->rows),
				units_size(found->raw_bytes, raw),
				units_size(found->stored_bytes, stored));
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
 * Verifies an archive against its manifest and its table of contents.
 * ----------
 */

/* ----------
 * Names: what is there, and what should be
 * ----------
 */

static size_t
read_stream(void *arg, void *buf, size_t len)
{
	return fread(buf, 1, len, (FILE *) arg);
}

/* Files of another directory are not findings. */
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
	int			fd = verify_list_open(run->list, TOC_NAME, &run->found);
	FILE	   *stream = fd < 0 ? NULL : fdopen(fd, "r");
	const char *problem;
	Toc		   *toc;

	if (stream == NULL)
		return NULL;
	toc = toc_read_directory(read_stream, stream, &problem);
	if (toc && getc(stream) != EOF)
	{
		toc_free(toc);
		toc = NULL;
		problem = "more than it should hold";
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

	run->manifest = manifest_load(run->directory, &exists, &problem);
	if (!exists)
		pg_log_info("there is no manifest: files are read, and not compared");
	else if (run->manifest == NULL)
		verify_finding(&run->found, MANIFEST_NAME, "is damaged: %s", problem);
	return exists;
}

/* Of several databases each has its own. */
static void
check_database(VerifyRun *run, const Toc *toc)
{
	char	   *problem = toc_database_problem(toc);

	if (problem)
		verify_finding(&run->found, TOC_NAME, "%s", problem);
}

/*
 * Match the files that are there with those that the manifest and the table
 * of contents name.  True if these are all names that there should be.
 */
static bool
match_names(VerifyRun *run)
{
	bool		has_manifest = read_manifest(run);
	Toc		   *toc;

	/* it comes first, as it knows more of a file, its checksum for one */
	if (run->manifest)
		verify_list_mark_manifest(run->list, run->manifest, &run->found);
	toc = read_toc(run);
	if (toc)
		check_database(run, toc);
	/* stock pg_dump's archives have none */
	if (!has_manifest && toc && toc_has_mark(toc))
		verify_finding(&run->found, MANIFEST_NAME, "is missing");
	return toc && verify_list_mark_toc(run->list, toc, &run->found);
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
 * Every file that should be there is read; a file that neither knows is a
 * finding, and so is what one of the two knows and the other does not, if
 * names_known: the table of contents and its lists could be read.
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
			verify_finding_file(&run->found, &listed->file,
								"is not in the manifest");
		else if (names_known && !is_toc && !listed->in_toc)
			verify_finding_file(&run->found, &listed->file,
								"is not named by " TOC_NAME);
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

	verify_file(run->directory, run->jobs[job],
				run->manifest ? run->manifest->checksum_type : CHECKSUM_TYPE_NONE,
				&run->counts[run->worker]);
	run->counts[run->worker].files++;
	return true;
}

static void
verify_stop_worker(void *arg)
{
}

static char *
verify_describe_job(void *arg, int job, int step)
{
	VerifyRun  *run = arg;

	return psprintf("file \"%s\"", printable(run->jobs[job]->name));
}

static void
run_workers(VerifyRun *run)
{
	int			n_workers = run->n_workers;
	PoolWatch	watch = progress_watch();
	WorkerTask	task = {
		.arg = run,
		.doing = "verifying",
		.start = verify_start_worker,
		.run = verify_run_job,
		.stop = verify_stop_worker,
		.describe = verify_describe_job,
		.reset = worker_pool_no_reset,
	};

	run->counts = shared_memory_new(n_workers, sizeof(VerifyCounts));
	verify_report_progress(run);
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

	run->directory = options->verify;
	run->n_workers = options->jobs;
	initPQExpBuffer(&run->findings);
	interrupt_install_leader();
	progress_begin(options->progress, options->no_progress);
	run_event_begin(options);
	page = report_begin(options->report, run->directory);

	run->list = verify_list_new(run->directory);
	refuse_other_directory(run);
	names_known = match_names(run);
	choose_files(run, names_known);
	verify_report_run(run);
	run_workers(run);
	/* findings are a result: all has been done, and nothing to be undone */
	cleanup_forget_all();

	verify_report_sum(run);
	verify_write_page(run, page);
	return run->found.findings > 0 ? 1 : 0;
}
