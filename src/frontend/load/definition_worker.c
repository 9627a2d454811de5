/*
 * definition_worker.c
 *		Creates definitions in sessions of this program, as pg_restore would.
 *
 * pg_restore creates one definition after the other in one session.  If that
 * session is lost, it is unknown which definitions were created.  Here a job
 * consists of a few definitions in one transaction, together with their lines
 * in the journal.  If a worker is lost its job is repeated: the lines, or
 * txid_status() if there is no journal, show whether the transaction was
 * committed.
 *
 * To continue after errors, savepoints are needed, which would double the
 * number of round trips.  So a job first runs without them.  Only if
 * something fails is the transaction rolled back, and each entry run in a
 * separate transaction, with a savepoint for each statement, because
 * pg_restore reports each failed statement and continues.
 *
 * Dependencies and locks determine which jobs run concurrently: jobs that
 * read rows of the same table with compatible locks can run together; any
 * other job has the table for itself.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "load/definition_session.h"
#include "load/definition_worker.h"
#include "session/session_lost.h"

/* ----------
 * The jobs: definitions that are created together, and jobs that may run
 * concurrently.
 * ----------
 */

/*
 * The largest number of entries or large objects in a job, if they take no
 * time.
 */
#define MOST_SHORT OBJECT_GROUPS_PART

/*
 * The largest number of other entries in a job, if each worker gets this many
 * jobs.
 */
#define MOST_LONG 50
#define LONG_JOBS_PER_WORKER 8

/*
 * The pass in which pg_restore creates the entry: privileges come after
 * everything else, and these kinds last
 * (pg_backup_archiver.c:_tocEntryRestorePass).
 */
static int
pass_of(const TocEntry *entry)
{
	static const char *const last[] = {"EVENT TRIGGER", "MATERIALIZED VIEW DATA", NULL};

	if (toc_entry_is_privilege(entry))
		return 1;
	if (toc_entry_is_one_of(entry, last) ||
		(toc_entry_is(entry, "COMMENT") &&
		 strncmp(entry->tag, "EVENT TRIGGER ", 14) == 0) ||
		(toc_entry_is(entry, "STATISTICS DATA") &&
		 entry->section == TOC_SECTION_POST_DATA))
		return 2;
	return 0;
}

/* May the entry read all rows of a table? */
static bool
is_long_lasting(const TocEntry *entry)
{
	static const char *const kinds[] = {"INDEX", "CONSTRAINT",
	"CHECK CONSTRAINT", "FK CONSTRAINT", "MATERIALIZED VIEW DATA", NULL};

	return toc_entry_is_one_of(entry, kinds);
}

/*
 * Does the entry lock its tables against others?  An index or a query allows
 * others that do the same.  Short entries run one at a time, but may lock any
 * table that they name.
 */
static bool
locks_tables(const TocEntry *entry)
{
	return !toc_entry_is(entry, "INDEX") &&
		!toc_entry_is(entry, "MATERIALIZED VIEW DATA");
}

/*
 * The end of the pass that begins with entry "first".  pg_restore restores
 * privileges after everything else, and event triggers and materialized views
 * last.  Within a pass entries are in the archive's order.  So a pass ends
 * where the pass number changes or the order goes back.
 */
static int
end_of_pass(const Script *script, int first)
{
	int			i = first + 1;

	while (i < script->n_entries &&
		   pass_of(script->entries[i].entry) == pass_of(script->entries[first].entry) &&
		   script->entries[i].entry >= script->entries[i - 1].entry)
		i++;
	return i;
}

/*
 * Append an entry to the last job, or begin a new one.  Short entries are
 * collected in large jobs to save round trips.  Long ones are distributed to
 * the workers, with a limit, because a lost session repeats its whole job.
 */
static void
add_entry(DefinitionJobs *jobs, int no, int most_long)
{
	const ScriptEntry *entry = &jobs->script->entries[no];
	DefinitionJob *job = jobs->n_jobs == 0 ? NULL : &jobs->jobs[jobs->n_jobs - 1];
	bool		long_lasting = is_long_lasting(entry->entry);
	bool		of_objects = object_groups_has(entry);
	int			n_locks = Max(1, entry->n_oids);

	if (job == NULL || job->long_lasting != long_lasting ||
		job->of_objects != of_objects ||
		job->n_locks + n_locks > (long_lasting ? most_long : MOST_SHORT))
	{
		job = &jobs->jobs[jobs->n_jobs++];
		job->first = no;
		job->n = job->n_locks = 0;
		job->long_lasting = long_lasting;
		job->of_objects = of_objects;
	}
	job->n++;
	job->n_locks += n_locks;
	jobs->job_of[entry->entry->dump_id] = jobs->n_jobs - 1;
}

