/*
 * job_log.c
 *		Reads and writes the lines of the log.
 */
#include "base/fe_compat.h"

#include "job_log/job_log.h"
#include "job_log/job_log_wait.h"
#include "session/session.h"
#include "session/session_loss.h"
#include "target/target.h"

/*
 * A run that was taken for dead, and is not, finds that another one has taken
 * over.  Should it look just before, the other one's line waits for its end.
 */
static const char claim_query[] =
"INSERT INTO " JOB_LOG_SCHEMA ".done (name, attempt, errors)"
" SELECT $1::pg_catalog.text, r.attempt, $3::pg_catalog.int4"
" FROM " JOB_LOG_SCHEMA ".run r"
" WHERE r.attempt OPERATOR(pg_catalog.=) $2::pg_catalog.int4"
" ON CONFLICT (name) DO NOTHING";

/* The same with many, without errors so far. */
static const char claim_all_query[] =
"INSERT INTO " JOB_LOG_SCHEMA ".done (name, attempt, errors)"
" SELECT n.name, r.attempt, 0"
" FROM " JOB_LOG_SCHEMA ".run r,"
" pg_catalog.unnest($1::pg_catalog.text[]) n (name)"
" WHERE r.attempt OPERATOR(pg_catalog.=) $2::pg_catalog.int4"
" ON CONFLICT (name) DO NOTHING";

static const char attempt_query[] =
"SELECT r.attempt FROM " JOB_LOG_SCHEMA ".run r";

static const char mark_query[] =
"INSERT INTO " JOB_LOG_SCHEMA ".no_crash (attempt)"
" SELECT r.attempt FROM " JOB_LOG_SCHEMA ".run r"
" WHERE r.attempt OPERATOR(pg_catalog.=) $1::pg_catalog.int4"
" AND NOT EXISTS (SELECT FROM " JOB_LOG_SCHEMA ".no_crash)";

static const char marks_query[] = "SELECT FROM " JOB_LOG_SCHEMA ".no_crash";

/*
 * In a transaction: are the log's tables this role's?  Nobody changes what is
 * locked until its end.
 */
static const char own_query[] =
"LOCK TABLE " JOB_LOG_SCHEMA ".run, " JOB_LOG_SCHEMA ".done, "
JOB_LOG_SCHEMA ".no_crash IN ACCESS SHARE MODE; " JOB_LOG_LOOK_QUERY;

static const char errors_query[] =
"SELECT d.errors FROM " JOB_LOG_SCHEMA ".done d"
" WHERE d.name OPERATOR(pg_catalog.=) $1::pg_catalog.text";

static const char set_errors_query[] =
"UPDATE " JOB_LOG_SCHEMA ".done SET errors = $2::pg_catalog.int4"
" WHERE name OPERATOR(pg_catalog.=) $1::pg_catalog.text";

char *
job_log_entry(const TocEntry *entry)
{
	return psprintf("entry %d", entry->dump_id);
}

static int
compare_names(const void *key, const void *line)
{
	return strcmp(key, ((const JobLogLine *) line)->name);
}

const JobLogLine *
job_log_find(const JobLog *log, const char *name)
{
	if (log == NULL || log->n_lines == 0)
		return NULL;
	return bsearch(name, log->lines, log->n_lines, sizeof(JobLogLine),
				   compare_names);
}

bool
job_log_is_done(const JobLog *log, const char *name)
{
	return job_log_find(log, name) != NULL;
}

bool
job_log_has(const JobLog *log, char *name)
{
	bool		result = job_log_is_done(log, name);

	free(name);
	return result;
}

void
job_log_refuse_taken_over(void)
{
	pg_fatal("another run of pg_parrestore has taken over");
}

/* By a look at the log, which has succeeded. */
static bool
is_own(const PGresult *res)
{
	return PQntuples(res) == 1 &&
		PQgetvalue(res, 0, JOB_LOG_IS_OWN)[0] == 't' &&
		PQgetvalue(res, 0, JOB_LOG_IS_COMPLETE)[0] == 't';
}

/*
 * In a transaction: when the log is gone its name is anybody's who may make a
 * schema, and what a view or a trigger of his calls would run with this
 * role's privileges.
 */
static void
check_owner(const JobLog *log, PGconn *conn)
{
	PGresult   *res = job_log_wait_exec(log->target, conn,
										&job_log_wait_look_at, JOB_LOG_SCHEMA,
										own_query, 0, NULL);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(conn, res, "query failed", own_query);
	if (!is_own(res))
		pg_fatal("schema " JOB_LOG_SCHEMA " on the target is not the run's any more");
	PQclear(res);
}

static void
check_attempt(const JobLog *log, PGconn *conn)
{
	PGresult   *res = target_query(conn, attempt_query, 0, NULL);

	if (PQntuples(res) != 1 || atoi(PQgetvalue(res, 0, 0)) != log->attempt)
		job_log_refuse_taken_over();
	PQclear(res);
}

