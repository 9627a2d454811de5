/*
 * metrics.c
 *		Writes numbers about a run in the text format of Prometheus.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libpq-fe.h"
#include "mb/pg_wchar.h"
#include "pqexpbuffer.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/run_clock.h"
#include "status/metrics.h"
#include "status/summary.h"

/*
 * Others read it: node_exporter runs as a user of its own.  There is nothing
 * in it but numbers and the database's name.
 */
#define METRICS_MODE 0644

/* Of an earlier file no more is read. */
#define MAX_BYTES (1024 * 1024)

#define LAST_SUCCESS "pg_pardump_last_success_timestamp_seconds"

/* There is one run, and one file. */
typedef struct Metrics
{
	const char *path;			/* NULL = none is asked for */
	const Run  *run;
	char	   *labels;			/* "{...}" */
	char	   *last_success;	/* its value in the earlier file; NULL = there
								 * was none */
} Metrics;

static Metrics state;

/* ----------
 * Labels
 * ----------
 */

/*
 * The name that the user gave, or that libpq would take: it must be the same
 * whether the server can be reached or not.  Owned.
 */
static char *
database_name(const Options *options)
{
	const char *given = options->connection.dbname;
	PQconninfoOption *all = NULL;
	char	   *result = NULL;

	if (given && (strchr(given, '=') || strstr(given, "://")))
		all = PQconninfoParse(given, NULL);
	else if (given)
		return pg_strdup(given);
	for (int pass = 0; pass < 2 && result == NULL; pass++)
	{
		for (int i = 0; all && all[i].keyword; i++)
			if (strcmp(all[i].keyword, "dbname") == 0 && all[i].val)
				result = pg_strdup(all[i].val);
		PQconninfoFree(all);
		all = pass == 0 ? PQconndefaults() : NULL;
	}
	return result ? result : pg_strdup("");
}

static const char *
command_name(const Options *options)
{
	return options->restore ? "restore" : options->target ? "copy" : "dump";
}

/* Values are UTF-8, in which three characters are escaped. */
static void
append_label(PQExpBuffer buf, const char *name, const char *value)
{
	size_t		len = strlen(value);
	bool		valid = pg_encoding_verifymbstr(PG_UTF8, value, (int) len) == (int) len;

	appendPQExpBuffer(buf, "%s=\"", name);
	for (; *value; value++)
	{
		if (*value == '\\' || *value == '"')
			appendPQExpBuffer(buf, "\\%c", *value);
		else if (*value == '\n')
			appendPQExpBufferStr(buf, "\\n");
		else if (IS_HIGHBIT_SET(*value) && !valid)
			appendPQExpBufferChar(buf, '?');
		else
			appendPQExpBufferChar(buf, *value);
	}
	appendPQExpBufferChar(buf, '"');
}

/* Owned. */
static char *
make_labels(const Options *options)
{
	char	   *database = database_name(options);
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	appendPQExpBufferChar(&buf, '{');
	append_label(&buf, "command", command_name(options));
	appendPQExpBufferChar(&buf, ',');
	append_label(&buf, "database", database);
	appendPQExpBufferChar(&buf, '}');
	free(database);
	return buf.data;
}

/* ----------
 * The earlier file
 * ----------
 */

/* Its text; NULL if there is none.  Owned. */
static char *
read_file(const char *path)
{
	int			fd = open(path, O_RDONLY | O_NONBLOCK | PG_BINARY, 0);
	struct stat st;
	char	   *text;
	ssize_t		len;

	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0)
		pg_fatal("could not open file \"%s\": %m", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		pg_fatal("\"%s\" of option %s is not a regular file", path, "--metrics");
	if (st.st_size > MAX_BYTES)
		pg_fatal("file \"%s\" of option %s is not one of metrics", path,
				 "--metrics");
	text = pg_malloc(st.st_size + 1);
	len = read(fd, text, st.st_size);
	if (len < 0)
		pg_fatal("could not read file \"%s\": %m", path);
	text[len] = '\0';
	close(fd);
	return text;
}

/*
 * A file of ours begins with a comment.  Others are not to be replaced: the
 * name may be a slip.
 */
static void
read_earlier(void)
{
	char	   *text = read_file(state.path);
	char	   *line = psprintf("\n" LAST_SUCCESS "%s ", state.labels);
	char	   *found;

	if (text && text[0] && strncmp(text, "# HELP pg_pardump_", 18) != 0)
		pg_fatal("file \"%s\" of option %s is not one of metrics", state.path,
				 "--metrics");
	found = text ? strstr(text, line) : NULL;
	if (found)
	{
		found += strlen(line);
		state.last_success = pnstrdup(found, strspn(found, "0123456789."));
	}
	free(line);
	free(text);
}

