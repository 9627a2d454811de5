/*
 * metrics.c
 *		Writes numbers about a run to a file, in the text format of
 *		Prometheus.
 *
 * node_exporter reads all files of a directory at any time, so the file must
 * always be complete.  It must contain the time of the last success even
 * after a run that fails, because alerts depend on the age of that success.
 * If the file cannot be written there is only a warning, because the run is
 * worth more than its numbers.
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
 * The file's mode.  node_exporter, which reads it, runs as another user.  The
 * file only contains numbers, the name of the database, and the user's
 * labels.
 */
#define METRICS_MODE 0644

/* At most this much of an earlier file is read. */
#define MAX_BYTES (1024 * 1024)

/* The prefix of all names. */
#define PREFIX "pg_pardump_"

#define FIRST_WORDS "# HELP " PREFIX

#define LAST_SUCCESS "last_success_timestamp_seconds"

/* The state of the process, which has one run and one file. */
typedef struct Metrics
{
	const char *path;			/* NULL without --metrics */
	MetricsFigures figures;
	const void *arg;
	char	   *labels;			/* "{...}" */
	char	   *last_success;	/* from the earlier file, or NULL */
} Metrics;

static Metrics state;

/* ----------
 * Labels
 * ----------
 */

/*
 * The value of an option, owned, or NULL; frees the options.  These are NULL
 * if a connection string is invalid, which opening the connection will
 * report.
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

	/* Like libpq: a connection string overrides other options. */
	if (is_string)
		result = take_value(PQconninfoParse(dbname, NULL), keyword);
	if (result == NULL && given && !(is_string && given == dbname))
		result = pg_strdup(given);
	if (result == NULL)
		result = take_value(PQconndefaults(), keyword);
	return result ? result : pg_strdup("");
}

/* Append a label.  Values are UTF-8, and three characters must be escaped. */
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

/* The run's labels, followed by the user's; owned. */
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
 * Read an earlier file.  Returns its text (owned), which is empty if there is
 * no file; NULL if it cannot be read, after a warning.  Other users may be
 * able to write to the directory, so a FIFO, or a symbolic link to a device,
 * must not make the run wait.
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
		pg_log_warning("could not use the file of option %s", "--metrics");
		pg_log_warning_detail("%s", message_sentence(problem));
		return NULL;
	}
	if (fstat(fd, &st) == 0 && st.st_size > MAX_BYTES)
		pg_log_warning("file \"%s\" of option %s is too large", path,
					   "--metrics");
	else if ((text = regular_file_read_text(fd, &len)) == NULL)
		pg_log_warning("could not read file \"%s\" of option %s: %m", path,
					   "--metrics");
	close(fd);
	return text;
}

/*
 * Read the earlier file.  Returns false, after a warning, if it must not be
 * replaced: a file of ours begins with a known comment, and the name of any
 * other file is probably a mistake.
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
	 * The labels must match, too: a file of another database, or of another
	 * command, has another time of success.
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

/* Append the lines of help and of the type, which come before the value. */
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

/*
 * Append a time with milliseconds.  %g would keep too few digits of a date.
 */
static void
append_seconds(PQExpBuffer buf, const char *name, const char *help,
			   double value)
{
	append_head(buf, name, help);
	appendPQExpBuffer(buf, "%.3f\n", value);
}

/*
 * Append all figures.  If this run has failed, the time of the last success
 * comes from the earlier file.
 */
static void
append_all(PQExpBuffer buf, bool success)
{
	double		now = clock_wall_us() / 1e6;

	metrics_number(buf, "success", "Whether the last run has succeeded.",
				   success ? 1 : 0);
	append_seconds(buf, "last_run_timestamp_seconds",
				   "When the last run ended.", now);
	if (success)
		append_seconds(buf, LAST_SUCCESS, "When the last run that succeeded ended.",
					   now);
	else if (state.last_success)
	{
		append_head(buf, LAST_SUCCESS, "When the last run that succeeded ended.");
		appendPQExpBuffer(buf, "%s\n", state.last_success);
	}
	append_seconds(buf, "duration_seconds", "How long the last run took.",
				   run_clock_seconds());
	state.figures(buf, state.arg);
}

/* The name of the temporary file, next to the final one; owned. */
static char *
temporary_name(void)
{
	return psprintf("%s.%d.tmp", state.path, (int) getpid());
}

/*
 * Create and open an empty temporary file; -1 and errno on failure.  O_EXCL
 * does not follow a link that another user may have put there.
 */
static int
open_temporary(const char *name)
{
	(void) unlink(name);		/* a process with the same ID left it */
	return open(name, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY, METRICS_MODE);
}

/*
 * Replace the file with a new one, so that a reader sees either file
 * completely.
 */
static bool
replace_file(const char *name, const PQExpBufferData *text)
{
	int			fd = open_temporary(name);
	bool		written;

	if (fd < 0)
		return false;
	/* The umask must not change the mode. */
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

/* An exit callback, for a run that fails. */
static void
metrics_note_failure(void *arg)
{
	metrics_end(false);
}

/*
 * Check now whether the file can be written at the end, and warn if it
 * cannot.
 */
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
 * The figures of a dump, a copy or a restore.
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
 * A MetricsFigures callback.  A run that fails before it has a plan has no
 * results, and all its figures are 0.
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
	/*
	 * With --all-databases the connection options may name another database.
	 */
	char	   *database = message_database() ? pg_strdup(message_database()) :
		metrics_connection(options, "dbname", options->connection.dbname);
	const MetricsLabel labels[] = {
		{"command", run_metrics_command(options)}, {"database", database}, {NULL}
	};

	metrics_begin(options, labels, metrics_append_run, run);
}