DefinitionJobs *
definition_jobs_make(const Script *script, int first, int *next,
					 const Toc *toc, int n_workers)
{
	DefinitionJobs *jobs = pg_malloc0(sizeof(DefinitionJobs));
	int			n_ids = toc->max_dump_id + 1;
	int			n_long = 0;
	int			most_long;

	*next = end_of_pass(script, first);
	jobs->script = script;
	jobs->toc = toc;
	jobs->jobs = pg_malloc0((*next - first) * sizeof(DefinitionJob));
	jobs->done = pg_malloc0(*next - first);
	jobs->job_of = pg_malloc(n_ids * sizeof(int));
	memset(jobs->job_of, -1, n_ids * sizeof(int));
	jobs->is_table = pg_malloc0(n_ids);
	jobs->users = pg_malloc0(n_ids * sizeof(int));
	jobs->owners = pg_malloc0(n_ids * sizeof(int));
	for (int i = 0; i < toc->n_entries; i++)
		jobs->is_table[toc->entries[i].dump_id] =
			toc_entry_is(&toc->entries[i], "TABLE");
	for (int i = first; i < *next; i++)
		n_long += is_long_lasting(script->entries[i].entry);
	most_long = n_workers == 1 ? MOST_LONG :
		Max(1, Min(MOST_LONG, n_long / (n_workers * LONG_JOBS_PER_WORKER)));
	for (int i = first; i < *next; i++)
		add_entry(jobs, i, most_long);
	return jobs;
}

/* ----------
 * Running jobs
 * ----------
 */

/*
 * Does this dependency of an entry delay its job?  Jobs are in an order in
 * which none depends on a later one.
 */
static bool
is_in_the_way(const DefinitionJobs *jobs, int job, const TocEntry *entry,
			  int dump_id)
{
	int			other;

	if (dump_id <= 0 || dump_id > jobs->toc->max_dump_id)
		return false;
	other = jobs->job_of[dump_id];
	if (other >= 0 && other < job && !jobs->done[other])
		return true;
	return jobs->owners[dump_id] > 0 ||
		(locks_tables(entry) && jobs->users[dump_id] > 0);
}

/*
 * Two jobs with short entries would wait for each other's locks, so only one
 * of these runs at a time.  A long job waits for the jobs that its entries
 * depend on, and for tables that others have locked.
 */
bool
definition_jobs_may_begin(const DefinitionJobs *jobs, int no)
{
	const DefinitionJob *job = &jobs->jobs[no];

	if (!job->long_lasting && jobs->n_short > 0)
		return false;
	for (int i = 0; i < job->n; i++)
	{
		const TocEntry *entry = jobs->script->entries[job->first + i].entry;

		for (int j = 0; j < entry->n_deps; j++)
			if (is_in_the_way(jobs, no, entry, entry->deps[j]))
				return false;
	}
	return true;
}

/* Count a job that begins (1) or ends (-1) at its tables. */
static void
count_tables(DefinitionJobs *jobs, const DefinitionJob *job, int more)
{
	for (int i = 0; i < job->n; i++)
	{
		const TocEntry *entry = jobs->script->entries[job->first + i].entry;
		int		   *counts = locks_tables(entry) ? jobs->owners : jobs->users;

		for (int j = 0; j < entry->n_deps; j++)
			if (entry->deps[j] > 0 && entry->deps[j] <= jobs->toc->max_dump_id &&
				jobs->is_table[entry->deps[j]])
				counts[entry->deps[j]] += more;
	}
	if (!job->long_lasting)
		jobs->n_short += more;
}

void
definition_jobs_begin(DefinitionJobs *jobs, int job)
{
	count_tables(jobs, &jobs->jobs[job], 1);
}

void
definition_jobs_end(DefinitionJobs *jobs, int job)
{
	count_tables(jobs, &jobs->jobs[job], -1);
	jobs->done[job] = true;
}

char *
definition_jobs_describe(const DefinitionJobs *jobs, int job, int step)
{
	int			no = jobs->jobs[job].first + Max(0, step);

	return toc_entry_describe(jobs->script->entries[no].entry);
}

