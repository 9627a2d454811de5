/*
 * compare.c
 *		Compares tables by a query that both servers run.
 *
 * The checksum is a sum of one 64-bit hash a row, of the row's text under the
 * settings that both sessions have.  Partitions that are loaded by way of
 * their root may have gone to others: all that was read for a root is
 * compared with all of its partitions but those that are loaded for
 * themselves.
 *
 * Large objects are compared in the groups in which they were copied, piece
 * by piece: by pages of pg_largeobject the same contents may differ, as there
 * may be holes.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "base/identifier.h"
#include "base/printable.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "compare/compare.h"
#include "compare/compare_sequence.h"
#include "plan/dump_table_read.h"
#include "process/worker_pool.h"
#include "progress/progress.h"
#include "session/session.h"
#include "session/session_loss.h"
#include "session/session_wait.h"
#include "source/worker_session.h"
#include "source/worker_watch.h"
#include "target/target.h"

/* hashtextextended(), sha256() */
#define MIN_SERVER_FOR_HASH 110000

/* Of a large object so many bytes have one digest. */
#define OBJECT_PIECE_BYTES (1024 * 1024)

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
	SideSum		source_sum;
	SideSum		target_sum;
	const char *not_compared;	/* why; a constant, or NULL */
} CompareResult;

/* Two queries with one row of two columns each. */
typedef struct CompareJob
{
	const char *name;			/* of the table on the target; borrowed */
	int			table;			/* the first that it is about */
	const LargeObjectGroup *group;	/* these instead, unless NULL */
	uint64		bytes;
	PQExpBufferData source_sql;
	PQExpBufferData target_sql;
} CompareJob;

typedef struct Comparison
{
	const Source *source;
	const Target *target;
	const Run  *run;
	const char *hash_head;		/* what a row's text is put in */
	const char *hash_tail;
	const char *digest;			/* of a piece of a large object, d */
	CompareJob *jobs;
	int			n_jobs;
	CompareResult *results;
	WorkerSession *session;		/* in a worker */
	PGconn	   *target_conn;
} Comparison;

/* ----------
 * Queries
 * ----------
 */

/*
 * The same hash on both sides, of any majors and encodings.  Both sessions
 * have the same client encoding, in which textsend() writes.  Unlike
 * convert_to() it does not check bytes that are not converted, as those from
 * SQL_ASCII.
 */
static void
choose_hash(Comparison *comparison)
{
	PGconn	   *source_conn = comparison->source->conn;
	PGconn	   *target_conn = comparison->target->conn;
	const char *source_encoding = PQparameterStatus(source_conn, "server_encoding");
	const char *target_encoding = PQparameterStatus(target_conn, "server_encoding");
	bool		same = source_encoding && target_encoding &&
		strcmp(source_encoding, target_encoding) == 0;
	bool		modern = PQserverVersion(source_conn) >= MIN_SERVER_FOR_HASH &&
		PQserverVersion(target_conn) >= MIN_SERVER_FOR_HASH;

	comparison->digest = modern ? "pg_catalog.encode(pg_catalog.sha256(d), 'hex')"
		: "pg_catalog.md5(d)";
	if (same && modern)
	{
		comparison->hash_head = "pg_catalog.hashtextextended(";
		comparison->hash_tail = ", 0)";
		return;
	}
	comparison->hash_head = same ?
		"('x' OPERATOR(pg_catalog.||) pg_catalog.substr(pg_catalog.md5(" :
		"('x' OPERATOR(pg_catalog.||) pg_catalog.substr(pg_catalog.md5(pg_catalog.textsend(";
	comparison->hash_tail = same ? "), 1, 16))::pg_catalog.bit(64)::pg_catalog.int8" :
		")), 1, 16))::pg_catalog.bit(64)::pg_catalog.int8";
}

static int
compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/*
 * The list of columns in the order of their names, so that partitions of one
 * table agree; quoted as they are.  Owned.
 */
static char *
sorted_columns(const DumpTable *table)
{
	int			n = table->n_columns;
	char	  **names = pg_malloc((n + 1) * sizeof(char *));
	char	   *result;

	for (int i = 0; i < n; i++)
		names[i] = table->columns[i];
	qsort(names, n, sizeof(char *), compare_strings);
	result = identifier_join(names, n);
	free(names);
	return result;
}

