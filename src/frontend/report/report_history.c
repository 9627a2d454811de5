/*
 * report_history.c
 *		Reads and writes the records in the directory of --report-history, and
 *		shows the last ones.
 *
 * The name of a record contains the command, the database and the time.  So
 * only the records that the page shows have to be read, and the names sort by
 * time.
 *
 * The directory stays open from before the run to its end, and files are
 * accessed only through the open directory.  No other user may write to it,
 * but the user may have put any file there.  So a record must be a regular
 * file of limited size, and the page contains only its numbers and times.
 */
#include "base/fe_compat.h"

#include <time.h>

#include "base/buffer.h"
#include "base/json_fields.h"
#include "report/report_history.h"
#include "stream/regular_file.h"
#include "stream/sink.h"

#define RECORD_VERSION 1

/* A record has less than 1,000 bytes, so a larger file is not a record. */
#define MAX_RECORD_BYTES 4096

/*
 * The number of records that are kept for a command and a database, and of
 * runs on a page, including its own run.
 */
#define MAX_RECORDS 100
#define MAX_RUNS 30

/* The end of a name: a time, where each 0 stands for a digit. */
#define TIME_PATTERN "00000000T000000.000000Z.json"

struct ReportHistory
{
	const char *path;
	DIR		   *dir;
};

/*
 * A record.  The texts are for other programs; the page does not contain
 * them.
 */
typedef struct Record
{
	const char *tool;
	const char *command;
	const char *database;
	ReportRun	run;
} Record;

#define NUMBER(name, member) \
	{name, JSON_UINT64, offsetof(Record, run.member)}

static const JsonField record_fields[] = {
	{"pg_pardump_run", JSON_VERSION, 0, JSON_REQUIRED,.max = RECORD_VERSION},
	{"version", JSON_TEXT, offsetof(Record, tool)},
	{"command", JSON_TEXT, offsetof(Record, command)},
	{"database", JSON_TEXT, offsetof(Record, database)},
	{"start_time", JSON_TIME, offsetof(Record, run.start_us), JSON_REQUIRED},
	{"end_time", JSON_TIME, offsetof(Record, run.end_us), JSON_REQUIRED},
	NUMBER("data_microseconds", work_us),
	NUMBER("files", files),
	NUMBER("reused_files", reused_files),
	NUMBER("rows", rows),
	NUMBER("raw_bytes", raw_bytes),
	NUMBER("reused_raw_bytes", reused_bytes),
	NUMBER("stored_bytes", stored_bytes),
	{NULL}
};

/* ----------
 * The directory and the names of records.
 * ----------
 */

ReportHistory *
report_history_open(const char *path, bool creates)
{
	ReportHistory *history;
	struct stat st;
	int			fd;

	if (path == NULL)
		return NULL;
	if (creates && mkdir(path, 0700) < 0 && errno != EEXIST)
		pg_fatal("could not create directory \"%s\": %m", path);
	history = pg_malloc0(sizeof(ReportHistory));
	history->path = path;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 ||
		(history->dir = fdopendir(fd)) == NULL)
		pg_fatal("could not open directory \"%s\": %m", path);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
	{
		pg_log_error("directory \"%s\" of option %s is not private", path,
					 "--report-history");
		pg_fatal_detail("It must belong to the user who runs the program, and other users must not be able to write to it.");
	}
	return history;
}

/*
 * Returns the start of the names of these records, such as
 * "dump-odd=20name-"; the caller owns it.  It cannot be the start of another
 * database's names, because a time has a fixed length and no hyphen.
 */
static char *
name_prefix(const char *command, const char *database)
{
	PQExpBufferData buf = buffer_new();

	appendPQExpBuffer(&buf, "%s-", command);
	for (const char *c = database; c && *c; c++)
	{
		if (!IS_HIGHBIT_SET(*c) && (isalnum((unsigned char) *c) ||
									*c == '_' || *c == '.' || *c == '-'))
			appendPQExpBufferChar(&buf, *c);
		else
			appendPQExpBuffer(&buf, "=%02X", (unsigned char) *c);
	}
	if (database)
		appendPQExpBufferChar(&buf, '-');
	return buffer_text(&buf);
}