/* ----------
 * The file
 * ----------
 */
static void
append_head(PQExpBuffer buf, const char *name, const char *help)
{
	appendPQExpBuffer(buf, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void
append_number(PQExpBuffer buf, const char *name, const char *help, uint64 value)
{
	append_head(buf, name, help);
	appendPQExpBuffer(buf, "%s%s " UINT64_FORMAT "\n", name, state.labels, value);
}

static void
append_seconds(PQExpBuffer buf, const char *name, const char *help,
			   double value)
{
	append_head(buf, name, help);
	appendPQExpBuffer(buf, "%s%s %.3f\n", name, state.labels, value);
}

/* What the run has done, or had until it failed. */
static void
append_run(PQExpBuffer buf)
{
	const Run  *run = state.run;
	FileTotals	total = {0};
	ReusedFiles reused = {0};

	if (run->results)
	{
		total = file_results_total(run->results);
		reused = summary_count_reused(run);
	}
	append_number(buf, "pg_pardump_tables", "Tables of the last run.",
				  run->results ? run->plan->tables->n_tables : 0);
	append_number(buf, "pg_pardump_rows", "Rows that the last run has read.",
				  total.rows);
	append_number(buf, "pg_pardump_raw_bytes",
				  "Bytes of rows and large objects of the last run, uncompressed.",
				  total.raw_bytes);
	append_number(buf, "pg_pardump_stored_bytes",
				  "The same as they are stored, or as they crossed.",
				  total.stored_bytes);
	append_number(buf, "pg_pardump_retries",
				  "Jobs that the last run has begun anew.", run->n_retries);
	append_number(buf, "pg_pardump_reused_files",
				  "Files that the last run has used again.", reused.files);
	append_number(buf, "pg_pardump_reused_bytes", "Bytes of these files.",
				  reused.stored_bytes);
}

static void
append_all(PQExpBuffer buf, bool success)
{
	double		now = clock_wall_us() / 1e6;

	append_number(buf, "pg_pardump_success", "Whether the last run has succeeded.",
				  success ? 1 : 0);
	append_seconds(buf, "pg_pardump_last_run_timestamp_seconds",
				   "When the last run has ended.", now);
	if (success)
		append_seconds(buf, LAST_SUCCESS, "When the last run that succeeded has ended.",
					   now);
	else if (state.last_success)
	{
		append_head(buf, LAST_SUCCESS, "When the last run that succeeded has ended.");
		appendPQExpBuffer(buf, LAST_SUCCESS "%s %s\n", state.labels,
						  state.last_success);
	}
	append_seconds(buf, "pg_pardump_duration_seconds", "How long the last run took.",
				   run_clock_seconds());
	append_run(buf);
}

/* Owned. */
static char *
temporary_name(void)
{
	return psprintf("%s.%d.tmp", state.path, (int) getpid());
}

/* An empty file beside it, open; -1 and errno if there can be none. */
static int
open_temporary(const char *name)
{
	(void) unlink(name);		/* of a process that had the same number */
	return open(name, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY, METRICS_MODE);
}

static bool
write_all(int fd, const char *data, size_t len)
{
	while (len > 0)
	{
		ssize_t		n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		len -= n;
	}
	return true;
}

/* A reader sees the earlier file or this one, never a part. */
static bool
replace_file(const char *name, const PQExpBufferData *text)
{
	int			fd = open_temporary(name);
	bool		written;

	if (fd < 0)
		return false;
	/* whatever the umask */
	written = fchmod(fd, METRICS_MODE) == 0 &&
		write_all(fd, text->data, text->len) && fsync(fd) == 0;
	if (close(fd) < 0)
		written = false;
	return written && rename(name, state.path) == 0;
}

void
metrics_end(bool success)
{
	PQExpBufferData text;
	char	   *name;

	if (state.path == NULL)
		return;
	initPQExpBuffer(&text);
	append_all(&text, success);
	name = temporary_name();
	if (PQExpBufferDataBroken(text) || !replace_file(name, &text))
	{
		pg_log_warning("could not write file \"%s\": %m", state.path);
		(void) unlink(name);
	}
	free(name);
	termPQExpBuffer(&text);
}

static void
note_failure(void *arg)
{
	metrics_end(false);
}

void
metrics_begin(const Options *options, const Run *run)
{
	char	   *name;
	int			fd;

	if (options->metrics == NULL)
		return;
	state.path = options->metrics;
	state.run = run;
	state.labels = make_labels(options);
	read_earlier();
	name = temporary_name();
	fd = open_temporary(name);
	if (fd < 0)
		pg_fatal("could not create file \"%s\": %m", name);
	close(fd);
	(void) unlink(name);
	free(name);
	cleanup_push(note_failure, NULL);
}