/* SELECT count and sum of one table, which FROM and what follows describe. */
static void
append_select(const Comparison *comparison, PQExpBuffer buf,
			  const DumpTable *table, const char *only, const char *name, const char *condition,
			  const char *filter)
{
	char	   *columns = sorted_columns(table);

	appendPQExpBuffer(buf, "SELECT pg_catalog.count(*) AS n,"
					  " pg_catalog.sum((%sROW(%s)::pg_catalog.text%s)::pg_catalog.numeric) AS h"
					  " FROM %s%s %s", comparison->hash_head, columns, comparison->hash_tail,
					  only, name, condition ? condition : "");
	if (filter)
		appendPQExpBuffer(buf, " WHERE %s", filter);
	free(columns);
}

/*
 * Where rows that are loaded by way of a root ($1) may be: in tables below
 * it, or in itself, but not in those that are loaded for themselves (of $2),
 * and not in foreign ones, which may be out of reach.
 */
static const char parts_query[] =
"WITH RECURSIVE tree (oid) AS (SELECT pg_catalog.to_regclass($1)::pg_catalog.oid"
" UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i"
" JOIN tree ON tree.oid OPERATOR(pg_catalog.=) i.inhparent),"
" part AS (SELECT oid FROM tree EXCEPT"
" SELECT pg_catalog.to_regclass(name)::pg_catalog.oid"
" FROM pg_catalog.unnest($2::pg_catalog.text[]) t (name)"
" WHERE name OPERATOR(pg_catalog.<>) $1)"
"SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)"
" FROM part JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) part.oid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE c.relkind OPERATOR(pg_catalog.=) 'r'";

static void
append_parts(const Comparison *comparison, PQExpBuffer buf,
			 const DumpTable *table)
{
	PGconn	   *conn = comparison->target->conn;
	const DumpTables *tables = comparison->run->plan->tables;
	char	   *names = dump_tables_name_array(conn, tables, true);
	const char *params[] = {table->copy_name, names};
	PGresult   *res = session_query_params(conn, parts_query, 2, params, 0);

	/* what a table without rows gives, in case there are no parts */
	appendPQExpBufferStr(buf, "SELECT 0::pg_catalog.int8 AS n, NULL::pg_catalog.numeric AS h");
	for (int i = 0; i < PQntuples(res); i++)
	{
		appendPQExpBufferStr(buf, " UNION ALL ");
		append_select(comparison, buf, table, "ONLY ", PQgetvalue(res, i, 0),
					  table->condition, NULL);
	}
	PQclear(res);
	free(names);
}

static CompareJob *
new_job(Comparison *comparison)
{
	CompareJob *job = &comparison->jobs[comparison->n_jobs++];

	memset(job, 0, sizeof(CompareJob));
	initPQExpBuffer(&job->source_sql);
	initPQExpBuffer(&job->target_sql);
	return job;
}

/* A table's rows, or what more there is of a root's. */
static void
add_table(Comparison *comparison, int no)
{
	const DumpTable *table = &comparison->run->plan->tables->tables[no];
	bool		via_root = strcmp(table->name, table->copy_name) != 0;
	const char *only = table->condition ? "" : "ONLY ";
	CompareJob *job = NULL;

	if (table->relkind == RELKIND_FOREIGN_TABLE)
		return;
	for (int i = 0; via_root && i < comparison->n_jobs && job == NULL; i++)
		if (strcmp(comparison->jobs[i].name, table->copy_name) == 0)
			job = &comparison->jobs[i];
	if (job == NULL)
	{
		job = new_job(comparison);
		job->name = table->copy_name;
		job->table = no;
		if (via_root)
			append_parts(comparison, &job->target_sql, table);
		else
			append_select(comparison, &job->target_sql, table, only,
						  table->name, table->condition, NULL);
	}
	else
		appendPQExpBufferStr(&job->source_sql, " UNION ALL ");
	append_select(comparison, &job->source_sql, table, only, table->name,
				  table->condition, table->filter);
	job->bytes += table->total_bytes;
}