/* Is this the name of a record with this prefix? */
static bool
is_record_name(const char *name, const char *prefix)
{
	size_t		len = strlen(prefix);
	const char *pattern = TIME_PATTERN;

	if (strncmp(name, prefix, len) != 0)
		return false;
	for (name += len; *name && *pattern; name++, pattern++)
		if (*pattern == '0' ? !isdigit((unsigned char) *name) :
			*name != *pattern)
			return false;
	return *name == *pattern;
}

static int
compare_newest_first(const void *a, const void *b)
{
	return strcmp(*(const char *const *) b, *(const char *const *) a);
}

/*
 * Find the names of records with this prefix, newest first; the caller owns
 * them.  Returns their number.
 */
static int
record_names(const ReportHistory *history, const char *prefix, char ***names)
{
	struct dirent *entry;
	int			n = 0;

	*names = NULL;
	rewinddir(history->dir);
	while ((entry = readdir(history->dir)) != NULL)
	{
		if (!is_record_name(entry->d_name, prefix))
			continue;
		*array_add(*names, n) = pg_strdup(entry->d_name);
	}
	if (n > 0)
		qsort(*names, n, sizeof(char *), compare_newest_first);
	return n;
}

/* ----------
 * Reading records.
 * ----------
 */

/* Parse a record.  Returns NULL, or a description of what is wrong. */
static const char *
parse_record(const char *text, size_t len, ReportRun *run)
{
	Record		record = {0};
	JsonReader	reader;

	json_read_document(&reader, text, len, record_fields, &record);
	json_free_members(record_fields, &record);
	*run = record.run;
	if (reader.error)
		return reader.error;
	if (run->start_us <= 0 || run->end_us < run->start_us ||
		run->reused_bytes > run->raw_bytes || run->reused_files > run->files)
		return "its values are impossible";
	return NULL;
}

/*
 * Read and parse a record from a file, which may be any file.  Returns NULL,
 * or the problem.  *cause is a clause about the problem, or NULL.
 */
static const char *
read_record(const ReportHistory *history, const char *name, ReportRun *run,
			const char **cause)
{
	char		text[MAX_RECORD_BYTES + 1];
	const char *problem;
	int			fd = regular_file_open(dirfd(history->dir), name, &problem);
	ssize_t		len;

	*cause = NULL;
	if (fd < 0)
		return problem;
	len = read(fd, text, sizeof(text));
	if (len < 0)
		problem = psprintf("could not read file \"%s\": %m", printable(name));
	else
	{
		*cause = len > MAX_RECORD_BYTES ? "it is too long" :
			parse_record(text, len, run);
		problem = *cause == NULL ? NULL :
			psprintf("file \"%s\" is not a record of a run", printable(name));
	}
	close(fd);
	return problem;
}

static int
compare_runs(const void *a, const void *b)
{
	int64		start1 = ((const ReportRun *) a)->start_us;
	int64		start2 = ((const ReportRun *) b)->start_us;

	return start1 > start2 ? -1 : start1 < start2;
}

/*
 * Find the newest runs, including "own", newest first.  Returns their number.
 */
static int
list_runs(const ReportHistory *history, const char *prefix,
		  const ReportRun *own, ReportRun runs[MAX_RUNS])
{
	char	  **names;
	int			n_names = record_names(history, prefix, &names);
	int			n = 0;
	int			n_bad = 0;
	const char *first_bad = NULL;
	const char *first_cause = NULL;

	runs[n++] = *own;
	for (int i = 0; i < Min(n_names, MAX_RECORDS) && n < MAX_RUNS; i++)
	{
		const char *cause;
		const char *problem = read_record(history, names[i], &runs[n], &cause);

		if (problem && n_bad++ == 0)
		{
			first_bad = message_sentence(problem);
			first_cause = cause ? message_sentence(cause) : NULL;
		}

		/*
		 * A page of --verify skips the record of its own run, which "own"
		 * contains.
		 */
		else if (problem == NULL && runs[n].start_us != own->start_us)
			n++;
	}
	qsort(runs, n, sizeof(ReportRun), compare_runs);
	if (n_bad > 0)
	{
		pg_log_warning(ngettext("skipped %d file in directory \"%s\" of option %s",
								"skipped %d files in directory \"%s\" of option %s",
								n_bad),
					   n_bad, history->path, "--report-history");
		pg_log_warning_detail("%s", first_bad);
		if (first_cause)
			pg_log_warning_detail("%s", first_cause);
	}
	return n;
}

