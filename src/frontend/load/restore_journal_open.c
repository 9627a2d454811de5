/*
 * restore_journal_open.c
 *		Begins the journal of a restore, continues that of an earlier run,
 *		and removes it.
 *
 * Opening a journal means: keep other runs out of the database, find out
 * whether an earlier run has left a journal, and decide by the options
 * whether to continue it, to remove it, or to refuse.  The order of locking
 * and looking is chosen so that two runs that start at the same time cannot
 * both succeed: each looks again after it has the lock.
 *
 * A journal can only be continued by a run with the same archive and the same
 * selection; both are stored as checksums and compared.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "load/restore_journal_open.h"
#include "process/progress.h"
#include "session/session.h"
#include "session/session_lost.h"

/* ----------
 * Keeps two runs from restoring into one database.
 *
 * A run locks a view of the journal, in a transaction of a session that does
 * nothing else.  Only the journal's owner, roles that can act as the owner,
 * and superusers can lock the view, whereas every role that can connect could
 * take an advisory lock and so keep the run out.  It is a view because a
 * database-wide VACUUM or ANALYZE would wait for a locked table.  The
 * transaction runs nothing but LOCK TABLE, which needs neither a snapshot nor
 * a transaction ID, so it does not hold back vacuum.
 *
 * A role that cannot create a schema has no journal, and no relation to lock.
 * Its runs can only use an advisory lock.
 * ----------
 */

/* make_command creates it. */
#define RESTORE_JOURNAL_LOCK_VIEW RESTORE_JOURNAL_SCHEMA ".running"

/* How long to wait for a run that was killed. */
#define LOCK_WAIT_MS 10000
#define LOCK_LOOK_MS 100

/*
 * The weakest mode that conflicts with itself and that a role without
 * privileges on the view cannot request.
 */
#define LOCK_MODE "IN SHARE UPDATE EXCLUSIVE MODE NOWAIT"

static const char lock_database_query[] =
"SELECT pg_catalog.pg_try_advisory_lock(" RESTORE_JOURNAL_DATABASE_LOCK ")";

pg_noreturn static void
restore_journal_lock_refuse(void)
{
	pg_log_error("another pg_parrestore is restoring into this database");
	pg_fatal_hint("Wait until the other run has ended, or end its sessions with pg_terminate_backend().");
}

RestoreJournalLock
restore_journal_lock_view(PGconn *conn, const char *view)
{
	RestoreJournalLock result = RESTORE_JOURNAL_LOCKED;
	char	   *sql = psprintf("LOCK TABLE %s " LOCK_MODE, view);
	PGresult   *res;

	session_begin_unwatched(conn, "BEGIN");
	res = PQexec(conn, sql);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		/* ERRCODE_LOCK_NOT_AVAILABLE, _UNDEFINED_TABLE, _UNDEFINED_SCHEMA */
		if (session_error_is(res, "55P03"))
			result = RESTORE_JOURNAL_HELD;
		else if (session_error_is(res, "42P01 3F000"))
			result = RESTORE_JOURNAL_GONE;
		else
			session_failed(conn, res, "query failed", sql);
		target_command(conn, "ROLLBACK");
	}
	PQclear(res);
	free(sql);
	return result;
}

/*
 * Wait a moment for a run that was killed, which holds its lock until the
 * server has noticed the end of its process.  Returns false if the time is
 * over.
 */
static bool
wait_a_moment(int *waited_ms)
{
	if (*waited_ms >= LOCK_WAIT_MS)
		return false;
	interrupt_check();
	pg_usleep(LOCK_LOOK_MS * 1000L);
	*waited_ms += LOCK_LOOK_MS;
	return true;
}

RestoreJournalLock
restore_journal_lock_view_wait(PGconn *conn, const char *view)
{
	int			waited_ms = 0;
	RestoreJournalLock result;

	do
		result = restore_journal_lock_view(conn, view);
	while (result == RESTORE_JOURNAL_HELD && wait_a_moment(&waited_ms));
	return result;
}

/*
 * Warn if a session holds the advisory lock.  This is called after the
 * journal was created, which a run without a journal looks for after it has
 * taken the lock.  The session may be such a run; but as any role can take
 * the lock, it must not prevent this restore.
 */
