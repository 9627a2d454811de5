/*
 * metrics.c
 *		Writes numbers about a run in the text format of Prometheus.
 *
 * node_exporter reads all files of a directory whenever it is asked, so the
 * file must be whole at any time, and have the time of the last success even
 * after a run that fails: alerts are made of its age.  A file that cannot be
 * written is a warning only, as the run is worth more than its numbers.
 */
#include "base/fe_compat.h"

#include "mb/pg_wchar.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "status/metrics.h"
#include "status/summary.h"
#include "stream/regular_file.h"

/*
 * Others read it: node_exporter runs as a user of its own.  There is nothing
 * in it but numbers and the database's name.
 */
#define METRICS_MODE 0644

/* Of an earlier file no more is read. */
#define MAX_BYTES (1024 * 1024)

/* What all names begin with. */
#define PREFIX "pg_pardump_"

#define FIRST_WORDS "# HELP " PREFIX

#define LAST_SUCCESS "last_success_timestamp_seconds"

/* There is one run, and one file. */
typedef struct Metrics
{
	const char *path;			/* NULL = none is asked for */
	MetricsFigures figures;
	const void *arg;
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
 * Its value, owned, or NULL; the options are freed.  They are NULL if a
 * connection string has an error, which the connection will report.
 */
static char *
take_value(PQconninfoOption *all, const char *keyword)
{
	const char *value = all ? conninfo_value(all, keyword) : NULL;
	char	   *result = value ? pg_strdup(value) : NULL;

	PQconninfoFree(all);
	return result;
}

char *
metrics_connection(const Options *options, const char *keyword,
				   const char *given)
{
	const char *dbname = options->connection.dbname;
	bool		is_string = identifier_is_conninfo(dbname);
	char	   *result = NULL;

	/* as libpq: what is in a connection string comes before options */
	if (is_string)
		result = take_value(PQconninfoParse(dbname, NULL), keyword);
	if (result == NULL && given && !(is_string && given == dbname))
		result = pg_strdup(given);
	if (result == NULL)
		result = take_value(PQconndefaults(), keyword);
	return result ? result : pg_strdup("");
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

/* Those of the run, then the user's; owned. */
static char *
make_labels(const MetricsLabel *labels, const SimpleStringList *more)
{
	PQExpBufferData buf = buffer_new();

	for (const MetricsLabel *label = labels; label->name; label++)
	{
		appendPQExpBufferChar(&buf, label == labels ? '{' : ',');
		append_label(&buf, label->name, label->value);
	}
	for (const SimpleStringListCell *cell = more->head; cell; cell = cell->next)
	{
		const char *equals = strchr(cell->val, '=');

		appendPQExpBufferChar(&buf, ',');
		append_label(&buf, pnstrdup(cell->val, equals - cell->val), equals + 1);
	}
	appendPQExpBufferChar(&buf, '}');
	return buf.data;
}

/* ----------
 * The earlier file
 * ----------
 */

/*
 * Its text, owned, and empty if there is no file; NULL if it cannot be read,
 * after a warning.  Other users may write to the directory: neither a FIFO
 * nor a symbolic link to a device may keep the run waiting.
 */
static char *
metrics_read_file(const char *path)
{
	const char *problem;
	int			fd = regular_file_open(AT_FDCWD, path, &problem);
	char	   *text = NULL;
	struct stat st;
	size_t		len;

	if (fd < 0 && errno == ENOENT)
		return pg_strdup("");
	if (fd < 0)
	{
		pg_log_warning("file \"%s\" of option %s %s", path, "--metrics", problem);
		return NULL;
	}
	if (fstat(fd, &st) == 0 && st.st_size > MAX_BYTES)
		pg_log_warning("file \"%s\" of option %s does not contain metrics", path,
					   "--metrics");
	else if ((text = regular_file_read_text(fd, &len)) == NULL)
		pg_log_warning("could not read file \"%s\" of option %s: %m", path,
					   "--metrics");
	close(fd);
	return text;
}

/*
 * False if the file must not be replaced, after a warning.  A file of ours
 * begins with a comment.  The name of another file may be a slip.
 */
static bool
read_earlier(void)
{
	char	   *text = metrics_read_file(state.path);
	char	   *line;
	char	   *found;

	if (text == NULL)
		return false;
	if (text[0] && strncmp(text, FIRST_WORDS, strlen(FIRST_WORDS)) != 0)
	{
		pg_log_warning("file \"%s\" of option %s does not contain metrics",
					   state.path, "--metrics");
		return false;
	}

	/*
	 * With the labels: a file of another database, or of another command,
	 * says nothing about this one.
	 */
	line = psprintf("\n" PREFIX LAST_SUCCESS "%s ", state.labels);
	found = strstr(text, line);
	if (found)
	{
		found += strlen(line);
		state.last_success = pnstrdup(found, strspn(found, "0123456789."));
	}
	return true;
}

/* ----------
 * The file
 * ----------
 */

/* A name has one line of help and one of its type, before its value. */
static void
append_head(PQExpBuffer buf, const char *name, const char *help)
{
	appendPQExpBuffer(buf, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s gauge\n",
					  name, help, name);
	appendPQExpBuffer(buf, PREFIX "%s%s ", name, state.labels);
}

void
metrics_number(PQExpBuffer buf, const char *name, const char *help,
			   uint64 value)
{
	append_head(buf, name, help);
	appendPQExpBuffer(buf, UINT64_FORMAT "\n", value);
}

/* With milliseconds: as a double, %g would leave few digits of a date. */
static void
append_seconds(PQExpBuffer buf, const char *name, const char *help,
			   double value)
{
	append_head(buf, name, help);
	appendPQExpBuffer(buf, "%.3f\n", value);
}

/*
 * The time of the last success is carried over from the earlier file if this
 * run fails.
 */
static void
append_all(PQExpBuffer buf, bool success)
{
	double		now = clock_wall_us() / 1e6;

	metrics_number(buf, "success", "Whether the last run has succeeded.",
				   success ? 1 : 0);
	append_seconds(buf, "last_run_timestamp_seconds",
				   "When the last run has ended.", now);
	if (success)
		append_seconds(buf, LAST_SUCCESS, "When the last run that succeeded has ended.",
					   now);
	else if (state.last_success)
	{
		append_head(buf, LAST_SUCCESS, "When the last run that succeeded has ended.");
		appendPQExpBuffer(buf, "%s\n", state.last_success);
	}
	append_seconds(buf, "duration_seconds", "How long the last run took.",
				   run_clock_seconds());
	state.figures(buf, state.arg);
}

/* Owned. */
static char *
temporary_name(void)
{
	return psprintf("%s.%d.tmp", state.path, (int) getpid());
}

/*
 * An empty file beside it, open; -1 and errno if there can be none.  O_EXCL
 * follows no link that another user may have put there.
 */
static int
open_temporary(const char *name)
{
	(void) unlink(name);		/* of a process that had the same number */
	return open(name, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY, METRICS_MODE);
}

/* A reader sees the earlier file or this one, never a part. */
static bool
replace_file(const char *name, const PQExpBufferData *text)
{
	int			fd = open_temporary(name);
	bool		written;

	if (fd < 0)
		return false;
	/* under any umask */
	written = fchmod(fd, METRICS_MODE) == 0 &&
		write_at(fd, text->data, text->len, 0) && fsync(fd) == 0;
	if (close(fd) < 0)
		written = false;
	return written && rename(name, state.path) == 0;
}

void
metrics_end(bool success)
{
	PQExpBufferData text = buffer_new();
	char	   *name;

	if (state.path == NULL)
		return;
	append_all(&text, success);
	name = temporary_name();
	if (PQExpBufferDataBroken(text) || !replace_file(name, &text))
	{
		pg_log_warning("could not write file \"%s\": %m", state.path);
		(void) unlink(name);
	}
}

/* An exit callback of a run that failed. */
static void
metrics_note_failure(void *arg)
{
	metrics_end(false);
}

/* Can the file be written at the end?  If not, a warning says so now. */
static bool
try_directory(void)
{
	char	   *name = temporary_name();
	int			fd = open_temporary(name);

	if (fd < 0)
		pg_log_warning("could not create file \"%s\": %m", name);
	else
	{
		close(fd);
		(void) unlink(name);
	}
	return fd >= 0;
}

void
metrics_begin(const Options *options, const MetricsLabel *labels,
			  MetricsFigures figures, const void *arg)
{
	if (options->metrics == NULL)
		return;
	state.path = options->metrics;
	state.figures = figures;
	state.arg = arg;
	state.labels = make_labels(labels, &options->metrics_labels);
	if (!read_earlier() || !try_directory())
	{
		pg_log_warning_detail("The run continues without metrics.");
		state.path = NULL;
		return;
	}
	cleanup_push(metrics_note_failure, NULL);
}

/* ----------
 * Writes what --metrics reports of a dump, a copy or a restore.
 * ----------
 */

void
run_metrics_append(PQExpBuffer buf, const char *prefix,
				   const Options *options, const RunFigures *figures)
{
	const struct
	{
		const char *name;		/* NULL: the run has no such figure */
		const char *help;
		uint64		value;
	}			all[] = {
		{"tables", "Tables of the last run.", figures->tables},
		{"rows", "Rows that the last run has read.", figures->rows},
		{"raw_bytes",
			"Bytes of rows and large objects of the last run, uncompressed.",
		figures->raw_bytes},
		{"stored_bytes",
			"The same as they are stored; of a copy or a restore, as wire_bytes.",
		figures->stored_bytes},
		{options->target || options->restore ? "wire_bytes" : NULL,
		"The same as they were sent to the target.", figures->stored_bytes},
		{"retries", "Jobs that the last run has retried.", figures->retries},
		{"reused_files", "Files that the last run has used again.",
		figures->reused_files},
		{"reused_bytes", "Bytes of these files.", figures->reused_bytes},
	};

	for (int i = 0; i < (int) lengthof(all); i++)
		if (all[i].name)
			metrics_number(buf, psprintf("%s%s", prefix, all[i].name),
						   all[i].help, all[i].value);
}

/*
 * A MetricsFigures.  A run that fails before there is a plan has no results,
 * and all its figures are 0.
 */
static void
metrics_append_run(PQExpBuffer buf, const void *arg)
{
	const Run  *run = arg;
	RunFigures	figures = {0};

	if (run->results)
		figures = summary_figures(run);
	run_metrics_append(buf, "", run->options, &figures);
}

const char *
run_metrics_command(const Options *options)
{
	return options->restore ? "restore" : options->target ? "copy" : "dump";
}

void
run_metrics_begin(const Options *options, const Run *run)
{
	/* one of several may be made from a session in another one */
	char	   *database = message_database() ? pg_strdup(message_database()) :
		metrics_connection(options, "dbname", options->connection.dbname);
	const MetricsLabel labels[] = {
		{"command", run_metrics_command(options)}, {"database", database}, {NULL}
	};

	metrics_begin(options, labels, metrics_append_run, run);
}