/* ----------
 * Writing records.
 * ----------
 */

/* Returns the file name of a record; the caller owns it. */
static char *
record_name(const char *prefix, int64 time_us)
{
	time_t		seconds = (time_t) (time_us / 1000000);
	struct tm	tm;
	char		text[64];

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	return psprintf("%s%s.%06dZ.json", prefix, text,
					(int) (time_us % 1000000));
}

static void
write_record(const ReportHistory *history, const char *name,
			 const PQExpBufferData *text)
{
	int			dir = dirfd(history->dir);
	int			fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL |
							O_NOFOLLOW | O_CLOEXEC, 0600);
	bool		written = fd >= 0 &&
		write_at(fd, text->data, text->len, 0) && fsync(fd) == 0;

	if (!written)
		pg_log_warning("could not write file \"%s/%s\": %m", history->path, name);
	if (fd < 0)
		return;
	close(fd);
	if (!written)
		(void) unlinkat(dir, name, 0);
}

static void
remove_oldest(const ReportHistory *history, const char *prefix)
{
	char	  **names;
	int			n = record_names(history, prefix, &names);
	bool		warned = false;

	for (int i = MAX_RECORDS; i < n; i++)
	{
		if (unlinkat(dirfd(history->dir), names[i], 0) == 0 || warned)
			continue;
		pg_log_warning("could not remove file \"%s/%s\": %m", history->path,
					   names[i]);
		warned = true;
	}
}

static void
add_record(const ReportHistory *history, const char *command,
		   const char *database, const ReportRun *run)
{
	Record		record = {
		.tool = PARDUMP_VERSION,
		.command = command,
		.database = database,
		.run = *run,
	};
	JsonWriter	writer = {.buf = buffer_new()};
	char	   *prefix = name_prefix(command, database);

	json_append_object(&writer, record_fields, &record);
	appendPQExpBufferChar(&writer.buf, '\n');
	(void) buffer_text(&writer.buf);
	write_record(history, record_name(prefix, run->start_us), &writer.buf);
	remove_oldest(history, prefix);
}

/* ----------
 * The last runs on a page.
 * ----------
 */
static ReportRow
row_of_run(const ReportRun *run)
{
	return (ReportRow)
	{
		.name = report_table_time(run->start_us),
			.end = (run->end_us - run->start_us) / 1e6,
			.files = run->files,
			.reused = run->reused_files,
			.rows = run->rows,
			.raw_bytes = run->raw_bytes,
			.stored_bytes = run->stored_bytes,
			.reused_bytes = run->reused_bytes,
			.rate = run->work_us == 0 ? 0 :
			(run->raw_bytes - run->reused_bytes) / (run->work_us / 1e6),
	};
}

void
report_history_append(const ReportHistory *history, const char *command,
					  const char *database, const ReportRun *own, bool is_new,
					  PQExpBuffer page, PQExpBuffer json)
{
	ReportRun	runs[MAX_RUNS];
	ReportRow	rows[MAX_RUNS];
	int			n = list_runs(history, name_prefix(command, database), own, runs);

	if (is_new)
		add_record(history, command, database, own);
	for (int i = 0; i < n; i++)
	{
		rows[i] = row_of_run(&runs[i]);
		if (runs[i].start_us == own->start_us)
			appendPQExpBuffer(json, ",\n\"thisRun\":%d", i);
	}
	report_table_append(page, json, "runs", "Last runs", rows, n, n);
}