static void
restore_journal_lock_warn(PGconn *conn)
{
	char	   *holder = restore_journal_holder(conn, true);

	if (holder == NULL)
		return;
	pg_log_warning("another pg_parrestore might be restoring into this database");
	pg_log_warning_detail("%s", holder);
	pg_log_warning_detail("It has no restore journal, because its role may not create a schema.");
	pg_log_warning_hint("If that session is a restore, end one of the two, and empty the database before a new restore.");
}

/* Take the advisory lock of a run without a journal, for the session. */
static bool
restore_journal_lock_wait_database(PGconn *conn)
{
	int			waited_ms = 0;
	bool		locked;

	do
	{
		PGresult   *res = target_query(conn, lock_database_query, 0, NULL);

		locked = result_is_true(res, 0, 0);
		PQclear(res);
	} while (!locked && wait_a_moment(&waited_ms));
	return locked;
}

/* ----------
 * The sessions of a restore's leader, which may be lost while workers load
 * rows.
 * ----------
 */

/* How long the server may take to end another session. */
#define ANSWER_MS 15000

/* The interval of checks while waiting for the next retry. */
#define WAIT_US 100000

/* Note which session has the lock. */
static void
restore_journal_session_note(RestoreJournal *journal)
{
	journal->backend = session_backend(journal->lock);
	journal->connected_at = clock_monotonic_ms();
}

/*
 * The session of an unreachable client stays in the server until TCP gives
 * up, and keeps the lock.  pg_terminate_backend() ends it if the role may; if
 * not, taking the lock fails and shows that.
 */
static void
end_lost_session(const RestoreJournal *journal, PGconn *conn)
{
	int			age_s = (clock_monotonic_ms() - journal->connected_at) / 1000;
	char	   *sql = backend_query_terminate(journal->backend, age_s);
	bool		lost;

	session_begin(conn, "BEGIN");
	PQclear(session_look(conn, sql, ANSWER_MS, &lost));
	if (lost)
		session_lost("the server did not terminate the lost session in time");
	session_command(conn, "ROLLBACK");
}

/*
 * Lock the journal in a new session.  If it has disappeared while this run
 * was removing it, the removal was this run's own, and its COMMIT was done
 * although the answer was lost.
 */
static void
lock_again(RestoreJournal *journal, PGconn *conn)
{
	RestoreJournalLock state;

	if (journal->is_kept)
	{
		state = restore_journal_lock_view_wait(conn, RESTORE_JOURNAL_LOCK_VIEW);
		if (state == RESTORE_JOURNAL_GONE && journal->is_ending)
		{
			journal->is_gone = true;
			return;
		}
		if (state == RESTORE_JOURNAL_GONE)
			restore_journal_refuse_taken_over();
		journal->is_ending = false;
		restore_journal_check_attempt(journal, conn);
	}
	else
		state = restore_journal_lock_wait_database(conn) ? RESTORE_JOURNAL_LOCKED : RESTORE_JOURNAL_HELD;
	if (state == RESTORE_JOURNAL_HELD)
		session_lost("the lock of the lost session is still held, by that session or by another run");
}

bool
restore_journal_session_keep(RestoreJournal *journal, const Target *target)
{
	if (session_answers(journal->lock))
		return false;
	/* a session that an earlier attempt has left does not have the lock */
	interrupt_set_connection(NULL);
	PQfinish(journal->next);
	PQfinish(journal->lock);
	journal->lock = journal->next = NULL;
	journal->next = target_connect(target);
	end_lost_session(journal, journal->next);
	lock_again(journal, journal->next);
	journal->lock = journal->next;
	journal->next = NULL;
	restore_journal_session_note(journal);
	return true;
}

/*
 * Do some work within session_try().  Returns false if a session was lost;
 * this is reported, and the retry is scheduled.
 */
static bool
try_work(void (*work) (void *arg), void *arg, Retry *retry,
		 const Options *options)
{
	int			max_retries = (int) options->retries;
	char	   *cause = session_try(work, arg);
	int			delay_ms;

	if (cause == NULL)
	{
		memset(retry, 0, sizeof(Retry));
		return true;
	}
	interrupt_check();
	if (retry->n == max_retries)
	{
		pg_log_error("lost the leader's connection to the target");
		pg_fatal_detail("%s", message_sentence(cause));
	}
	delay_ms = retry_later(retry);
	pg_log_warning("lost the leader's connection to the target; retry %d of %d in %.1f s",
				   retry->n, max_retries, delay_ms / 1000.0);
	pg_log_warning_detail("%s", message_sentence(cause));
	free(cause);
	return false;
}