/* A piece is a row of the recursion, which keeps its digest only. */
static void
add_large_objects(Comparison *comparison, const LargeObjectGroup *group)
{
	const LargeObjects *objects = comparison->run->plan->objects;
	CompareJob *job = new_job(comparison);
	PQExpBuffer sql = &job->source_sql;

	job->group = group;
	job->bytes = (uint64) ((double) objects->est_bytes * group->n_oids /
						   objects->n_objects);
	appendPQExpBuffer(sql, "WITH RECURSIVE piece (oid, no, len, digest) AS ("
					  "SELECT m.oid, 0::pg_catalog.int8, pg_catalog.length(d), %s"
					  " FROM pg_catalog.pg_largeobject_metadata m,"
					  " pg_catalog.lo_get(m.oid, 0, %d) d"
					  " WHERE m.oid OPERATOR(pg_catalog.=) ANY ('{",
					  comparison->digest, OBJECT_PIECE_BYTES);
	for (int i = 0; i < group->n_oids; i++)
		appendPQExpBuffer(sql, "%s%u", i > 0 ? "," : "", group->oids[i]);
	appendPQExpBuffer(sql, "}') UNION ALL "
					  "SELECT oid, no OPERATOR(pg_catalog.+) 1, pg_catalog.length(d), %s"
					  " FROM piece, pg_catalog.lo_get(oid,"
					  " (no OPERATOR(pg_catalog.+) 1) OPERATOR(pg_catalog.*) %d, %d) d"
					  " WHERE len OPERATOR(pg_catalog.=) %d"
					  ") SELECT pg_catalog.count(*) FILTER (WHERE no OPERATOR(pg_catalog.=) 0) AS n,"
					  " pg_catalog.sum((%spg_catalog.concat_ws(' ', oid, no, digest)%s)::pg_catalog.numeric) AS h"
					  " FROM piece", comparison->digest, OBJECT_PIECE_BYTES,
					  OBJECT_PIECE_BYTES, OBJECT_PIECE_BYTES,
					  comparison->hash_head, comparison->hash_tail);
	appendPQExpBufferStr(&job->target_sql, sql->data);
}

static int
compare_jobs(const void *a, const void *b)
{
	const CompareJob *j1 = a;
	const CompareJob *j2 = b;

	if (j1->bytes != j2->bytes)
		return j1->bytes > j2->bytes ? -1 : 1;
	if (j1->table != j2->table)
		return j1->table < j2->table ? -1 : 1;
	return j1->group < j2->group ? -1 : j1->group > j2->group;
}

/* ----------
 * Callbacks of the worker pool
 * ----------
 */

/* What, beside session_set_up()'s, decides how a value is written. */
static const char text_settings_query[] =
SESSION_SET("timezone", "UTC") "; " SESSION_SET("bytea_output", "hex") "; "
SESSION_SET("lc_monetary", "C");

static void
start_worker(void *arg, int no)
{
	Comparison *comparison = arg;
	const Run  *run = comparison->run;
	PGconn	   *target_conn = target_connect(comparison->target);
	bool		begun;

	comparison->target_conn = target_conn;
	comparison->session = worker_session_open(comparison->source, run, no);
	begun = session_begin_settings(target_conn);
	PQclear(session_query(target_conn, text_settings_query));
	session_end_settings(target_conn, begun);
	PQclear(session_query(worker_session_conn(comparison->session),
						  text_settings_query));
}

/* Owned. */
static char *
describe(const CompareJob *job)
{
	if (job->group == NULL)
		return psprintf("table %s", printable(job->name));
	return large_object_group_describe(job->group);
}

/* Owned. */
static char *
ask_sum(PGconn *conn, const PQExpBufferData *rows)
{
	char	   *sql = psprintf("SELECT pg_catalog.sum(n), pg_catalog.sum(h) FROM (%s) t",
							   rows->data);

	if (PQsendQuery(conn, sql) != 1)
		session_failed(conn, NULL, "could not compare rows", sql);
	return sql;
}

/*
 * Why the target has no such rows, or cannot tell; NULL if the error is
 * another one, or none.  Names in the query may be what is not converted.
 */
static const char *
why_not_compared(const PGresult *res)
{
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	if (state == NULL)
		return NULL;
	/* ERRCODE_CHARACTER_NOT_IN_REPERTOIRE and _UNTRANSLATABLE_CHARACTER */
	if (strcmp(state, "22021") == 0 || strcmp(state, "22P05") == 0)
		return "its name or rows cannot be converted to the target's encoding";
	/* ERRCODE_UNDEFINED_TABLE and _UNDEFINED_COLUMN */
	if (strcmp(state, "42P01") == 0)
		return "it does not exist on the target";
	if (strcmp(state, "42703") == 0)
		return "it has other columns on the target";
	return NULL;
}

/*
 * Both servers are at work; now wait for the answer of one.  An error ends
 * the run unless it can be taken as the reason why a table is not compared.
 */
static void
take_sum(PGconn *conn, char *sql, SideSum *sum, const char **not_compared)
{
	PGresult   *res = PQgetResult(conn);
	const char *reason = not_compared ? why_not_compared(res) : NULL;

	if (reason)
		*not_compared = reason;
	else
	{
		if (PQresultStatus(res) != PGRES_TUPLES_OK)
			session_failed(conn, res, "could not compare rows", sql);
		sum->rows = strtoull(PQgetvalue(res, 0, 0), NULL, 10);
		strlcpy(sum->sum, PQgetvalue(res, 0, 1), SUM_BYTES);
	}
	PQclear(res);
	session_end_results(conn);
	free(sql);
}