/* ----------
 * The lines of definitions in the journal.
 *
 * These call the functions of restore_journal.h with the names of entries, or
 * of parts of them.  The session may be using the role of an entry's owner,
 * but the journal belongs to the role with which the session began.
 * ----------
 */

/* The name of the line of an entry, or of a part of one; owned. */
static char *
line_name(const ScriptEntry *entry)
{
	if (entry->part == 0)
		return restore_journal_entry(entry->entry);
	return psprintf("entry %d part %d", entry->entry->dump_id, entry->part);
}

/*
 * Positions of sequences have no line, because a crash may reset an unlogged
 * sequence.  They can be set any number of times.
 */
static bool
has_line(const RestoreJournal *journal, const TocEntry *entry)
{
	return journal != NULL && journal->is_kept && !toc_entry_is(entry, "SEQUENCE SET");
}

/*
 * Write the entry's line in the session's transaction, before the entry is
 * created.  Returns false if it has been created already, by an earlier run
 * or a lost worker.  Then the errors with which it was created are added to
 * *n_errors, because they count for the exit status.  The line is written
 * with the run's role, which owns the journal.
 */
static bool
definition_log_claim(const RestoreJournal *journal, DefinitionSession *session,
					 const ScriptEntry *entry, volatile int *n_errors)
{
	char	   *name;
	bool		claimed;

	if (!has_line(journal, entry->entry))
		return true;
	definition_session_reset_user(session);
	name = line_name(entry);
	claimed = restore_journal_claim(journal, session->conn, name);
	if (!claimed)
		*n_errors += restore_journal_errors(journal, session->conn, name);
	free(name);
	return claimed;
}

/*
 * Write the lines of n entries in the session's transaction.  Returns false
 * if any of the entries was created already; then the session must roll back.
 */
static bool
definition_log_claim_all(const RestoreJournal *journal, DefinitionSession *session,
						 const ScriptEntry *entries, int n)
{
	char	  **names;
	bool		claimed;

	if (journal == NULL || !journal->is_kept)
		return true;
	definition_session_reset_user(session);
	names = pg_malloc(n * sizeof(char *));
	for (int i = 0; i < n; i++)
		names[i] = line_name(&entries[i]);
	claimed = restore_journal_claim_all(journal, session->conn, names, n);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return claimed;
}

/* Note the number of errors in the line of an entry that was claimed. */
static void
definition_log_errors(const RestoreJournal *journal, DefinitionSession *session,
					  const ScriptEntry *entry, int n_errors)
{
	char	   *name;

	if (!has_line(journal, entry->entry) || n_errors == 0)
		return;
	definition_session_reset_user(session);
	name = line_name(entry);
	restore_journal_set_errors(journal, session->conn, name, n_errors);
	free(name);
}

/* ----------
 * The worker.
 * ----------
 */

/*
 * A transaction that has lasted this long is ended after the next entry,
 * because a lost session would undo it.
 */
#define LASTING_MS 1000

/* Messages show this many bytes of a statement. */
#define SHOWN_BYTES 1024

struct DefinitionWorker
{
	const DefinitionWork *work;
	DefinitionSession *session;
	DefinitionNote *note;		/* the note of the current job */
	const TocEntry *entry;		/* the current entry, if it has its own
								 * transaction */
	bool		outside;		/* the entry cannot run in a transaction */
	bool		builds;			/* target_begin_builds() was called */
};

/* ----------
 * Transactions
 * ----------
 */
static void
definition_worker_begin(DefinitionWorker *worker)
{
	worker->note->n_errors = worker->note->n_existing = 0;
	memcpy(worker->session->settings_before, worker->session->settings,
		   sizeof(worker->session->settings));
	session_begin_unwatched(worker->session->conn, "BEGIN");
}

/*
 * Note that the COMMIT has succeeded.  Counters are in shared memory, because
 * the leader shows them while workers run.
 */
static void
note_done(const DefinitionWork *work, DefinitionNote *note)
{
	int			n = note->reach - note->next;

	note->next = note->reach;
	note->n_failed += note->n_errors > 0 ? 1 : 0;
	note->commit.state = TARGET_COMMIT_PENDING;
	(void) __sync_fetch_and_add(work->n_made, n);
	(void) __sync_fetch_and_add(work->n_existing, note->n_existing);
	if (work->stages->setup.n_errors)
		(void) __sync_fetch_and_add(work->stages->setup.n_errors, note->n_errors);
}

/*
 * Commit the entries up to this one.  This position is noted before COMMIT is
 * sent, because the answer may be lost; the next process continues from the
 * note.
 */