void
restore_journal_session_insist(void (*work) (void *arg), void *arg,
							   const Options *options)
{
	Retry		retry = {0};

	while (!try_work(work, arg, &retry, options))
		while (!retry_is_due(&retry))
		{
			interrupt_check();
			progress_tick();
			pg_usleep(WAIT_US);
		}
}

/* ----------
 * Is it the same restore?
 * ----------
 */

char *
restore_journal_numbers(const int *numbers, int n)
{
	PQExpBufferData text = buffer_new();

	for (int i = 0; i < n; i++)
		appendPQExpBuffer(&text, "%d\n", numbers[i]);
	return checksum_of(CHECKSUM_TYPE_SHA256, buffer_text(&text), text.len);
}

/* ----------
 * The statements on the journal
 * ----------
 */

/*
 * Creates all in one command.  Each logged table has a key, because a
 * publication FOR ALL TABLES does not allow to update or delete rows of
 * tables without one.
 */
static const char make_command[] =
"CREATE SCHEMA " RESTORE_JOURNAL_SCHEMA
" CREATE TABLE run ("
"attempt pg_catalog.int4 PRIMARY KEY,"
" archive pg_catalog.text NOT NULL,"
" selection pg_catalog.text NOT NULL,"
" begun pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now())"
" CREATE TABLE done ("
"name pg_catalog.text COLLATE pg_catalog.\"C\" PRIMARY KEY,"
" attempt pg_catalog.int4 NOT NULL,"
" errors pg_catalog.int4 NOT NULL,"
" at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),"
" crc pg_catalog.int8)"
" CREATE UNLOGGED TABLE no_crash (attempt pg_catalog.int4 NOT NULL)"
" CREATE VIEW running AS SELECT";

static const char head_query[] =
"SELECT r.archive, r.selection, r.attempt"
" FROM " RESTORE_JOURNAL_SCHEMA ".run r FOR UPDATE";

static const char resume_query[] =
"UPDATE " RESTORE_JOURNAL_SCHEMA ".run SET"
" attempt = attempt OPERATOR(pg_catalog.+) 1";

/* A journal of an older version has no column "crc". */
static const char crc_query[] =
"SELECT a.attname FROM pg_catalog.pg_attribute a"
" WHERE a.attrelid OPERATOR(pg_catalog.=) '" RESTORE_JOURNAL_SCHEMA ".done'::pg_catalog.regclass"
" AND a.attname OPERATOR(pg_catalog.=) 'crc' AND NOT a.attisdropped";

static const char lines_query[] =
"SELECT d.name, d.errors, %s FROM " RESTORE_JOURNAL_SCHEMA ".done d"
" ORDER BY d.name COLLATE pg_catalog.\"C\"";

/*
 * Lines with the names in $1 and of their pieces, and those lines with the
 * names in $2 that have errors.
 */
static const char forget_query[] =
"DELETE FROM " RESTORE_JOURNAL_SCHEMA ".done"
" WHERE pg_catalog.split_part(name, ' piece ', 1) OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.text[])"
" OR (name OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.text[])"
" AND errors OPERATOR(pg_catalog.>) 0)";

/*
 * The first attempt is a random number below this one, so that the attempts
 * that follow it fit in an int4.
 */
#define FIRST_ATTEMPTS 2000000000

/*
 * The line of a journal that could not be dropped.  It shows that then() was
 * called (see drop_journal()).
 */
#define LINE_OF_END "end"

static const RestoreJournalWait wait_removal = {
	.message = "still waiting after %d s to drop schema \"%s\", which another session is reading",
	.hint = "Everything else is done.  Wait for the dump or query that reads the schema, or end it with pg_terminate_backend()."
};

#define DROP_COMMAND "DROP SCHEMA " RESTORE_JOURNAL_SCHEMA " CASCADE"

#define REMOVE_HINT \
	"Use --clean to start again, or DROP SCHEMA " RESTORE_JOURNAL_SCHEMA " CASCADE to discard the restore journal."

/*
 * Errors of the server's state, as opposed to those of a trigger that forbids
 * the statement: ERRCODE_INSUFFICIENT_RESOURCES, _OPERATOR_INTERVENTION,
 * _SYSTEM_ERROR and _INTERNAL_ERROR, by their classes.
 */
