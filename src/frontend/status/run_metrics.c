/*
 * run_metrics.c
 *		Writes what --metrics reports of a dump, a copy or a restore.
 */
#include "base/fe_compat.h"

#include "base/message.h"
#include "status/metrics.h"
#include "status/run_metrics.h"
#include "status/summary.h"

/* A MetricsFigures. */
static void
append_run(PQExpBuffer buf, const void *arg)
{
	const Run  *run = arg;
	FileTotals	total = {0};
	ReusedFiles reused = {0};

	if (run->results)
	{
		total = file_results_total(run->results);
		reused = summary_count_reused(run);
	}
	metrics_number(buf, "tables", "Tables of the last run.",
				   run->results ? run->plan->tables->n_tables : 0);
	metrics_number(buf, "rows", "Rows that the last run has read.", total.rows);
	metrics_number(buf, "raw_bytes",
				   "Bytes of rows and large objects of the last run, uncompressed.",
				   total.raw_bytes);
	metrics_number(buf, "stored_bytes",
				   "The same as they are stored, or as they crossed.",
				   total.stored_bytes);
	metrics_number(buf, "retries", "Jobs that the last run has begun anew.",
				   run->n_retries);
	metrics_number(buf, "reused_files", "Files that the last run has used again.",
				   reused.files);
	metrics_number(buf, "reused_bytes", "Bytes of these files.",
				   reused.stored_bytes);
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

	metrics_begin(options, labels, append_run, run);
	free(database);
}