static void
commit(DefinitionWorker *worker, int reach)
{
	DefinitionNote *note = worker->note;

	note->reach = reach;
	strlcpy(note->incarnation, worker->session->incarnation, sizeof(note->incarnation));
	restore_journal_commit(worker->work->journal, worker->session->conn, &note->commit);
	note_done(worker->work, note);
}

/*
 * Find out whether the last COMMIT of a lost worker succeeded.  The
 * incarnation of that time is needed, because a server that was restarted has
 * forgotten its transactions.
 */
static void
settle_commit(DefinitionWorker *worker)
{
	const DefinitionWork *work = worker->work;
	DefinitionNote *note = worker->note;
	Target		then = *work->stages->target;

	then.incarnation = note->incarnation;
	if (restore_journal_is_committed(work->journal, worker->session->conn, &then, &note->commit))
		note_done(work, note);
}

/* ----------
 * Entries
 * ----------
 */

/*
 * Run a statement of an entry; returns a result only if it has failed.  A
 * statement that ended the transaction would commit journal lines of entries
 * that do not exist yet.  pg_dump writes no such statement, but an archive
 * can contain anything.
 */
static PGresult *
run_of_entry(DefinitionWorker *worker, const char *sql)
{
	PGresult   *res = definition_session_run(worker->session, sql);

	if (PQtransactionStatus(worker->session->conn) == PQTRANS_IDLE)
	{
		pg_log_error("an entry of the archive ended the transaction of the restore");
		pg_log_error_detail("Statement was: %.*s%s", SHOWN_BYTES, sql,
							strlen(sql) > SHOWN_BYTES ? "..." : "");
		pg_log_error_detail("pg_dump does not write such statements.");
		pg_fatal_hint("Use another copy of the archive, or exclude the entry with -l and -L.");
	}
	return res;
}

/* ERRCODE_ACTIVE_SQL_TRANSACTION */
#define CANNOT_BE_IN_A_BLOCK "25001"

/* ERRCODE_DUPLICATE_*: database, schema, table, object, function */
#define IS_THERE "42P04 42P06 42P07 42710 42723"

/* ERRCODE_UNIQUE_VIOLATION: a large object */
#define OBJECT_IS_THERE "23505"

/*
 * Deferred constraints are checked before COMMIT, so that their errors belong
 * to this transaction.
 */
static const char *const end_statement[] = {"SET CONSTRAINTS ALL IMMEDIATE", NULL};

/*
 * Run statements.  Returns false after the first error, which is not
 * reported, because the entry will run again.
 */
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

/*
 * Send the statements of all remaining entries of the job in one message.
 * There may be millions of large objects, and round trips are their only
 * cost.
 */
static bool
run_joined(DefinitionWorker *worker, const DefinitionJob *job)
{
	PQExpBufferData sql = buffer_new();
	PGresult   *res;
	bool		ok;

	for (int i = worker->note->next; i < job->n; i++)
	{
		const char *const *statements =
			definition_session_statements(worker->session,
										  &worker->work->script->entries[job->first + i]);

		for (; *statements; statements++)
			appendPQExpBuffer(&sql, "%s\n", *statements);
	}
	res = run_of_entry(worker, buffer_text(&sql));
	ok = res == NULL;
	PQclear(res);
	termPQExpBuffer(&sql);
	return ok;
}

/*
 * Create the remaining large objects of a job in one transaction, because
 * there may be many, and each takes no time.  Returns false, and has changed
 * nothing, if something failed or exists already.
 */
static bool
run_at_once(DefinitionWorker *worker, const DefinitionJob *job,
			volatile int *step)
{
	const DefinitionWork *work = worker->work;
	int			next = worker->note->next;

	*step = next;
	definition_worker_begin(worker);
	if (!definition_log_claim_all(work->journal, worker->session,
								  &work->script->entries[job->first + next],
								  job->n - next) ||
		!run_joined(worker, job) || !run_all(worker, end_statement))
	{
		definition_session_roll_back(worker->session);
		return false;
	}
	commit(worker, job->n);
	return true;
}

/*
 * Run the remaining entries of the job in as few transactions as possible.  A
 * transaction that has lasted a while is committed after the next entry, so
 * that a lost session does not undo minutes of work.  Returns false if
 * something has failed; the last transaction is rolled back then.
 */