#define STATE_OF_SERVER "53 57 58 XX"

/* ----------
 * The journal of an earlier run
 * ----------
 */

bool
restore_journal_exists(PGconn *conn)
{
	return restore_journal_look(conn, RESTORE_JOURNAL_OBJECTS).exists;
}

pg_noreturn static void
refuse_foreign_schema(PGconn *conn, const char *schema)
{
	pg_log_error("schema \"%s\" in database \"%s\" of the target was not created by pg_parrestore",
				 schema, printable(PQdb(conn)));
	pg_fatal_hint("Rename the schema: ALTER SCHEMA %s RENAME TO %s_old;",
				  schema, schema);
}

void
restore_journal_check_schema(PGconn *conn, const char *schema,
							 const RestoreJournalLook *look)
{
	if (look->exists && !look->is_own)
	{
		pg_log_error("schema \"%s\" in database \"%s\" of the target belongs to another role",
					 schema, printable(PQdb(conn)));
		pg_fatal_hint("Resume the restore as the role that started it.  This includes the role specified with --role.");
	}
	if (look->exists && !look->is_complete)
		refuse_foreign_schema(conn, schema);
}

/*
 * Is there a journal?  The session has the role of --role.  A schema of
 * another role with this name could contain anything, so it is refused.
 */
static RestoreJournalLook
look_for_own(PGconn *conn)
{
	const RestoreJournalLook look = restore_journal_look(conn, RESTORE_JOURNAL_OBJECTS);

	restore_journal_check_schema(conn, RESTORE_JOURNAL_SCHEMA, &look);
	return look;
}

static bool
is_there(PGconn *conn)
{
	return look_for_own(conn).exists;
}

/* ----------
 * A new or resumed journal
 * ----------
 */

/*
 * Create the journal's schema.  If it exists now, another run has created it
 * at the same time.  An event trigger of the target may forbid it; a restore
 * need not fail for that reason.  Returns NULL, or the error message; owned.
 */
static char *
make_schema(PGconn *conn)
{
	PGresult   *res = PQexec(conn, make_command);

	/* ERRCODE_DUPLICATE_SCHEMA, ERRCODE_UNIQUE_VIOLATION */
	if (session_error_is(res, "42P06 23505"))
		restore_journal_lock_refuse();
	if (PQresultStatus(res) == PGRES_COMMAND_OK)
		return NULL;
	if (session_is_lost(conn, res) || session_error_is(res, STATE_OF_SERVER))
		session_failed(conn, res, "query failed", make_command);
	return pg_strdup(PQresultErrorMessage(res));
}

/*
 * Begin a restore that cannot be resumed.  The database's advisory lock keeps
 * other runs out.
 */
static void
begin_without_journal(RestoreJournal *journal, PGconn *conn)
{
	journal->is_kept = false;
	if (!restore_journal_lock_wait_database(journal->lock))
	{
		char	   *holder = restore_journal_holder(journal->lock, false);

		pg_log_error("could not lock the target database for the restore");
		pg_log_error_detail("Another pg_parrestore is restoring into it, or another session holds the same advisory lock.");
		if (holder)
			pg_log_error_detail("%s", holder);
		pg_log_error_hint("Wait until that session ends, or grant the role CREATE on the database; then the restore does not need this lock.");
		exit(1);
	}

	/*
	 * A run with a journal sees this lock, but may have created its journal
	 * before the lock was taken.
	 */
	if (is_there(conn))
		restore_journal_lock_refuse();
}

/*
 * Return a random number, so that workers which an earlier run has left
 * behind find that a new journal is not theirs.
 */
static int
first_attempt(void)
{
	uint32		random;

	if (!pg_strong_random(&random, sizeof(random)))
		pg_fatal("could not generate random bytes");
	return (int) (random % FIRST_ATTEMPTS) + 1;
}

/*
 * Create a journal, and lock it.  The schema is committed before it is
 * locked, because other sessions cannot see, and so cannot try to lock, a
 * view that is not committed.  Another run may lock it in between, so the
 * number of the attempt is compared after the lock was taken.
 */
