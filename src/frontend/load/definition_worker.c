/*
 * definition_worker.c
 *		Makes definitions in sessions of ours, as pg_restore would.
 *
 * pg_restore makes one definition after the other in one session.  If that
 * session is lost, it is unknown which definitions were made.  Here a job is
 * a few definitions in one transaction, together with their lines in the
 * journal.  A job whose worker was lost is repeated: the lines, or
 * txid_status() where there is no journal, tell whether the COMMIT was done.
 *
 * Errors need savepoints, which would double the number of round trips.  So a
 * job first runs without them; only if something fails is the transaction
 * rolled back, and each entry run in a transaction of its own, with a
 * savepoint for each statement, as pg_restore reports each failed statement
 * and continues.
 *
 * Which jobs run side by side is decided by dependencies and by locks: jobs
 * that read rows of the same table with compatible locks can run together,
 * anything else has the table for itself.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "load/definition_session.h"
#include "load/definition_worker.h"
#include "session/session_lost.h"

/* ----------
 * Which definitions are made together, and which side by side.
 * ----------
 */

/* Entries of a job, or large objects, at most, if they are done at once. */
#define MOST_SHORT OBJECT_GROUPS_PART

/* And of the others, if this number of them is left for each worker. */
#define MOST_LONG 50
#define LONG_JOBS_PER_WORKER 8

/*
 * In which pass pg_restore makes it: privileges after all else, and these
 * last (pg_backup_archiver.c:_tocEntryRestorePass).
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

/* May it read all rows of a table? */
static bool
is_long_lasting(const TocEntry *entry)
{
	static const char *const kinds[] = {"INDEX", "CONSTRAINT",
	"CHECK CONSTRAINT", "FK CONSTRAINT", "MATERIALIZED VIEW DATA", NULL};

	return toc_entry_is_one_of(entry, kinds);
}

/*
 * An index, or a query, leaves its tables to others that do the same.  Of
 * short ones there is one at a time, but they may lock any table they name.
 */
static bool
locks_tables(const TocEntry *entry)
{
	return !toc_entry_is(entry, "INDEX") &&
		!toc_entry_is(entry, "MATERIALIZED VIEW DATA");
}

/*
 * pg_restore restores privileges after everything else, and event triggers
 * and materialized views last.  Within a pass entries come in the archive's
 * order.  So a pass ends where the pass number changes or the order goes
 * back.
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
 * collected into large jobs to save round trips.  Long ones are spread over
 * the workers, up to a limit, as a lost session repeats all of its job.
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
 * While they run
 * ----------
 */

/*
 * Is this dependency of an entry in the way of its job?  Jobs come in an
 * order in which none depends on a later one.
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

/* One job more, or less (-1), is at the tables of this one. */
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
	const TocEntry *entry = jobs->script->entries[no].entry;

	return entry->namespace ? psprintf("%s %s.%s", entry->desc, entry->namespace,
									   entry->tag)
		: psprintf("%s %s", entry->desc, entry->tag);
}

/* ----------
 * The lines of definitions in the log of a restore.
 *
 * The functions of restore_journal.h, with the names of entries or of parts
 * of them.  The session may act as an entry's owner at that time; the journal
 * belongs to the role as which the session began.
 * ----------
 */

/* Of an entry, or a part of one; owned. */
static char *
line_name(const ScriptEntry *entry)
{
	if (entry->part == 0)
		return restore_journal_entry(entry->entry);
	return psprintf("entry %d part %d", entry->entry->dump_id, entry->part);
}

/*
 * A sequence may be unlogged, and a crash take its position.  It can be set
 * as often as one likes.
 */
static bool
has_line(const RestoreJournal *journal, const TocEntry *entry)
{
	return journal != NULL && journal->is_kept && !toc_entry_is(entry, "SEQUENCE SET");
}

/*
 * Write the entry's line, in the session's transaction, before the entry is
 * made: false if it is done already, by an earlier run or a lost worker.
 * Then *n_errors grows by the errors that it was done with, as they count for
 * the exit status.  The line is written as the run's role, which owns the
 * journal.
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
 * The same with n entries, of which each has a line.  False if any is done
 * already: the session is to roll back then.
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
 * Makes definitions in a session of ours, as pg_restore would.
 * ----------
 */

/*
 * A transaction that has lasted so long is ended after the next entry, as a
 * loss would undo it.
 */
#define LASTING_MS 1000

/* Of a statement that is shown. */
#define SHOWN_BYTES 1024

