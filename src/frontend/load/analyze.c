/*
 * analyze.c
 *		Runs ANALYZE on the target's tables, in parallel.
 *
 * A restore or copy leaves tables without statistics.  Autovacuum would
 * create them only minutes later, while applications already run with bad
 * plans.  ANALYZE only reads a sample, so it takes little time compared with
 * the rows.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/interrupt.h"
#include "load/analyze.h"
#include "load/target_ask.h"
#include "process/progress.h"
#include "session/session_lost.h"

/* the first server with ANALYZE ONLY */
#define MIN_SERVER_FOR_ONLY 180000

typedef struct AnalyzeRun
{
	const Target *target;
	PGresult   *relations;		/* relations to analyze, largest first */
	PGconn	   *conn;			/* in a worker */
} AnalyzeRun;

/*
 * The relations to analyze, largest first: the tables with rows, and
 * materialized views that were refreshed.  The query returns names, because
 * regclass prints a name as ANALYZE needs it.
 */
static PGresult *
choose_relations(PGconn *conn, const DumpTables *tables, const Toc *toc)
{
	char	  **names = pg_malloc((tables->n_tables + toc->n_entries + 1) *
								  sizeof(char *));
	int			n = 0;

	for (int i = 0; i < tables->n_tables; i++)
		names[n++] = tables->tables[i].name;
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (toc_entry_is(entry, "MATERIALIZED VIEW DATA"))
			names[n++] = pg_strdup(fmtQualifiedId(entry->namespace, entry->tag));
	}
	return target_ask(conn, PQserverVersion(conn) >= MIN_SERVER_FOR_ONLY ?
					  TARGET_ANALYZE_ONLY : TARGET_ANALYZE,
					  text_array(conn, names, n), NULL);
}

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
analyze_start_worker(void *arg, int no)
{
	AnalyzeRun *run = arg;

	run->conn = target_connect(run->target);
}

/*
 * An error is only a warning, because all rows have been loaded, and missing
 * statistics do not justify a failure.  For example, ANALYZE of a foreign
 * partition fails if the other server cannot be reached.
 */
static bool
analyze_run_job(void *arg, int job, volatile int *step)
{
	AnalyzeRun *run = arg;
	const char *name = PQgetvalue(run->relations, job, ASK_NAME);
	char	   *sql = psprintf("ANALYZE %s", name);
	PGresult   *res = session_exec(run->conn, sql);

	/* This must not end the run, as said above. */
	if (session_refused(run->conn, res, sql))
	{
		pg_log_warning("could not analyze table %s: %s",
					   printable(name), PQerrorMessage(run->conn));
		pg_log_warning_hint("Run ANALYZE on this table later.");
	}
	PQclear(res);
	free(sql);
	return true;
}

static void
analyze_stop_worker(void *arg)
{
	AnalyzeRun *run = arg;

	interrupt_set_connection(NULL);
	session_close(run->conn);
}

static char *
analyze_describe_job(void *arg, int job, int step)
{
	AnalyzeRun *run = arg;

	return pg_strdup(printable(PQgetvalue(run->relations, job, ASK_NAME)));
}

void
analyze_target(const Target *target, const DumpTables *tables, const Toc *toc)
{
	AnalyzeRun	run = {.target = target};
	PoolWatch	watch = progress_watch();
	int			n_done = 0;
	WorkerTask	task = {
		.arg = &run,
		.job_detail = "The worker was analyzing table %s.",
		.max_retries = (int) target->options->retries,
		.outlives_kill = true,
		.has_slots = true,
		.n_done = &n_done,
		.start = analyze_start_worker,
		.run = analyze_run_job,
		.stop = analyze_stop_worker,
		.describe = analyze_describe_job,
	};

	run.relations = choose_relations(target->conn, tables, toc);
	progress_stage_count("ANALYZE", "", &n_done, PQntuples(run.relations));
	worker_pool_run(&task, &watch, target->options->jobs,
					PQntuples(run.relations));
	progress_end();
	PQclear(run.relations);
}