static void
restore_journal_open_begin(RestoreJournal *journal, PGconn *conn, const RestoreJournalRestore *restore,
						   bool may_make)
{
	char	   *error;

	journal->attempt = first_attempt();
	journal->is_kept = may_make;
	if (!journal->is_kept)
	{
		pg_log_warning("the restore cannot be resumed if it is interrupted");
		pg_log_warning_detail("The role may not create a schema in the target database, where progress is recorded.");
		restore_journal_grant_hint(conn);
		begin_without_journal(journal, conn);
		return;
	}
	session_begin_unwatched(conn, "BEGIN");
	error = make_schema(conn);
	if (error)
	{
		target_command(conn, "ROLLBACK");
		pg_log_warning("the restore cannot be resumed if it is interrupted");
		pg_log_warning_detail("Could not create the restore journal on the target: %s",
							  error);
		begin_without_journal(journal, conn);
		return;
	}
	restore_journal_begin(journal, conn, restore->archive, restore->selection);
	target_command(conn, "COMMIT");
	/* another run may have changed the journal before it was locked */
	if (restore_journal_lock_view(journal->lock, RESTORE_JOURNAL_LOCK_VIEW) != RESTORE_JOURNAL_LOCKED)
		restore_journal_lock_refuse();
	restore_journal_check_attempt(journal, conn);
}

/*
 * Exit with a message if two identities differ; what is its detail.  Those of
 * archives are checksums, which are not shown.
 */
static void
refuse_other(const char *what, const char *then, const char *now, bool details)
{
	if (strcmp(then, now) == 0)
		return;
	pg_log_error("the restore cannot be resumed");
	pg_log_error_detail("%s", what);
	if (details)
	{
		pg_log_error_detail("Selection of the earlier run: \"%s\".",
							printable(then));
		pg_log_error_detail("Selection of this command: \"%s\".", now);
	}
	pg_fatal_hint(REMOVE_HINT);
}

void
restore_journal_read(RestoreJournal *journal, PGconn *conn)
{
	char	   *sql = psprintf(lines_query, journal->has_crcs ? "d.crc" : "NULL");
	PGresult   *res = target_query(conn, sql, 0, NULL);

	free(sql);
	journal->lines = pg_malloc((PQntuples(res) + 1) * sizeof(RestoreJournalLine));
	journal->n_lines = PQntuples(res);
	for (int i = 0; i < journal->n_lines; i++)
	{
		journal->lines[i].name = pg_strdup(PQgetvalue(res, i, 0));
		journal->lines[i].errors = atoi(PQgetvalue(res, i, 1));
		journal->lines[i].crc = PQgetisnull(res, i, 2) ? -1 :
			strtoll(PQgetvalue(res, i, 2), NULL, 10);
	}
}

/*
 * Find out whether the journal contains CRCs.  Without these, the pieces that
 * an older version has committed cannot be compared with the rows that a
 * command returns now.
 */
static void
resume_crcs(RestoreJournal *journal, PGconn *conn)
{
	PGresult   *res;

	if (!journal->has_crcs)
		return;
	res = target_query(conn, crc_query, 0, NULL);
	journal->has_crcs = PQntuples(res) > 0;
	PQclear(res);
	if (journal->has_crcs)
		return;
	pg_log_warning("the rows that commands return cannot be compared with those that were committed before");
	pg_log_warning_detail("An older version of pg_parrestore began this restore, and recorded no checksums of rows.");
}

/*
 * Continue the journal of an earlier run.  The number of the attempt is
 * incremented in the transaction that reads the journal's head and locks its
 * row.  After its COMMIT, no worker of the earlier run can write a line.
 */
static void
resume(RestoreJournal *journal, PGconn *conn, const RestoreJournalRestore *restore)
{
	PGresult   *res;

	session_begin_unwatched(conn, "BEGIN");
	res = target_query(conn, head_query, 0, NULL);
	if (PQntuples(res) != 1)
		refuse_foreign_schema(conn, RESTORE_JOURNAL_SCHEMA);
	refuse_other("The archive has changed.", PQgetvalue(res, 0, 0),
				 restore->archive, false);
	refuse_other("The options that select the restored objects have changed.",
				 PQgetvalue(res, 0, 1), restore->selection, true);
	journal->is_kept = true;
	journal->is_resumed = true;
	journal->attempt = atoi(PQgetvalue(res, 0, 2)) + 1;
	PQclear(res);
	resume_crcs(journal, conn);
	target_command(conn, resume_query);
	target_command(conn, "COMMIT");
	restore_journal_read(journal, conn);
}

