/*
 * metrics.h
 *		--metrics: a file with numbers about the last run, for monitoring.
 *
 * The file has the text format of Prometheus, version 0.0.4, which the
 * "textfile" collector of node_exporter reads.  It is replaced as a whole at
 * the end of every run, successful or not, except after SIGKILL.  So alerts
 * should depend on the time of the last success.
 *
 * All programs report whether and when a run has succeeded, and how long it
 * took.  Each program adds figures of its own.
 */
#ifndef METRICS_H
#define METRICS_H

#include "process/run_figures.h"
#include "status/run.h"

/*
 * A label.  Labels distinguish runs of several kinds, and are the same
 * whether a run succeeds or fails.
 */
typedef struct MetricsLabel
{
	const char *name;
	const char *value;			/* may contain any bytes */
} MetricsLabel;

/*
 * Appends the figures of the run, also of one that has failed, with
 * metrics_number().  It may be called at any moment, so figures that do not
 * exist yet are 0.
 */
typedef void (*MetricsFigures) (PQExpBuffer buf, const void *arg);

/*
 * With --metrics: read the file of the previous run, and write the file at
 * exit if this run fails.  Call this before anything else is registered with
 * the exit stack, so that everything has been undone by then.  labels ends
 * with an element without a name.  arg may be filled in later, and must exist
 * as long as the process.  If the file cannot be written there is a warning,
 * and the run continues without metrics, because a report must not prevent a
 * dump.
 */
extern void metrics_begin(const Options *options, const MetricsLabel *labels,
						  MetricsFigures figures, const void *arg);

/*
 * Append a figure: its name, without the common prefix "pg_pardump_", its
 * description and its value.
 */
extern void metrics_number(PQExpBuffer buf, const char *name, const char *help,
						   uint64 value);

/*
 * A parameter of the connection as the user gave it, or otherwise libpq's
 * default.  It is the same whether the server can be reached or not.  given
 * is the value of a separate option, or NULL.  Owned.
 */
extern char *metrics_connection(const Options *options, const char *keyword,
								const char *given);

/*
 * Write the file at the end of a run, after cleanup_forget_all().  If that
 * fails there is only a warning, because the run itself is complete.
 */
extern void metrics_end(bool success);

/* ----------
 * The figures of a dump, a copy or a restore.
 * ----------
 */

/*
 * metrics_begin() for such a run.  The run may be filled in later, and must
 * exist as long as the process.
 */
extern void run_metrics_begin(const Options *options, const Run *run);

/*
 * Append the figures of a run, for a MetricsFigures callback that reports
 * several runs.  Their names begin with this prefix.
 */
extern void run_metrics_append(PQExpBuffer buf, const char *prefix,
							   const Options *options,
							   const RunFigures *figures);

/* The value of the label "command" for a run with these options. */
extern const char *run_metrics_command(const Options *options);

#endif							/* METRICS_H */