static bool
run_together(DefinitionWorker *worker, const DefinitionJob *job,
			 volatile int *step)
{
	int64		began = clock_monotonic_ms();

	definition_worker_begin(worker);
	for (int i = worker->note->next; i < job->n; i++)
	{
		const ScriptEntry *entry;
		bool		last = i + 1 == job->n;
		bool		ok;

		*step = i;
		/* An entry with a line in the journal has been created before. */
		entry = &worker->work->script->entries[job->first + i];
		ok = !definition_log_claim(worker->work->journal, worker->session,
								   entry, &worker->note->n_errors) ||
			run_all(worker, definition_session_statements(worker->session, entry));
		if (ok && !last && clock_monotonic_ms() - began < LASTING_MS)
			continue;
		if (!ok || !run_all(worker, end_statement))
		{
			definition_session_roll_back(worker->session);
			return false;
		}
		commit(worker, i + 1);
		began = clock_monotonic_ms();
		if (!last)
			definition_worker_begin(worker);
	}
	return true;
}

/*
 * Count and report an error.  If the session user could not be set, the next
 * statements would create objects with the wrong owner, so this ends the run,
 * as in pg_restore.  Large objects that exist already are only counted,
 * because there may be a million of them.
 */
static void
count_error(DefinitionWorker *worker, const PGresult *res,
			const char *statement)
{
	/*
	 * The next objects would belong to another role.  (With -O there is no
	 * such statement.)
	 */
	if (statement == worker->session->settings[SCRIPT_SESSION_USER])
	{
		pg_log_error("could not set session user: %s", PQresultErrorMessage(res));
		pg_fatal_hint(DEFINITION_USER_HINT);
	}
	worker->note->n_errors++;
	if (worker->work->stages->failed && statement == worker->entry->defn)
		worker->work->stages->failed[worker->entry->dump_id] = true;
	/* The leader reports how many there are. */
	if (object_groups_creates(statement) && session_error_is(res, OBJECT_IS_THERE) &&
		!worker->session->options->exit_on_error)
		worker->note->n_existing++;
	else
		definition_session_report_error(res, statement, worker->entry);
}

/*
 * Run each statement with a savepoint, and report errors.  Returns false
 * after an error that ends the run (--exit-on-error), or if a statement
 * cannot run in a transaction.
 */
static bool
run_with_savepoints(DefinitionWorker *worker, const char *const *statements)
{
	DefinitionSession *session = worker->session;
	bool		to_end = session->options->exit_on_error;

	for (; *statements; statements++)
	{
		PGresult   *res;

		target_command(session->conn, SESSION_SAVEPOINT);
		res = run_of_entry(worker, *statements);
		if (res == NULL)
		{
			target_command(session->conn, SESSION_RELEASE);
			continue;
		}
		worker->outside = session_error_is(res, CANNOT_BE_IN_A_BLOCK);
		if (!worker->outside)
			count_error(worker, res, *statements);
		PQclear(res);
		if (worker->outside)
			return false;
		target_command(session->conn, SESSION_ROLLBACK_TO);
		target_command(session->conn, SESSION_RELEASE);
		if (to_end)
			return false;
	}
	return true;
}

/*
 * Run statements outside a transaction.  If again is true an earlier attempt
 * may have created the object, so "already exists" is not an error.  Returns
 * false after an error that ends the run.
 */
static bool
run_without_block(DefinitionWorker *worker, const char *const *statements,
				  bool again)
{
	for (; *statements; statements++)
	{
		PGresult   *res = definition_session_run(worker->session, *statements);

		if (res != NULL && !(again && session_error_is(res, IS_THERE)))
			count_error(worker, res, *statements);
		PQclear(res);
		if (worker->note->n_errors > 0 && worker->session->options->exit_on_error)
			return false;
	}
	return true;
}

/*
 * Run an entry that cannot be in a transaction, so neither can its line.
 * Another line, which is committed before, shows that the entry was begun.  A
 * run that finds this line without the entry's own line repeats the entry,
 * and accepts that the object exists.
 */