/*
 * Warn that the schema remains, for example because an event trigger of the
 * target forbids to drop it.  The restore does not fail for that reason.
 */
static void
warn_of_rest(const PGresult *res)
{
	pg_log_warning("could not drop schema " RESTORE_JOURNAL_SCHEMA " of the restore journal on the target: %s",
				   PQresultErrorMessage(res));
	pg_log_warning_hint("Drop it: DROP SCHEMA " RESTORE_JOURNAL_SCHEMA " CASCADE;");
}

/*
 * Remove the journal with all lines, and call then() in the same transaction.
 * DROP SCHEMA waits for any session that reads the tables, such as a dump of
 * the target, so long waits are reported.  If the journal cannot be dropped,
 * a last line keeps --resume from calling then() again, and the result is
 * false.
 */
static bool
drop_journal(RestoreJournal *journal, void (*then) (void *arg, PGconn *conn), void *arg)
{
	PGresult   *res;
	bool		dropped;

	interrupt_set_connection(journal->lock);
	if (journal->check_crash)
		journal->check_crash(journal->check_arg, journal->lock, true);
	target_command(journal->lock, SESSION_SAVEPOINT);
	res = restore_journal_wait_exec(journal->target, journal->lock, &wait_removal,
									RESTORE_JOURNAL_SCHEMA, DROP_COMMAND, 0, NULL);
	dropped = PQresultStatus(res) == PGRES_COMMAND_OK;
	if (!dropped)
	{
		interrupt_check();
		if (session_is_lost(journal->lock, res) || session_error_is(res, STATE_OF_SERVER))
			session_failed(journal->lock, res, "query failed", DROP_COMMAND);
		warn_of_rest(res);
		target_command(journal->lock, SESSION_ROLLBACK_TO);
		/* an earlier run that could not drop it has called then() */
		if (!restore_journal_claim(journal, journal->lock, LINE_OF_END))
			then = NULL;
	}
	PQclear(res);
	if (then)
		then(arg, journal->lock);
	journal->is_ending = true;
	target_command(journal->lock, "COMMIT");
	journal->is_ending = false;
	return dropped;
}

void
restore_journal_refuse_unfinished(PGconn *conn, const Options *options)
{
	if (!is_there(conn))
		return;
	pg_log_error("an unfinished restore was found in this database");
	if (options->data_only && !options->restore)
		pg_log_error_hint("To avoid loading rows twice, empty the tables "
						  "first, and then use DROP SCHEMA "
						  RESTORE_JOURNAL_SCHEMA " CASCADE to discard the "
						  "restore journal.");
	else
		pg_log_error_hint(options->restore ?
						  "Use --resume to continue the restore, --clean to start again, or DROP SCHEMA " RESTORE_JOURNAL_SCHEMA " CASCADE to discard the restore journal." :
						  REMOVE_HINT);
	exit(1);
}

/*
 * Leave out this schema of the archive, which belongs to a restore that was
 * running during the dump.  Exit with a message if it contains objects.
 */
static void
refuse_schema(RestoreSchedule *schedule, const char *schema)
{
	restore_schedule_leave_out_schema(schedule, schema);
	for (int i = 0; i < schedule->toc->n_entries; i++)
	{
		const TocEntry *entry = &schedule->toc->entries[i];

		if (entry->namespace == NULL || strcmp(entry->namespace, schema) != 0)
			continue;
		pg_log_error("the archive was dumped from a database with an unfinished restore");
		pg_log_error_detail("The archive lacks all data that this restore had not loaded yet.");
		pg_log_error_hint("To restore the archive anyway, use -N %s, which excludes the journal of that restore.",
						  schema);
		exit(1);
	}
}

void
restore_journal_refuse(RestoreSchedule *schedule)
{
	refuse_schema(schedule, RESTORE_JOURNAL_SCHEMA);
	refuse_schema(schedule, RESTORE_JOURNAL_ALL_SCHEMA);
}

