/*
 * definition_worker.c
 *		Makes definitions in a session of ours, as pg_restore would.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "common/connect.h"
#include "common/string.h"
#include "fe_utils/string_utils.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "restore/definition_worker.h"
#include "restore/restore_log.h"
#include "session/connection.h"
#include "session/session_loss.h"
#include "target/target_history.h"

/*
 * A transaction that has lasted so long is ended after the next entry, as a
 * loss would undo it.
 */
#define LASTING_MS 1000

/* Of a statement that fails so much is shown (pg_backup_db.c). */
#define SHOWN_BYTES 1024

struct DefinitionWorker
{
	const DefinitionWork *work;
	PGconn	   *conn;
	char	   *incarnation;	/* of the server that it is connected to */
	const char *settings[SCRIPT_N_SETTINGS];	/* as they are, and as they
												 * were when the transaction
												 * began; NULL = unknown */
	const char *settings_before[SCRIPT_N_SETTINGS];
	bool		other_user;		/* may be another one's than the log's */
	DefinitionNote *note;		/* of the job */
};

/* ----------
 * Statements
 * ----------
 */

/*
 * Run what may fail by its own fault: then the result, to be cleared, else
 * NULL.  Does not return if the session is lost.
 */
static PGresult *
run_statement(DefinitionWorker *worker, const char *sql)
{
	PGresult   *res = PQexec(worker->conn, sql);

	switch (PQresultStatus(res))
	{
		case PGRES_COMMAND_OK:
		case PGRES_TUPLES_OK:
		case PGRES_EMPTY_QUERY:
			PQclear(res);
			return NULL;
		default:
			break;
	}
	if (session_is_lost(worker->conn, res))
		session_failed(worker->conn, res, "query failed", sql);
	return res;
}

/*
 * The same with an entry's statement.  One that commits would have done so
 * with lines of what is not done yet; pg_dump writes none.
 */
static PGresult *
run_of_entry(DefinitionWorker *worker, const char *sql)
{
	PGresult   *res = run_statement(worker, sql);

	if (PQtransactionStatus(worker->conn) == PQTRANS_IDLE)
		pg_fatal("a definition of the archive has ended the transaction that makes it: %.*s",
				 SHOWN_BYTES, sql);
	return res;
}

/* In pg_restore's words (pg_backup_db.c:ExecuteSqlCommand). */
static void
tell_error(const PGresult *res, const char *sql)
{
	char	   *reason = pg_strdup(PQresultErrorMessage(res));
	int			shown = Min(strlen(sql), SHOWN_BYTES);

	(void) pg_strip_crlf(reason);
	message_set_sqlstate(PQresultErrorField(res, PG_DIAG_SQLSTATE));
	pg_log_error("could not execute query: %s\nCommand was: %.*s%s", reason,
				 shown, sql, sql[shown] ? "..." : "");
	free(reason);
}

static void
run_own(DefinitionWorker *worker, const char *sql)
{
	PQclear(target_query(worker->conn, sql, 0, NULL));
}

/* ----------
 * Transactions
 * ----------
 */