static bool
run_job(void *arg, int no, volatile int *step)
{
	Comparison *comparison = arg;
	const CompareJob *job = &comparison->jobs[no];
	PGconn	   *source_conn = worker_session_conn(comparison->session);
	char	   *source_sql;
	char	   *target_sql;

	pg_log_info("comparing %s", describe(job));
	source_sql = ask_sum(source_conn, &job->source_sql);
	target_sql = ask_sum(comparison->target_conn, &job->target_sql);
	/* for a lock, say, of one who waits for this run: the leader ends that */
	session_wait_begins();
	take_sum(source_conn, source_sql, &comparison->results[no].source_sum, NULL);
	session_wait_ends();
	take_sum(comparison->target_conn, target_sql,
			 &comparison->results[no].target_sum,
			 &comparison->results[no].not_compared);
	return true;
}

static void
stop_worker(void *arg)
{
	Comparison *comparison = arg;

	worker_session_close(comparison->session);
	session_close(comparison->target_conn);
}

static char *
describe_job(void *arg, int no, int step)
{
	Comparison *comparison = arg;

	return describe(&comparison->jobs[no]);
}

static void
report_difference(const CompareJob *job, const CompareResult *result)
{
	uint64		source_rows = result->source_sum.rows;
	uint64		target_rows = result->target_sum.rows;
	bool		same_number = source_rows == target_rows;

	if (result->not_compared)
		pg_log_error("table %s is not compared: %s", printable(job->name),
					 result->not_compared);
	else if (job->group && same_number)
		pg_log_error("in the target, contents are not the same of %s",
					 describe(job));
	else if (job->group)
		pg_log_error("the target has " UINT64_FORMAT " of %s",
					 target_rows, describe(job));
	else if (same_number)
		pg_log_error("table %s has other values in the target",
					 printable(job->name));
	else
		pg_log_error("table %s has " UINT64_FORMAT " row%s in the source and " UINT64_FORMAT " in the target",
					 printable(job->name), source_rows,
					 units_plural(source_rows), target_rows);
}

static int
report(const Comparison *comparison)
{
	int			n_different = 0;

	for (int i = 0; i < comparison->n_jobs; i++)
	{
		const CompareResult *result = &comparison->results[i];

		if (result->not_compared == NULL &&
			result->source_sum.rows == result->target_sum.rows &&
			strcmp(result->source_sum.sum, result->target_sum.sum) == 0)
			continue;
		n_different++;
		report_difference(&comparison->jobs[i], result);
	}
	return n_different;
}

static void
plan_jobs(Comparison *comparison)
{
	const DumpTables *tables = comparison->run->plan->tables;
	const LargeObjects *objects = comparison->run->plan->objects;

	comparison->jobs = pg_malloc((tables->n_tables + objects->n_groups + 1) *
								 sizeof(CompareJob));
	for (int i = 0; i < tables->n_tables; i++)
		add_table(comparison, i);
	for (int i = 0; i < objects->n_groups; i++)
		add_large_objects(comparison, &objects->groups[i]);
	qsort(comparison->jobs, comparison->n_jobs, sizeof(CompareJob),
		  compare_jobs);
	comparison->results = shared_memory_new(comparison->n_jobs,
											sizeof(CompareResult));
}

int
compare_contents(Source *source, const Target *target, const Run *run)
{
	Comparison	comparison = {.source = source,.target = target,.run = run};
	PoolWatch	watch = worker_watch(source, run->plan);
	int			n_done = 0;
	WorkerTask	task = {
		.arg = &comparison,
		.doing = "comparing",
		.max_retries = (int) run->options->retries,
		.outlives_kill = true,
		.has_slots = true,
		.n_done = &n_done,
		.start = start_worker,
		.run = run_job,
		.stop = stop_worker,
		.describe = describe_job,
		.reset = worker_pool_no_reset,	/* a query again does no harm */
	};
	int			n_different = compare_sequences(target->conn, run->plan->toc);

	choose_hash(&comparison);
	plan_jobs(&comparison);
	progress_stage_count("compare", run->plan->objects->n_groups > 0 ?
						 " tables and groups of large objects" : " tables",
						 &n_done, comparison.n_jobs);
	worker_pool_run(&task, &watch, run->options->jobs, comparison.n_jobs);
	progress_end();
	return n_different + report(&comparison);
}