RestoreJournal *
restore_journal_open(const Target *target, const RestoreJournalRestore *restore)
{
	const Options *options = target->options;
	PGconn	   *conn = target->conn;
	RestoreJournal *journal = pg_malloc0(sizeof(RestoreJournal));
	const RestoreJournalLook look = look_for_own(conn);
	bool		there = look.exists;

	journal->target = target;
	journal->has_crcs = restore->has_crcs;
	journal->lock = target_connect(target);
	restore_journal_session_note(journal);
	if (there)
	{
		RestoreJournalLock state = restore_journal_lock_view_wait(journal->lock,
																  RESTORE_JOURNAL_LOCK_VIEW);

		if (state == RESTORE_JOURNAL_HELD)
			restore_journal_lock_refuse();
		/* The run that had the lock left no journal: it was completed. */
		if (state == RESTORE_JOURNAL_GONE || !is_there(conn))
		{
			pg_log_error("another pg_parrestore was restoring into this database, and has just ended");
			pg_log_error_hint("Check the contents of the database, and run the same command again if the restore is still needed.");
			exit(1);
		}
	}
	if (options->resume && !there)
	{
		pg_log_error("database \"%s\" contains no restore to resume",
					 printable(PQdb(conn)));
		pg_log_error_detail("A restore that was completed, or could not create schema \"" RESTORE_JOURNAL_SCHEMA "\", cannot be resumed.");
		pg_log_error_hint("Check the name of the database, or restore again, into an empty database or with --clean.");
		exit(1);
	}
	if (there && !options->resume && !options->clean)
		restore_journal_refuse_unfinished(conn, options);
	if (there && !options->resume && !drop_journal(journal, NULL, NULL))
		pg_fatal("the restore cannot start while schema " RESTORE_JOURNAL_SCHEMA " of an earlier restore exists");
	interrupt_set_connection(conn);
	if (options->resume)
		resume(journal, conn, restore);
	else
		restore_journal_open_begin(journal, conn, restore, look.may_make);
	if (journal->is_kept)
		restore_journal_lock_warn(conn);
	return journal;
}

void
restore_journal_forget(const RestoreJournal *journal, PGconn *conn, char *const *names,
					   int n_names, char *const *failed, int n_failed)
{
	const char *params[] = {text_array(conn, names, n_names),
	text_array(conn, failed, n_failed)};

	PQclear(target_query(conn, forget_query, 2, params));
	restore_journal_mark(journal, conn);
}

/* ----------
 * The end of the journal
 * ----------
 */
typedef struct JournalEnd
{
	RestoreJournal *journal;
	Target	   *target;
	void		(*then) (void *arg, PGconn *conn);
	void	   *arg;
} JournalEnd;

static void
remove_journal(void *arg)
{
	JournalEnd *end = arg;

	(void) restore_journal_session_keep(end->journal, end->target);
	target_keep(end->target);
	if (!end->journal->is_gone)
		(void) drop_journal(end->journal, end->then, end->arg);
}

void
restore_journal_end(RestoreJournal *journal, Target *target,
					void (*then) (void *arg, PGconn *conn), void *arg)
{
	JournalEnd	end = {journal, target, then, arg};

	if (journal->is_kept)
		restore_journal_session_insist(remove_journal, &end, target->options);
	interrupt_set_connection(target->conn);
	session_close(journal->lock);
}

/* ----------
 * Notes of a restore of all databases
 * ----------
 */

/* A process runs only one restore. */
static struct
{
	RestoreJournalNote note;
	void	   *arg;
}			end_note;

typedef struct EndNote
{
	Target	   *target;
	bool		is_done;
	int			errors;
} EndNote;

void
restore_journal_set_note(RestoreJournalNote note, void *arg)
{
	end_note.note = note;
	end_note.arg = arg;
}

static void
write_note(void *arg)
{
	const EndNote *end = arg;
	PGresult   *res;
	Oid			database;

	target_keep(end->target);
	res = target_query(end->target->conn, "SELECT d.oid FROM pg_catalog.pg_database d"
					   " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()",
					   0, NULL);
	if (PQntuples(res) != 1)
	{
		pg_log_error("the target database was dropped during the run");
		pg_fatal_hint("Start the restore again into another database.");
	}
	database = (Oid) strtoul(PQgetvalue(res, 0, 0), NULL, 10);
	PQclear(res);
	end_note.note(end_note.arg, database, end->is_done, end->errors);
}

void
restore_journal_note(Target *target, bool is_done, int errors)
{
	EndNote		end = {target, is_done, errors};

	if (end_note.note == NULL)
		return;
	restore_journal_session_insist(write_note, &end, target->options);
	interrupt_set_connection(target->conn);
}