struct DefinitionWorker
{
	const DefinitionWork *work;
	DefinitionSession *session;
	DefinitionNote *note;		/* of the job */
	const TocEntry *entry;		/* that has its own transaction */
	bool		outside;		/* it cannot be in one */
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
 * What was sent to be committed is done.  Counters are in shared memory: the
 * leader shows them while workers run.
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
 * Commit the entries up to this one.  How far the COMMIT reaches is noted
 * before it is sent, because the answer may be lost; the next process
 * continues from the note.
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
 * A lost worker may have sent a COMMIT without getting the answer.  The
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
 * Run a statement of an entry: a result only if it has failed.  A statement
 * that ends the transaction would commit journal lines of entries that are
 * not made yet; pg_dump writes none, but an archive can contain anything.
 */
static PGresult *
run_of_entry(DefinitionWorker *worker, const char *sql)
{
	PGresult   *res = definition_session_run(worker->session, sql);

	if (PQtransactionStatus(worker->session->conn) == PQTRANS_IDLE)
		pg_fatal("a definition in the archive ended its own transaction: %.*s",
				 SHOWN_BYTES, sql);
	return res;
}

/* ERRCODE_ACTIVE_SQL_TRANSACTION */
#define CANNOT_BE_IN_A_BLOCK "25001"

/* ERRCODE_DUPLICATE_*: database, schema, table, object, function */
#define IS_THERE "42P04 42P06 42P07 42710 42723"

/* ERRCODE_UNIQUE_VIOLATION: a large object */
#define OBJECT_IS_THERE "23505"

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

/*
 * Send the statements of everything that is left of the job in one message.
 * Large objects may be millions, and round trips are all that they cost.
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
 * What is left of a job of large objects: there may be many, and nothing of
 * them takes long.  False if something has failed, or was done before; then
 * nothing is done.
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
 * Run what is left of the job in as few transactions as possible.  A
 * transaction that has lasted a while is committed after the next entry, so
 * that a lost session does not undo minutes of work.  False if something has
 * failed, and nothing of its transaction is done.
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
		/* an entry whose line is in the journal has been made before */
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
 * Count and report an error.  If the session user could not be set, the
 * statements that follow would create objects of the wrong owner, so that
 * ends the run, as in pg_restore.  Large objects that exist already are only
 * counted: there may be a million of them.
 */
static void
count_error(DefinitionWorker *worker, const PGresult *res,
			const char *statement)
{
	/* what comes now would be another role's; -O does without */
	if (statement == worker->session->settings[SCRIPT_SESSION_USER])
	{
		pg_log_error("could not set session user: %s", PQresultErrorMessage(res));
		pg_fatal_hint(DEFINITION_USER_HINT);
	}
	worker->note->n_errors++;
	if (worker->work->stages->failed && statement == worker->entry->defn)
		worker->work->stages->failed[worker->entry->dump_id] = true;
	/* there may be a million of them: the leader reports how many */
	if (object_groups_creates(statement) && session_error_is(res, OBJECT_IS_THERE) &&
		!worker->session->options->exit_on_error)
		worker->note->n_existing++;
	else
		definition_session_report_error(res, statement, worker->entry);
}

/*
 * Run each statement by itself, and report errors.  False if there were any
 * and they end the run (--exit-on-error), or if a statement cannot be in a
 * transaction.
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
 * may have made the object, so "already exists" is not an error.  False as
 * above.
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
 * One entry that cannot be in a transaction, so neither can its line.  A
 * first line, committed before, says that the entry was begun.  A run that
 * finds that line without the entry's own line repeats the entry, and accepts
 * that the object exists.
 */
static void
run_outside(DefinitionWorker *worker, const DefinitionJob *job, int i)
{
	const ScriptEntry *entry = &worker->work->script->entries[job->first + i];
	const RestoreJournal *journal = worker->work->journal;

	/* notes that the entry was begun, and so may be done */
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
	/* --resume is to make it, when what was wrong is mended */
	if (!go_on)
		exit(1);
}

/* One entry in a transaction of its own. */
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
		/* --resume is to make it, when what was wrong is mended */
		if (!go_on && journal != NULL && journal->is_kept)
			exit(1);
		definition_log_errors(journal, worker->session, entry, note->n_errors);
	}
	/* what it had made before the error stays, as pg_restore leaves it */
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
 * Before a session's first index of a large table: those of small ones do not
 * take long enough to be worth it.  The session acts as the run's role then,
 * which has the privileges that are needed for it.
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
 * Try the fast ways first.  After the first error of a job each entry runs
 * alone, in this process and in those that may replace it, as the note is in
 * shared memory.
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
		 * An extension may remember that it was created, though that was
		 * rolled back: TimescaleDB is then refused for the rest of the
		 * session.
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