static void
begin(DefinitionWorker *worker)
{
	memcpy(worker->settings_before, worker->settings, sizeof(worker->settings));
	worker->note->n_errors = 0;
	run_own(worker, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
}

static void
roll_back(DefinitionWorker *worker)
{
	run_own(worker, "ROLLBACK");
	memcpy(worker->settings, worker->settings_before, sizeof(worker->settings));
	worker->other_user = true;
}

/* What was sent to be committed is done. */
static void
note_done(const DefinitionWork *work, DefinitionNote *note)
{
	int			n = note->reach - note->next;

	note->next = note->reach;
	note->commit.state = TARGET_COMMIT_PENDING;
	(void) __sync_fetch_and_add(work->n_made, n);
	(void) __sync_fetch_and_add(work->stages->setup.n_errors, note->n_errors);
}

/* Commit the entries up to this one. */
static void
commit(DefinitionWorker *worker, int reach)
{
	DefinitionNote *note = worker->note;

	note->reach = reach;
	strlcpy(note->incarnation, worker->incarnation, sizeof(note->incarnation));
	restore_log_commit(worker->work->log, worker->conn, &note->commit);
	note_done(worker->work, note);
}

/* One that was lost may have committed without an answer. */
static void
settle_commit(DefinitionWorker *worker)
{
	const DefinitionWork *work = worker->work;
	DefinitionNote *note = worker->note;
	Target		then = *work->stages->target;

	then.incarnation = note->incarnation;
	if (restore_log_is_committed(work->log, worker->conn, &then, &note->commit))
		note_done(work, note);
}

/* ----------
 * Entries
 * ----------
 */

/* Privileges may end with another session user than they began with. */
static void
forget_user(DefinitionWorker *worker, const TocEntry *entry)
{
	if (toc_entry_is(entry, "ACL") || toc_entry_is(entry, "ACL LANGUAGE") ||
		toc_entry_is(entry, "DEFAULT ACL"))
	{
		worker->settings[SCRIPT_SESSION_USER] = NULL;
		worker->other_user = true;
	}
}

/* Those that are not as the entry needs them; returns how many. */
static int
settings_to_change(DefinitionWorker *worker, const ScriptEntry *entry,
				   const char **statements)
{
	int			n = 0;

	for (int i = 0; i < SCRIPT_N_SETTINGS; i++)
	{
		const char *want = entry->settings[i];

		if (want && (worker->settings[i] == NULL ||
					 strcmp(want, worker->settings[i]) != 0))
			statements[n++] = worker->settings[i] = want;
	}
	worker->other_user |= worker->settings[SCRIPT_SESSION_USER] != NULL;
	return n;
}

/*
 * All that pg_restore sends for an entry, statement by statement; NULL
 * terminated, for the caller to free.
 */
static const char **
statements_of(DefinitionWorker *worker, const ScriptEntry *entry)
{
	const char **statements = pg_malloc((SCRIPT_N_SETTINGS + entry->n_after + 2) *
										sizeof(char *));
	int			n = settings_to_change(worker, entry, statements);

	statements[n++] = entry->entry->defn;
	for (int i = 0; i < entry->n_after; i++)
		statements[n++] = entry->after[i];
	statements[n] = NULL;
	forget_user(worker, entry->entry);
	return statements;
}

/* Be again who the session began as: the log is that one's. */
static void
be_log_user(DefinitionWorker *worker)
{
	const char *role = worker->work->stages->setup.options->role;

	if (!worker->other_user)
		return;
	run_own(worker, "RESET SESSION AUTHORIZATION");
	if (role)
	{
		char	   *sql = psprintf("SET ROLE %s", fmtId(role));

		run_own(worker, sql);
		free(sql);
	}
	worker->settings[SCRIPT_SESSION_USER] = NULL;
	worker->other_user = false;
}

static bool
log_is_kept(const DefinitionWorker *worker)
{
	const JobLog *log = worker->work->log;

	return log != NULL && log->is_kept;
}

/* False if it is done already; then its errors are this transaction's. */
static bool
claim(DefinitionWorker *worker, const TocEntry *entry)
{
	const JobLog *log = worker->work->log;
	char	   *name;
	bool		claimed;

	if (!log_is_kept(worker))
		return true;
	be_log_user(worker);
	name = restore_log_entry(entry);
	claimed = job_log_claim(log, worker->conn, name);
	if (!claimed)
		worker->note->n_errors += job_log_errors(log, worker->conn, name);
	free(name);
	return claimed;
}

/* The line of what was claimed is to tell of errors. */
static void
log_errors(DefinitionWorker *worker, const TocEntry *entry)
{
	char	   *name;

	if (!log_is_kept(worker) || worker->note->n_errors == 0)
		return;
	be_log_user(worker);
	name = restore_log_entry(entry);
	job_log_set_errors(worker->work->log, worker->conn, name,
					   worker->note->n_errors);
	free(name);
}

/* What is checked late is checked now, as an error of this transaction. */
static const char *const end_statement[] = {"SET CONSTRAINTS ALL IMMEDIATE", NULL};

/* False after the first error, which is not told. */
static bool
run_all(DefinitionWorker *worker, const char *const *statements)
{
	for (; *statements; statements++)
	{
		PGresult   *res = run_of_entry(worker, *statements);

		if (res == NULL)
			continue;
		PQclear(res);
		return false;
	}
	return true;
}

/* The same with an entry that is not done yet. */
static bool
run_entry(DefinitionWorker *worker, const ScriptEntry *entry)
{
	const char **statements;
	bool		ok;

	if (!claim(worker, entry->entry))
		return true;
	statements = statements_of(worker, entry);
	ok = run_all(worker, statements);
	free(statements);
	return ok;
}

/*
 * What is left of the job, in as few transactions as may be.  False if
 * something has failed, and nothing of its transaction is done.
 */
static bool
run_together(DefinitionWorker *worker, const DefinitionJob *job,
			 volatile int *step)
{
	int64		began = clock_monotonic_ms();

	begin(worker);
	for (int i = worker->note->next; i < job->n; i++)
	{
		bool		last = i + 1 == job->n;
		bool		ok;

		*step = i;
		ok = run_entry(worker,
					   &worker->work->script->entries[job->first + i]);
		if (ok && !last && clock_monotonic_ms() - began < LASTING_MS)
			continue;
		if (!ok || !run_all(worker, end_statement))
		{
			roll_back(worker);
			return false;
		}
		commit(worker, i + 1);
		began = clock_monotonic_ms();
		if (!last)
			begin(worker);
	}
	return true;
}

/*
 * Each by itself, with errors told.  False if there were any, and they are to
 * be the end.
 */
static bool
run_with_savepoints(DefinitionWorker *worker, const char *const *statements)
{
	bool		to_end = worker->work->stages->setup.options->exit_on_error;

	for (; *statements; statements++)
	{
		PGresult   *res;

		run_own(worker, "SAVEPOINT statement");
		res = run_of_entry(worker, *statements);
		if (res == NULL)
		{
			run_own(worker, "RELEASE SAVEPOINT statement");
			continue;
		}
		/* what comes now would be another role's; -O does without */
		if (*statements == worker->settings[SCRIPT_SESSION_USER])
			pg_fatal("could not set session user: %s", PQresultErrorMessage(res));
		tell_error(res, *statements);
		PQclear(res);
		worker->note->n_errors++;
		run_own(worker, "ROLLBACK TO SAVEPOINT statement");
		run_own(worker, "RELEASE SAVEPOINT statement");
		if (to_end)
			return false;
	}
	return true;
}

/* One entry in a transaction of its own. */
static void
run_alone(DefinitionWorker *worker, const DefinitionJob *job, int i)
{
	const ScriptEntry *entry = &worker->work->script->entries[job->first + i];
	bool		go_on = true;

	begin(worker);
	if (claim(worker, entry->entry))
	{
		const char **statements = statements_of(worker, entry);

		go_on = run_with_savepoints(worker, statements) &&
			run_with_savepoints(worker, end_statement);
		free(statements);
		/* --resume is to make it, when what was wrong is mended */
		if (!go_on && log_is_kept(worker))
			exit(1);
		log_errors(worker, entry->entry);
	}
	/* what it had made before the error stays, as pg_restore leaves it */
	commit(worker, i + 1);
	if (!go_on)
		exit(1);
}

static void
tell_entries(const DefinitionWork *work, const DefinitionJob *job)
{
	for (int i = 0; i < job->n; i++)
	{
		const TocEntry *entry = work->script->entries[job->first + i].entry;

		if (entry->namespace)
			pg_log_info("creating %s \"%s.%s\"", entry->desc, entry->namespace,
						entry->tag);
		else
			pg_log_info("creating %s \"%s\"", entry->desc, entry->tag);
	}
}

void
definition_worker_run(DefinitionWorker *worker, int job_no,
					  volatile int *step)
{
	const DefinitionWork *work = worker->work;
	const DefinitionJob *job = &work->jobs->jobs[job_no];
	DefinitionNote *note = &work->notes[job_no];

	worker->note = note;
	settle_commit(worker);
	tell_entries(work, job);
	if (!note->one_by_one && note->next < job->n &&
		!run_together(worker, job, step))
		note->one_by_one = true;
	while (note->next < job->n)
	{
		*step = note->next;
		run_alone(worker, job, note->next);
	}
}

/* ----------
 * The session
 * ----------
 */

/*
 * What a session of pg_restore begins with.  An older server may not know all
 * of it: to be told once, however many sessions there are.
 */
static void
set_up(DefinitionWorker *worker)
{
	const DefinitionWork *work = worker->work;
	bool		told = *work->head_told;

	run_own(worker, ALWAYS_SECURE_SEARCH_PATH_SQL);
	for (int i = 0; i < work->script->n_head; i++)
	{
		PGresult   *res = run_statement(worker, work->script->head[i]);

		if (res == NULL)
			continue;
		if (!told)
		{
			tell_error(res, work->script->head[i]);
			(void) __sync_fetch_and_add(work->stages->setup.n_errors, 1);
		}
		PQclear(res);
		if (!told && work->stages->setup.options->exit_on_error)
			exit(1);
	}
	*work->head_told = true;
}

/* A PQnoticeProcessor, as pg_restore's. */
static void
tell_notice(void *arg, const char *message)
{
	pg_log_info("%s", message);
}

DefinitionWorker *
definition_worker_start(const DefinitionWork *work)
{
	const Target *target = work->stages->target;
	DefinitionWorker *worker = pg_malloc0(sizeof(DefinitionWorker));

	worker->work = work;
	/* the leader's connection is the leader's alone, and ends with it */
	close(PQsocket(target->conn));
	worker->conn = connection_open_peer(work->address, "pg_pardump");
	interrupt_set_connection(worker->conn);
	PQsetNoticeProcessor(worker->conn, tell_notice, NULL);
	target_history_expect(worker->conn, target->history);
	worker->incarnation = target_history_incarnation(worker->conn);
	set_up(worker);
	return worker;
}

void
definition_worker_stop(DefinitionWorker *worker)
{
	interrupt_set_connection(NULL);
	PQfinish(worker->conn);
	free(worker->incarnation);
	free(worker);
}