static void
run_outside(DefinitionWorker *worker, const DefinitionJob *job, int i)
{
	const ScriptEntry *entry = &worker->work->script->entries[job->first + i];
	const RestoreJournal *journal = worker->work->journal;

	/*
	 * the line that shows that the entry was begun, and so may have been
	 * created
	 */
	char	   *begun = psprintf("entry %d without transaction", entry->entry->dump_id);
	PGconn	   *conn = worker->session->conn;
	bool		again;
	bool		go_on;
	int			n_errors;

	definition_session_reset_user(worker->session);
	again = !restore_journal_claim(journal, conn, begun) &&
		restore_journal_errors(journal, conn, begun) == 0;
	worker->note->n_errors = 0;
	go_on = run_without_block(worker,
							  definition_session_statements(worker->session, entry),
							  again);
	n_errors = worker->note->n_errors;
	definition_worker_begin(worker);
	definition_session_reset_user(worker->session);
	restore_journal_set_errors(journal, conn, begun, n_errors);
	if (go_on)
	{
		(void) definition_log_claim(journal, worker->session, entry,
									&worker->note->n_errors);
		worker->note->n_errors = n_errors;
		definition_log_errors(journal, worker->session, entry, n_errors);
	}
	commit(worker, go_on ? i + 1 : i);
	free(begun);
	/* --resume creates the entry after the cause was removed */
	if (!go_on)
		exit(1);
}

/* Run one entry in a separate transaction. */
static void
run_alone(DefinitionWorker *worker, const DefinitionJob *job, int i)
{
	const ScriptEntry *entry = &worker->work->script->entries[job->first + i];
	const RestoreJournal *journal = worker->work->journal;
	DefinitionNote *note = worker->note;
	bool		go_on = true;

	worker->entry = entry->entry;
	worker->outside = false;
	definition_worker_begin(worker);
	if (definition_log_claim(journal, worker->session, entry, &note->n_errors))
	{
		go_on = run_with_savepoints(worker,
									definition_session_statements(worker->session, entry)) &&
			run_with_savepoints(worker, end_statement);
		if (worker->outside)
		{
			definition_session_roll_back(worker->session);
			run_outside(worker, job, i);
			return;
		}
		/* --resume creates the entry after the cause was removed */
		if (!go_on && journal != NULL && journal->is_kept)
			exit(1);
		definition_log_errors(journal, worker->session, entry, note->n_errors);
	}
	/* Statements before the error are kept, as pg_restore keeps them. */
	commit(worker, i + 1);
	if (!go_on)
		exit(1);
}

static void
open_session(DefinitionWorker *worker)
{
	const DefinitionWork *work = worker->work;

	worker->session = definition_session_open(work->stages, work->address,
											  work->script, work->head_reported);
	worker->builds = false;
}

/*
 * Call this before a session's first index of a large table; with indexes of
 * small tables it would take longer than it saves.  The run's role, which has
 * the necessary privileges, must be the current one.
 */
static void
begin_builds(DefinitionWorker *worker, const DefinitionJob *job)
{
	if (worker->builds || !job->large)
		return;
	worker->builds = true;
	definition_session_reset_user(worker->session);
	target_begin_builds(worker->work->stages->target, worker->session->conn);
}

/*
 * Try the fast ways first.  After the first error in a job each entry runs
 * alone, in this process and in those that may replace it, because the note
 * is in shared memory.
 */
void
definition_worker_run(DefinitionWorker *worker, int job_no,
					  volatile int *step)
{
	const DefinitionWork *work = worker->work;
	const DefinitionJob *job = &work->jobs->jobs[job_no];
	DefinitionNote *note = &work->notes[job_no];

	worker->note = note;
	settle_commit(worker);
	for (int i = 0; i < job->n; i++)
	{
		const TocEntry *entry = work->script->entries[job->first + i].entry;

		if (entry->namespace)
			pg_log_info("creating %s \"%s.%s\"", entry->desc, entry->namespace,
						entry->tag);
		else
			pg_log_info("creating %s \"%s\"", entry->desc, entry->tag);
	}
	begin_builds(worker, job);
	if (!note->one_by_one && note->next < job->n &&
		!(job->of_objects && run_at_once(worker, job, step)) &&
		!run_together(worker, job, step))
	{
		note->one_by_one = true;

		/*
		 * Open a new session, because an extension may remember that it was
		 * created, although that was rolled back: TimescaleDB would be
		 * refused for the rest of the session.
		 */
		definition_session_close(worker->session);
		open_session(worker);
		begin_builds(worker, job);
	}
	while (note->next < job->n)
	{
		*step = note->next;
		run_alone(worker, job, note->next);
	}
}

DefinitionWorker *
definition_worker_start(const DefinitionWork *work)
{
	DefinitionWorker *worker = pg_malloc0(sizeof(DefinitionWorker));

	worker->work = work;
	open_session(worker);
	return worker;
}

void
definition_worker_stop(DefinitionWorker *worker)
{
	definition_session_close(worker->session);
	free(worker);
}
