/*
 * cluster_report.c
 *		--report and --metrics of all databases: a page and a file for each,
 *		which its run makes as always.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>

#include "common/string.h"

#include "archive/archive_dir.h"
#include "cluster/cluster_report.h"
#include "report/report.h"
#include "status/metrics.h"

/* Only files of that name are read by node_exporter. */
#define SUFFIX ".prom"

/* NULL until it is known; the argument of an exit callback. */
static const ClusterList *all_databases;

/* A MetricsFigures. */
static void
append_figures(PQExpBuffer buf, const void *arg)
{
	const ClusterList *list = *(const ClusterList *const *) arg;
	int			n_failed = 0;

	for (int i = 0; list && i < list->n; i++)
		n_failed += list->databases[i].failed;
	metrics_number(buf, "databases", "Databases of the last run.",
				   list ? list->n : 0);
	metrics_number(buf, "failed_databases", "How many of them have failed.",
				   n_failed);
}

/* Neither the pages' directory nor a page is in that of the archives. */
static void
keep_out(const Options *options, const char *path)
{
	archive_dir_keep_out(options->directory, "report", path);
	archive_dir_keep_out(options->restore, "report", path);
	archive_dir_keep_out(options->verify, "report", path);
}

void
cluster_report_begin(const Options *options)
{
	const MetricsLabel labels[] = {
		{"command", run_metrics_command(options)}, {NULL}
	};

	metrics_begin(options, labels, append_figures, &all_databases);
	if (options->report == NULL)
		return;
	report_check_template();
	keep_out(options, options->report);
	if (mkdir(options->report, 0700) < 0 && errno != EEXIST)
		pg_fatal("could not create directory \"%s\": %m", options->report);
	keep_out(options, psprintf("%s/page", options->report));
}

void
cluster_report_note_list(const ClusterList *list)
{
	all_databases = list;
}

void
cluster_report_add_args(const Options *options, const ClusterDatabase *database,
						SimpleStringList *args)
{
	const char *path = options->metrics;

	if (path)
	{
		int			len = (int) strlen(path);

		if (pg_str_endswith(path, SUFFIX))
			len -= (int) strlen(SUFFIX);
		simple_string_list_append(args, psprintf("--metrics=%.*s.%u%s", len, path,
												 database->oid, path + len));
	}
	if (options->report)
		simple_string_list_append(args, psprintf("--report=%s/%u.html",
												 options->report, database->oid));
}
