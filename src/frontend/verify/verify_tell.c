/*
 * verify_tell.c
 *		What a verification tells: progress, events, the sum, the report.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/event_log.h"
#include "base/message.h"
#include "base/units.h"
#include "progress/progress.h"
#include "verify/verify_tell.h"

void
verify_tell_run(const VerifyRun *run)
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
compose(void *arg, ProgressLine *line, bool at_end)
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

void
verify_tell_progress(VerifyRun *run)
{
	for (int i = 0; i < run->n_jobs; i++)
		run->expected_bytes += run->jobs[i]->size;
	run->start = run_clock_seconds();
	progress_stage(compose, run);
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

void
verify_tell_sum(const VerifyRun *run)
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

void
verify_tell_report(const VerifyRun *run, Report *page)
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
