/*
 * metrics.h
 *		--metrics: a file of numbers about the last run, for monitoring.
 *
 * It is in the text format of Prometheus, version 0.0.4, as the collector
 * "textfile" of node_exporter reads it.  It is replaced as a whole at the end
 * of every run, be that a success or not, but not if the program is killed by
 * SIGKILL: what alerts are made of is the time of the last success.
 *
 * All programs have in common whether and when a run has succeeded and how
 * long it took; what else there is to tell is up to each of them.
 */
#ifndef METRICS_H
#define METRICS_H

#include "process/run_figures.h"
#include "status/run.h"

/* What tells runs of one kind from others, whether they succeed or not. */
typedef struct MetricsLabel
{
	const char *name;
	const char *value;			/* of any bytes */
} MetricsLabel;

/*
 * Append what the run has done, or had until it failed, by metrics_number().
 * It may fail at any moment: what is not there yet is 0.
 */
typedef void (*MetricsFigures) (PQExpBuffer buf, const void *arg);

/*
 * If a file is asked for: note what an earlier run has left there, and write
 * it should this one fail.  To be called before all else that registers with
 * the exit stack, so that all is undone by then.  Labels end with one of no
 * name.  arg, which may be filled in later, must live as long as the process.
 * If the file could not be written, a warning says why, and the run has no
 * metrics: what only reports must not prevent a dump.
 */
extern void metrics_begin(const Options *options, const MetricsLabel *labels,
						  MetricsFigures figures, const void *arg);

/*
 * One figure: its name, without the "pg_pardump_" that all have, what it is,
 * and its value.
 */
extern void metrics_number(PQExpBuffer buf, const char *name, const char *help,
						   uint64 value);

/*
 * A parameter of the connection as the user gave it, or as libpq takes it
 * where he did not: it is the same whether the server can be reached or not.
 * given is what an option of its own says, or NULL.  Owned.
 */
extern char *metrics_connection(const Options *options, const char *keyword,
								const char *given);

/*
 * The run has ended, after cleanup_forget_all().  If the file cannot be
 * written, that is a warning: what has been done is done.
 */
extern void metrics_end(bool success);

/* ----------
 * Writes what --metrics reports of a dump, a copy or a restore.
 * ----------
 */

/*
 * As metrics_begin(), for such a run, which may be filled in later and must
 * live as long as the process.
 */
extern void run_metrics_begin(const Options *options, const Run *run);

/*
 * The same for a MetricsFigures of several runs.  Their names begin with this
 * prefix.
 */
extern void run_metrics_append(PQExpBuffer buf, const char *prefix,
							   const Options *options,
							   const RunFigures *figures);

/* What the label "command" says of the run that these options ask for. */
extern const char *run_metrics_command(const Options *options);

#endif							/* METRICS_H */
