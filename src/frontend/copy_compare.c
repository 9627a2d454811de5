/*
 * copy_compare.c
 *		Compares tables by a query that both servers run.
 *
 * The checksum is a sum of one 64-bit hash a row, of the row's text under the
 * settings that both sessions have.  Partitions that are loaded by way of their
 * root may have gone to others: of these, the root is compared with all that
 * was read for it.
 */
#include "fe_compat.h"

#include <sys/mman.h>

#include "catalog/pg_class_d.h"

#include "cleanup.h"
#include "copy_compare.h"
#include "copy_target.h"
#include "printable.h"
#include "source_session.h"
#include "worker_pool.h"

/* hashtextextended() */
#define MIN_SERVER_FOR_HASH 110000

/* A sum of hashes, as text. */
#define SUM_BYTES 64

/* What a side has. */
typedef struct SideSum
{
	uint64		rows;
	char		sum[SUM_BYTES];
} SideSum;

/* In shared memory, set by a worker. */
typedef struct CompareResult
{
	SideSum		source;
	SideSum		target;
} CompareResult;

/* Two queries with one row of two columns each. */
typedef struct CompareJob
{
	const char *name;			/* of the table on the target; borrowed */
	int			table;			/* the first that it is about */
	uint64		bytes;
	PQExpBufferData source;
	PQExpBufferData target;
} CompareJob;

typedef struct CompareRun
{
	const CopyContext *context;
	const char *hash_head;		/* what a row's text is put in */
	const char *hash_tail;
	CompareJob *jobs;
	int			n_jobs;
	CompareResult *results;
	SourceSession *source;		/* in a worker */
	PGconn	   *target;
} CompareRun;

/* ----------
 * Queries
 * ----------
 */

/* The same hash on both sides, whatever their majors and encodings. */
static void
choose_hash(CompareRun *run, PGconn *source, PGconn *target)
{
	const char *source_encoding = PQparameterStatus(source, "server_encoding");
	const char *target_encoding = PQparameterStatus(target, "server_encoding");
	bool		same = source_encoding && target_encoding &&
		strcmp(source_encoding, target_encoding) == 0;

	if (same && PQserverVersion(source) >= MIN_SERVER_FOR_HASH &&
		PQserverVersion(target) >= MIN_SERVER_FOR_HASH)
	{
		run->hash_head = "pg_catalog.hashtextextended(";
		run->hash_tail = ", 0)";
		return;
	}
	run->hash_head = same ?
		"('x' OPERATOR(pg_catalog.||) pg_catalog.substr(pg_catalog.md5(" :
		"('x' OPERATOR(pg_catalog.||) pg_catalog.substr(pg_catalog.md5(pg_catalog.convert_to(";
	run->hash_tail = same ? "), 1, 16))::pg_catalog.bit(64)::pg_catalog.int8" :
		", 'UTF8')), 1, 16))::pg_catalog.bit(64)::pg_catalog.int8";
}

static int
compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/*
 * Columns of a list in the order of their names, so that partitions of one
 * table agree; quoted as they are.  Owned.
 */
static char *
sorted_columns(const char *columns)
{
	char	  **names = pg_malloc((strlen(columns) / 2 + 1) * sizeof(char *));
	int			n = 0;
	PQExpBufferData buf;

	while (*columns)
	{
		const char *end = columns;
		bool		quoted = false;

		for (; *end && (quoted || *end != ','); end++)
			if (*end == '"')
				quoted = !quoted;
		names[n++] = pnstrdup(columns, end - columns);
		columns = end + strspn(end, ", ");
	}
	qsort(names, n, sizeof(char *), compare_strings);
	initPQExpBuffer(&buf);
	for (int i = 0; i < n; i++)
	{
		appendPQExpBuffer(&buf, "%s%s", i > 0 ? ", " : "", names[i]);
		free(names[i]);
	}
	free(names);
	return buf.data;
}

/* SELECT count and sum of one table, which FROM and what follows describe. */
static void
append_select(const CompareRun *run, PQExpBuffer buf, const DumpTable *table,
			  const char *only, const char *name, const char *condition,
			  const char *filter)
{
	char	   *columns = sorted_columns(table->columns);

	appendPQExpBuffer(buf, "SELECT pg_catalog.count(*) AS n,"
					  " pg_catalog.sum((%sROW(%s)::pg_catalog.text%s)::pg_catalog.numeric) AS h"
					  " FROM %s%s %s", run->hash_head, columns, run->hash_tail,
					  only, name, condition ? condition : "");
	if (filter)
		appendPQExpBuffer(buf, " WHERE %s", filter);
	free(columns);
}

/* A table's rows, or what more there is of a root's. */
static void
add_table(CompareRun *run, int no)
{
	const DumpTable *table = &run->context->source.tables->tables[no];
	bool		via_root = strcmp(table->name, table->copy_name) != 0;
	const char *only = table->condition ? "" : "ONLY ";
	CompareJob *job = NULL;

	if (table->relkind == RELKIND_FOREIGN_TABLE)
		return;
	for (int i = 0; via_root && i < run->n_jobs && job == NULL; i++)
		if (strcmp(run->jobs[i].name, table->copy_name) == 0)
			job = &run->jobs[i];
	if (job == NULL)
	{
		job = &run->jobs[run->n_jobs++];
		job->name = table->copy_name;
		job->table = no;
		job->bytes = 0;
		initPQExpBuffer(&job->source);
		initPQExpBuffer(&job->target);
		append_select(run, &job->target, table, via_root ? "" : only,
					  table->copy_name, table->condition, NULL);
	}
	else
		appendPQExpBufferStr(&job->source, " UNION ALL ");
	append_select(run, &job->source, table, only, table->name,
				  table->condition, table->filter);
	job->bytes += table->total_bytes;
}

