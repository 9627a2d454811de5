/*
 * copy_analyze.c
 *		Runs ANALYZE on the target's tables, side by side.
 */
#include "fe_compat.h"

#include "cleanup.h"
#include "copy_analyze.h"
#include "copy_target.h"
#include "worker_pool.h"

typedef struct AnalyzeRun
{
	const CopyContext *context;
	int		   *tables;			/* of DumpTables, largest first */
	PGconn	   *conn;			/* in a worker */
} AnalyzeRun;

static void
start_worker(void *arg, int no)
{
	AnalyzeRun *run = arg;
	const DumpContext *source = &run->context->source;

	run->conn = connection_open_peer(run->context->target, "pg_pardump");
	copy_target_set_up(run->conn, source->options, source->encoding);
}

static void
run_job(void *arg, int job, volatile int *step)
{
	AnalyzeRun *run = arg;
	const DumpTables *tables = run->context->source.tables;
	char	   *sql = psprintf("ANALYZE %s",
							   tables->tables[run->tables[job]].name);

	session_command(run->conn, sql);
	free(sql);
}

static void
stop_worker(void *arg)
{
	AnalyzeRun *run = arg;

	cancel_set_connection(NULL);
	PQfinish(run->conn);
}

static char *
describe_job(void *arg, int job, int step)
{
	AnalyzeRun *run = arg;

	return psprintf("the statistics of table %s",
					run->context->source.tables->tables[run->tables[job]].name);
}

/* ANALYZE again does no harm. */
static void
reset_job(void *arg, int job)
{
}

static void
worker_changes(void *arg, int worker)
{
}

static int
watch_fd(void *arg)
{
	return -1;
}

static bool
attend(void *arg, bool all_done)
{
	return true;
}

static const DumpTable *sort_base;

static int
compare_tables(const void *a, const void *b)
{
	uint64		a_bytes = sort_base[*(const int *) a].total_bytes;
	uint64		b_bytes = sort_base[*(const int *) b].total_bytes;

	return a_bytes > b_bytes ? -1 : a_bytes < b_bytes;
}

void
copy_analyze(const CopyContext *context)
{
	const DumpTables *tables = context->source.tables;
	AnalyzeRun	run = {.context = context};
	WorkerTask	task = {
		.arg = &run,
		.start = start_worker,
		.run = run_job,
		.stop = stop_worker,
		.describe = describe_job,
		.reset = reset_job,
		.max_retries = (int) context->source.options->retries,
		.begins = worker_changes,
		.is_gone = worker_changes,
		.watch_fd = watch_fd,
		.attend = attend,
	};

	run.tables = pg_malloc((tables->n_tables + 1) * sizeof(int));
	for (int i = 0; i < tables->n_tables; i++)
		run.tables[i] = i;
	sort_base = tables->tables;
	qsort(run.tables, tables->n_tables, sizeof(int), compare_tables);
	worker_pool_run(&task, context->source.options->jobs, tables->n_tables);
	free(run.tables);
}
