/*
 * report.c
 *		The file of --report.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_utils.h"
#include "pqexpbuffer.h"

#include "archive/archive_dir.h"
#include "base/cleanup.h"
#include "report/report.h"
#include "report/report_page.h"

struct Report
{
	char	   *path;
	char	   *temp_path;
	FILE	   *stream;
};

/* Exit callback. */
static void
remove_temp_file(void *arg)
{
	unlink(((Report *) arg)->temp_path);
}

static void
check_place(const char *path, const char *directory)
{
	struct stat st;

	/* what a rename would replace must be a page like this */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		pg_fatal("\"%s\" exists and is not a regular file", path);
	archive_dir_keep_out(directory, "report", path);
}

Report *
report_begin(const char *path, const char *directory)
{
	Report	   *report;
	int			fd;

	if (path == NULL)
		return NULL;
	check_place(path, directory);
	report = pg_malloc0(sizeof(Report));
	report->path = pg_strdup(path);
	report->temp_path = psprintf("%s.XXXXXX", path);
	fd = mkstemp(report->temp_path);
	if (fd < 0)
		pg_fatal("could not create file \"%s\": %m", path);
	cleanup_push(remove_temp_file, report);
	(void) fcntl(fd, F_SETFD, FD_CLOEXEC);
	report->stream = fdopen(fd, "w");
	if (report->stream == NULL)
		pg_fatal("could not open file \"%s\": %m", report->temp_path);
	return report;
}

/* What the report was to tell of is done all the same. */
static void
write_failed(const Report *report, const ReportCopy *copy, bool dumped)
{
	pg_log_error("could not write the report \"%s\": %m", report->path);
	if (copy)
		pg_log_error_detail(copy->is_backup ? "The backup is complete." :
							"The copy is complete.");
	else if (dumped)
	{
		pg_log_error_detail("The archive is complete.");
		pg_log_error_hint("--verify with --report makes a report of it, too.");
	}
	exit(1);
}

void
report_end(Report *report, const Manifest *manifest,
		   const ReportVerify *verify, const ReportCopy *copy)
{
	PQExpBufferData page;

	if (report == NULL)
		return;
	/* again, as all else is complete and nothing of it to be undone */
	cleanup_push(remove_temp_file, report);
	initPQExpBuffer(&page);
	report_page_append(&page, manifest, verify, copy);
	if (PQExpBufferBroken(&page))
		pg_fatal("out of memory");
	if (fwrite(page.data, 1, page.len, report->stream) != page.len ||
		fflush(report->stream) != 0 ||
		fsync(fileno(report->stream)) != 0 ||
		fclose(report->stream) != 0 ||
		rename(report->temp_path, report->path) != 0)
		write_failed(report, copy, verify == NULL);
	(void) fsync_parent_path(report->path);
	cleanup_forget_all();
	termPQExpBuffer(&page);
	free(report->temp_path);
	free(report->path);
	free(report);
}