static int
compare_jobs(const void *a, const void *b)
{
	const CompareJob *j1 = a;
	const CompareJob *j2 = b;

	if (j1->bytes != j2->bytes)
		return j1->bytes > j2->bytes ? -1 : 1;
	return j1->table < j2->table ? -1 : j1->table > j2->table;
}

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
start_worker(void *arg, int no)
{
	CompareRun *run = arg;
	const DumpContext *source = &run->context->source;

	run->target = connection_open_peer(run->context->target, "pg_pardump");
	copy_target_set_up(run->target, source->options, source->encoding);
	run->source = source_session_open(source, no);
}

/* Both servers are at work; now wait for the answer of one. */
static void
take_sum(PGconn *conn, const char *sql, SideSum *sum)
{
	PGresult   *res = PQgetResult(conn);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(conn, res, "could not compare rows", sql);
	sum->rows = strtoull(PQgetvalue(res, 0, 0), NULL, 10);
	strlcpy(sum->sum, PQgetvalue(res, 0, 1), SUM_BYTES);
	PQclear(res);
	while ((res = PQgetResult(conn)) != NULL)
		PQclear(res);
}

static void
run_job(void *arg, int no, volatile int *step)
{
	CompareRun *run = arg;
	const CompareJob *job = &run->jobs[no];
	PGconn	   *source = source_session_connection(run->source);
	char	   *sums = psprintf("SELECT pg_catalog.sum(n), pg_catalog.sum(h) FROM (%s) t",
								job->source.data);

	pg_log_info("comparing table %s", printable(job->name));
	if (PQsendQuery(source, sums) != 1)
		session_failed(source, NULL, "could not compare rows", sums);
	if (PQsendQuery(run->target, job->target.data) != 1)
		session_failed(run->target, NULL, "could not compare rows",
					   job->target.data);
	take_sum(source, sums, &run->results[no].source);
	take_sum(run->target, job->target.data, &run->results[no].target);
	free(sums);
}

static void
stop_worker(void *arg)
{
	CompareRun *run = arg;

	source_session_close(run->source);
	PQfinish(run->target);
}

static char *
describe_job(void *arg, int no, int step)
{
	CompareRun *run = arg;

	return psprintf("the comparison of table %s", run->jobs[no].name);
}

/* A query again does no harm. */
static void
reset_job(void *arg, int no)
{
}

static void
worker_begins(void *arg, int worker)
{
	CompareRun *run = arg;

	leader_session_worker_begins(run->context->source.leader, worker);
}

static void
worker_is_gone(void *arg, int worker)
{
	CompareRun *run = arg;

	leader_session_worker_is_gone(run->context->source.leader, worker);
}

static int
watch_fd(void *arg)
{
	CompareRun *run = arg;

	return leader_session_watch_fd(run->context->source.leader);
}

static bool
attend(void *arg, bool all_done)
{
	CompareRun *run = arg;

	return leader_session_attend(run->context->source.leader, all_done);
}

/* ---------- */

static int
report(const CompareRun *run)
{
	int			n_different = 0;

	for (int i = 0; i < run->n_jobs; i++)
	{
		const CompareResult *result = &run->results[i];

		if (result->source.rows == result->target.rows &&
			strcmp(result->source.sum, result->target.sum) == 0)
			continue;
		n_different++;
		if (result->source.rows != result->target.rows)
			pg_log_error("table %s has " UINT64_FORMAT " rows in the source and " UINT64_FORMAT " in the target",
						 printable(run->jobs[i].name), result->source.rows,
						 result->target.rows);
		else
			pg_log_error("table %s has other values in the target",
						 printable(run->jobs[i].name));
	}
	return n_different;
}

int
copy_compare(const CopyContext *context, PGconn *source, PGconn *target)
{
	const DumpContext *dump = &context->source;
	CompareRun	run = {.context = context};
	WorkerTask	task = {
		.arg = &run,
		.max_retries = (int) dump->options->retries,
		.start = start_worker,
		.run = run_job,
		.stop = stop_worker,
		.describe = describe_job,
		.reset = reset_job,
		.begins = worker_begins,
		.is_gone = worker_is_gone,
		.watch_fd = watch_fd,
		.attend = attend,
	};

	choose_hash(&run, source, target);
	run.jobs = pg_malloc((dump->tables->n_tables + 1) * sizeof(CompareJob));
	for (int i = 0; i < dump->tables->n_tables; i++)
		add_table(&run, i);
	qsort(run.jobs, run.n_jobs, sizeof(CompareJob), compare_jobs);
	run.results = mmap(NULL, (run.n_jobs + 1) * sizeof(CompareResult),
					   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run.results == MAP_FAILED)
		pg_fatal("could not map shared memory: %m");
	worker_pool_run(&task, dump->options->jobs, run.n_jobs);
	return report(&run);
}