void
job_log_check_attempt(const JobLog *log, PGconn *conn)
{
	bool		own_transaction = PQtransactionStatus(conn) == PQTRANS_IDLE;

	if (own_transaction)
		session_begin_unwatched(conn, "BEGIN");
	check_owner(log, conn);
	check_attempt(log, conn);
	if (own_transaction)
		PQclear(target_query(conn, "COMMIT", 0, NULL));
}

/* What an INSERT of a line returns, whatever that is; owned. */
static PGresult *
send_line(const JobLog *log, PGconn *conn, const char *name, int errors)
{
	char		attempt[16];
	char		number[16];
	const char *params[] = {name, attempt, number};

	snprintf(attempt, sizeof(attempt), "%d", log->attempt);
	snprintf(number, sizeof(number), "%d", errors);
	return job_log_wait_exec(log->target, conn, &job_log_wait_claim, name,
							 claim_query, 3, params);
}

static bool
write_line(const JobLog *log, PGconn *conn, const char *name, int errors)
{
	PGresult   *res = send_line(log, conn, name, errors);
	bool		written;

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(conn, res, "query failed", claim_query);
	written = strcmp(PQcmdTuples(res), "1") == 0;
	PQclear(res);
	return written;
}

bool
job_log_claim(const JobLog *log, PGconn *conn, const char *name)
{
	if (log == NULL || !log->is_kept)
		return true;
	if (write_line(log, conn, name, 0))
		return true;
	check_attempt(log, conn);
	return false;
}

bool
job_log_claim_all(const JobLog *log, PGconn *conn, char *const *names, int n)
{
	char		attempt[16];
	const char *params[] = {NULL, attempt};
	char	   *array;
	PGresult   *res;
	bool		written;

	if (log == NULL || !log->is_kept)
		return true;
	snprintf(attempt, sizeof(attempt), "%d", log->attempt);
	params[0] = array = text_array(conn, names, n);
	res = job_log_wait_exec(log->target, conn, &job_log_wait_claim,
							n > 0 ? names[0] : "", claim_all_query, 2, params);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(conn, res, "query failed", claim_all_query);
	written = atoi(PQcmdTuples(res)) == n;
	PQclear(res);
	free(array);
	if (!written)
		check_attempt(log, conn);
	return written;
}

void
job_log_mark(const JobLog *log, PGconn *conn)
{
	char		attempt[16];
	const char *params[] = {attempt};

	if (log == NULL || !log->is_kept)
		return;
	snprintf(attempt, sizeof(attempt), "%d", log->attempt);
	PQclear(target_query(conn, mark_query, 1, params));
}

bool
job_log_has_crashed(const JobLog *log, PGconn *conn)
{
	PGresult   *res;
	bool		result;

	if (log == NULL || !log->is_kept)
		return false;
	res = target_query(conn, marks_query, 0, NULL);
	result = PQntuples(res) == 0;
	PQclear(res);
	return result;
}

void
job_log_done(const JobLog *log, PGconn *conn, const char *name, int errors)
{
	if (log != NULL && log->is_kept && !write_line(log, conn, name, errors))
		job_log_check_attempt(log, conn);
}

int
job_log_errors(const JobLog *log, PGconn *conn, const char *name)
{
	const char *params[] = {name};
	PGresult   *res;
	int			errors = 0;

	if (log == NULL || !log->is_kept)
		return 0;
	res = target_query(conn, errors_query, 1, params);
	if (PQntuples(res) == 1)
		errors = atoi(PQgetvalue(res, 0, 0));
	PQclear(res);
	return errors;
}

void
job_log_set_errors(const JobLog *log, PGconn *conn, const char *name,
				   int errors)
{
	char		number[16];
	const char *params[] = {name, number};

	if (log == NULL || !log->is_kept)
		return;
	snprintf(number, sizeof(number), "%d", errors);
	PQclear(target_query(conn, set_errors_query, 2, params));
}

bool
job_log_try_done(const JobLog *log, PGconn *conn, const char *name)
{
	PGresult   *res;
	bool		written;

	if (log == NULL || !log->is_kept)
		return true;
	res = send_line(log, conn, name, 0);
	written = PQresultStatus(res) == PGRES_COMMAND_OK;
	PQclear(res);
	return written;
}

void
job_log_commit(const JobLog *log, PGconn *conn, TargetCommit *commit)
{
	if (log == NULL || !log->is_kept)
	{
		target_commit(conn, commit);
		return;
	}
	PQclear(target_query(conn, "COMMIT", 0, NULL));
	commit->state = TARGET_COMMIT_DONE;
}

bool
job_log_is_committed(const JobLog *log, PGconn *conn, const Target *target,
					 TargetCommit *commit)
{
	if (log == NULL || !log->is_kept)
		return target_commit_is_done(conn, target, commit);
	return commit->state == TARGET_COMMIT_DONE;
}
