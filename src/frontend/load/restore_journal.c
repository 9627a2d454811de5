/*
 * restore_journal.c
 *		Reads and writes the lines of the journal of a restore.
 *
 * Every line is written in the transaction that does the work, so that both
 * are committed or lost together.  The INSERT also compares the number of the
 * attempt: if a run was considered dead, but its workers are alive, they find
 * another number, and stop before they load anything twice.
 *
 * An INSERT of a line that another session has written but not committed
 * waits for that session, because of the unique index.  This is necessary,
 * but a user must learn why nothing happens, so the waits are watched and
 * reported.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/clock.h"
#include "load/restore_journal.h"
#include "load/target_ask.h"
#include "session/session_lost.h"

/* ----------
 * Waits for other sessions, which are reported.
 * ----------
 */

/*
 * When a wait is reported first, and the largest interval of later reports;
 * each interval is twice as long as the previous one.
 */
#define FIRST_TOLD_MS 5000
#define TOLD_AGAIN_MS 60000

/* How often to check the time meanwhile. */
#define LOOK_MS 500

/* How long the query for the blocking sessions may take. */
#define ANSWER_MS 15000

/*
 * The sessions that block this process, as far as the role may know.  A
 * session still exists after its client has given it up, until the server
 * notices that.
 */
static const char blocking_query[] =
"SELECT b.pid, COALESCE(a.usename, '?'), COALESCE(a.application_name, '?'),"
" pg_catalog.host(a.client_addr), a.state,"
" COALESCE(EXTRACT(epoch FROM pg_catalog.clock_timestamp()"
" OPERATOR(pg_catalog.-) a.state_change)::pg_catalog.int8, 0)"
" FROM (SELECT DISTINCT pg_catalog.unnest(pg_catalog.pg_blocking_pids(%d)) AS pid) b"
" LEFT JOIN pg_catalog.pg_stat_activity a"
" ON a.pid OPERATOR(pg_catalog.=) b.pid ORDER BY b.pid";

#define CLAIM_HINT \
	"If that session is stopped or its host does not respond, end it there, or with pg_terminate_backend() and its process ID.  Other sessions then repeat its uncommitted work."

static const RestoreJournalWait restore_journal_wait_claim_entry = {
	.message = "still waiting after %d s for another session to restore entry %s of the archive",
	.hint = CLAIM_HINT
};

static const RestoreJournalWait restore_journal_wait_claim_archive = {
	.message = "still waiting after %d s for another session to restore the archive",
	.hint = CLAIM_HINT
};

static const RestoreJournalWait restore_journal_wait_look_at = {
	.message = "still waiting after %d s for another session to unlock schema \"%s\"",
	.hint = "Wait for the session that locks the schema, or end it with pg_terminate_backend()."
};

/*
 * The columns of the query.  The state is NULL if the role may not see it;
 * then the host is unknown, too.  Otherwise, the host is NULL for a session
 * on the server's own host.
 */
enum
{
	BLOCKING_PID,
	BLOCKING_ROLE,
	BLOCKING_APPLICATION,
	BLOCKING_HOST,
	BLOCKING_STATE,
	BLOCKING_SECONDS
};

static void
report_sessions(const PGresult *sessions)
{
	for (int i = 0; i < PQntuples(sessions); i++)
	{
		const char *pid = PQgetvalue(sessions, i, BLOCKING_PID);
		const char *role = printable(PQgetvalue(sessions, i, BLOCKING_ROLE));
		const char *application = printable(PQgetvalue(sessions, i, BLOCKING_APPLICATION));
		const char *state = PQgetvalue(sessions, i, BLOCKING_STATE);
		const char *seconds = PQgetvalue(sessions, i, BLOCKING_SECONDS);

		if (PQgetisnull(sessions, i, BLOCKING_STATE))
			pg_log_warning_detail("The state of process %s of role \"%s\", application \"%s\", is unknown.",
								  pid, role, application);
		else if (PQgetisnull(sessions, i, BLOCKING_HOST))
			pg_log_warning_detail("Process %s of role \"%s\", application \"%s\", on the server's host has been in state \"%s\" for %s s.",
								  pid, role, application, state, seconds);
		else
			pg_log_warning_detail("Process %s of role \"%s\", application \"%s\", on host %s has been in state \"%s\" for %s s.",
								  pid, role, application,
								  PQgetvalue(sessions, i, BLOCKING_HOST), state,
								  seconds);
	}
}

/*
 * Query in another session which sessions block this one, as the user who
 * connected, because the role of --role may see less.  If this fails nothing
 * is reported; if the server is down, the wait itself will notice that.
 */
static void
restore_journal_report(const Target *target, int backend, const RestoreJournalWait *wait, const char *name,
					   int64 waited_ms)
{
	PGconn	   *conn = connection_try_peer(target->address, "pg_pardump");
	PGresult   *sessions = session_exec_within(conn, psprintf(blocking_query, backend),
											   ANSWER_MS);
	bool		known = PQresultStatus(sessions) == PGRES_TUPLES_OK;

	/* Without blocking sessions it waits for something else, or no longer. */
	if (!known || PQntuples(sessions) > 0)
	{
		pg_log_warning(wait->message, (int) (waited_ms / 1000), printable(name));
		if (known)
			report_sessions(sessions);
		else
			pg_log_warning_detail("Could not get the blocking session: %s",
								  connection_words(conn));
		pg_log_warning_hint("%s", wait->hint);
	}
	PQclear(sessions);
	PQfinish(conn);
}

/*
 * Run a statement that may wait for other sessions.  The worker's watch
 * checks for silence of the source, which this wait does not concern.  So
 * session_wait_ends() resets the watch each time.
 */
PGresult *
restore_journal_wait_exec(const Target *target, PGconn *conn, const RestoreJournalWait *wait,
						  const char *name, const char *sql, int n_params,
						  const char *const *params)
{
	int64		begun_at = clock_monotonic_ms();
	int64		report_after_ms = FIRST_TOLD_MS;
	PGresult   *res = NULL;

	if (!PQsendQueryParams(conn, sql, n_params, NULL, params, NULL, NULL, 0))
		return NULL;
	while ((res = session_wait_result(conn, LOOK_MS)) == NULL &&
		   PQtransactionStatus(conn) == PQTRANS_ACTIVE)
	{
		int64		waited_ms = clock_monotonic_ms() - begun_at;

		session_wait_ends();
		if (waited_ms < report_after_ms)
			continue;
		restore_journal_report(target, PQbackendPID(conn), wait, name, waited_ms);
		report_after_ms += Min(report_after_ms, TOLD_AGAIN_MS);
	}
	return res;
}

/* ----------
 * Names of lines.
 * ----------
 */

char *
restore_journal_file(const DataFile *file)
{
	return psprintf("rows %d", file->dump_id);
}

char *
restore_journal_piece(const DataFile *file, uint64 piece)
{
	return psprintf("rows %d piece " UINT64_FORMAT, file->dump_id, piece);
}

char *
restore_journal_group(const ArchiveGroup *place, const LargeObjectGroup *group)
{
	return psprintf("large objects %d %u", place->entry->dump_id,
					group->oids[0]);
}

char *
restore_journal_left_out(const DataFile *file)
{
	return psprintf("left out %d", file->dump_id);
}

/* ----------
 * The lines.
 * ----------
 */

/*
 * Writes lines, unless another run has taken over.  If a run that was
 * considered dead writes its line just before that, the other run's line
 * waits for its transaction.
 */
static const char claim_query[] =
"INSERT INTO " RESTORE_JOURNAL_SCHEMA ".done (name, attempt, errors)"
" SELECT pg_catalog.unnest($1::pg_catalog.text[]), r.attempt, $3::pg_catalog.int4"
" FROM " RESTORE_JOURNAL_SCHEMA ".run r"
" WHERE r.attempt OPERATOR(pg_catalog.=) $2::pg_catalog.int4"
" ON CONFLICT (name) DO NOTHING";

/* Which session holds the lock of a run without a journal? */
#define HOLDER_QUERY \
"SELECT pg_catalog.concat_ws(' ', l.pid, COALESCE(a.usename, '?'))" \
" FROM pg_catalog.pg_locks l" \
" LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) l.pid" \
" JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) l.database" \
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()" \
" AND l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.granted" \
" AND ROW(l.classid, l.objid) OPERATOR(pg_catalog.=)" \
" ROW(1885434468::pg_catalog.oid, 1::pg_catalog.oid)"

/*
 * One statement for several steps, so that it is one entry in
 * pg_stat_statements.  If $2 is an archive it begins a journal with attempt
 * $1.  If $4 is true it marks the journal, which must belong to that attempt.
 * It returns the previous current attempt, whether the journal was marked
 * and, if $5 is true, the holder of the lock.
 */
static const char state_query[] =
"WITH begun AS (INSERT INTO " RESTORE_JOURNAL_SCHEMA ".run (attempt, archive, selection)"
" SELECT $1::pg_catalog.int4, $2::pg_catalog.text, $3::pg_catalog.text"
" WHERE $2::pg_catalog.text IS NOT NULL RETURNING attempt),"
" marked AS (INSERT INTO " RESTORE_JOURNAL_SCHEMA ".no_crash (attempt)"
" SELECT a.attempt FROM (SELECT r.attempt FROM " RESTORE_JOURNAL_SCHEMA ".run r"
" UNION ALL SELECT b.attempt FROM begun b) a"
" WHERE $4::pg_catalog.bool AND a.attempt OPERATOR(pg_catalog.=) $1::pg_catalog.int4"
" AND NOT EXISTS (SELECT FROM " RESTORE_JOURNAL_SCHEMA ".no_crash))"
" SELECT r.attempt, EXISTS (SELECT FROM " RESTORE_JOURNAL_SCHEMA ".no_crash),"
" (" HOLDER_QUERY " AND $5::pg_catalog.bool LIMIT 1)"
" FROM " RESTORE_JOURNAL_SCHEMA ".run r";
enum
{
	STATE_ATTEMPT,
	STATE_IS_MARKED,
	STATE_HOLDER
};

/*
 * The tables cannot be replaced while they are locked, until the transaction
 * ends.
 */
static const char lock_command[] =
"LOCK TABLE " RESTORE_JOURNAL_SCHEMA ".run, " RESTORE_JOURNAL_SCHEMA ".done, "
RESTORE_JOURNAL_SCHEMA ".no_crash IN ACCESS SHARE MODE";

static const char errors_query[] =
"SELECT d.errors FROM " RESTORE_JOURNAL_SCHEMA ".done d"
" WHERE d.name OPERATOR(pg_catalog.=) $1::pg_catalog.text";

static const char set_errors_query[] =
"UPDATE " RESTORE_JOURNAL_SCHEMA ".done SET errors = $2::pg_catalog.int4"
" WHERE name OPERATOR(pg_catalog.=) $1::pg_catalog.text";

static const char set_crc_query[] =
"UPDATE " RESTORE_JOURNAL_SCHEMA ".done SET crc = $2::pg_catalog.int8"
" WHERE name OPERATOR(pg_catalog.=) $1::pg_catalog.text";

static const char pieces_query[] =
"SELECT pg_catalog.count(*), COALESCE(pg_catalog.sum(d.crc), 0)"
" FROM " RESTORE_JOURNAL_SCHEMA ".done d"
" WHERE d.name OPERATOR(pg_catalog.>=) $1::pg_catalog.text"
" AND d.name OPERATOR(pg_catalog.<) $2::pg_catalog.text";

char *
restore_journal_entry(const TocEntry *entry)
{
	return psprintf("entry %d", entry->dump_id);
}

static int
restore_journal_compare_names(const void *key, const void *line)
{
	return strcmp(key, ((const RestoreJournalLine *) line)->name);
}

const RestoreJournalLine *
restore_journal_find(const RestoreJournal *journal, const char *name)
{
	if (journal == NULL || journal->n_lines == 0)
		return NULL;
	return bsearch(name, journal->lines, journal->n_lines, sizeof(RestoreJournalLine),
				   restore_journal_compare_names);
}

bool
restore_journal_is_done(const RestoreJournal *journal, const char *name)
{
	return restore_journal_find(journal, name) != NULL;
}

bool
restore_journal_has(const RestoreJournal *journal, char *name)
{
	bool		result = restore_journal_is_done(journal, name);

	free(name);
	return result;
}

void
restore_journal_refuse_taken_over(void)
{
	pg_log_error("another run of pg_parrestore has taken over this restore");
	pg_log_error_detail("It was started with --resume or --clean after this run.");
	pg_fatal_hint("Wait until the other run has ended.");
}

RestoreJournalLook
restore_journal_look(PGconn *conn, const char *objects)
{
	PGresult   *res = target_ask(conn, TARGET_OWN_SCHEMA, objects, NULL);
	RestoreJournalLook look = {0};

	if (PQntuples(res) != 1)
	{
		pg_log_error("could not look up the current role in database \"%s\" of the target",
					 printable(PQdb(conn)));
		pg_log_error_detail("Role \"%s\", or the role of option --role, was dropped during the run.",
							printable(PQuser(conn)));
		pg_fatal_hint("Create the role again, and run the same command again.");
	}
	look.exists = !PQgetisnull(res, 0, ASK_NUMBER);
	look.is_own = PQgetvalue(res, 0, ASK_IS)[0] == 't';
	look.is_complete = PQgetvalue(res, 0, ASK_ALSO)[0] == 't';
	look.may_make = atoi(PQgetvalue(res, 0, ASK_NO)) == 1;
	return look;
}

void
restore_journal_grant_hint(PGconn *conn)
{
	char	   *database = pg_strdup(fmtId(PQdb(conn)));
	char	   *role = session_value(conn, "SELECT CURRENT_USER");

	pg_log_warning_hint("As a superuser, run: GRANT CREATE ON DATABASE %s TO %s;",
						printable(database), printable(fmtId(role)));
	free(database);
	free(role);
}

/*
 * Check the owner of the journal, in the caller's transaction.  When a
 * journal is removed, every role that can create a schema can use its name.
 * A view or trigger that such a role creates there would run with this role's
 * privileges.  So the tables are locked, and their owner is checked, before
 * each use by a session that may have been idle.
 */
static void
check_owner(const RestoreJournal *journal, PGconn *conn)
{
	PGresult   *res = restore_journal_wait_exec(journal->target, conn,
												&restore_journal_wait_look_at, RESTORE_JOURNAL_SCHEMA,
												lock_command, 0, NULL);
	RestoreJournalLook look;

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(conn, res, "query failed", lock_command);
	PQclear(res);
	look = restore_journal_look(conn, RESTORE_JOURNAL_OBJECTS);
	if (!look.exists || !look.is_own || !look.is_complete)
	{
		pg_log_error("schema " RESTORE_JOURNAL_SCHEMA " on the target no longer belongs to this run");
		pg_log_error_detail("The schema was dropped or replaced during the run.");
		pg_fatal_hint("Run the same command again, into an empty database or with --clean.");
	}
}

static PGresult *
read_state(PGconn *conn, bool with_holder)
{
	const char *params[] = {NULL, NULL, NULL, "f", with_holder ? "t" : "f"};
	PGresult   *res = target_query(conn, state_query, lengthof(params), params);

	if (PQntuples(res) != 1)
		restore_journal_refuse_taken_over();
	return res;
}

static void
check_attempt(const RestoreJournal *journal, PGconn *conn)
{
	PGresult   *res = read_state(conn, false);

	if (atoi(PQgetvalue(res, 0, STATE_ATTEMPT)) != journal->attempt)
		restore_journal_refuse_taken_over();
	PQclear(res);
}

char *
restore_journal_holder(PGconn *conn, bool has_journal)
{
	PGresult   *res = has_journal ? read_state(conn, true) :
		target_query(conn, HOLDER_QUERY, 0, NULL);
	int			column = has_journal ? STATE_HOLDER : 0;
	char	   *result = NULL;

	if (PQntuples(res) > 0 && !PQgetisnull(res, 0, column))
	{
		const char *holder = PQgetvalue(res, 0, column);
		int			pid_bytes = strcspn(holder, " ");

		result = psprintf("Process %.*s of role \"%s\" holds the advisory lock ("
						  RESTORE_JOURNAL_DATABASE_LOCK ").",
						  pid_bytes, holder, printable(holder + pid_bytes + 1));
	}
	PQclear(res);
	return result;
}

void
restore_journal_check_attempt(const RestoreJournal *journal, PGconn *conn)
{
	bool		own_transaction = PQtransactionStatus(conn) == PQTRANS_IDLE;

	if (own_transaction)
		session_begin_unwatched(conn, "BEGIN");
	check_owner(journal, conn);
	check_attempt(journal, conn);
	if (own_transaction)
		target_command(conn, "COMMIT");
}

/* INSERT n lines, and return the result, even if it is an error; owned. */
static PGresult *
send_lines(const RestoreJournal *journal, PGconn *conn, char *const *names, int n,
		   int errors)
{
	char		attempt[16];
	char		number[16];
	char	   *array = text_array(conn, names, n);
	const char *params[] = {array, attempt, number};
	const char *digits = NULL;	/* the dump ID in the name of a line */
	char	   *entry;
	PGresult   *res;

	snprintf(attempt, sizeof(attempt), "%d", journal->attempt);
	snprintf(number, sizeof(number), "%d", errors);
	if (n > 0)
		digits = strpbrk(names[0], "0123456789");
	entry = digits ? pnstrdup(digits, strspn(digits, "0123456789")) : pg_strdup("");
	res = restore_journal_wait_exec(journal->target, conn, digits ?
									&restore_journal_wait_claim_entry :
									&restore_journal_wait_claim_archive,
									entry, claim_query, 3, params);
	free(entry);
	free(array);
	return res;
}

/* Write n lines.  Returns whether all were written. */
static bool
write_lines(const RestoreJournal *journal, PGconn *conn, char *const *names, int n,
			int errors)
{
	PGresult   *res = send_lines(journal, conn, names, n, errors);
	bool		written;

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(conn, res, "query failed", claim_query);
	written = atoi(PQcmdTuples(res)) == n;
	PQclear(res);
	return written;
}

/*
 * If the line exists already, this must still be the current run; otherwise
 * another run has taken over, and check_attempt() exits.
 */
bool
restore_journal_claim(const RestoreJournal *journal, PGconn *conn, const char *name)
{
	char	   *names[] = {unconstify(char *, name)};

	return restore_journal_claim_all(journal, conn, names, 1);
}

bool
restore_journal_claim_all(const RestoreJournal *journal, PGconn *conn, char *const *names, int n)
{
	if (journal == NULL || !journal->is_kept)
		return true;
	if (write_lines(journal, conn, names, n, 0))
		return true;
	check_attempt(journal, conn);
	return false;
}

void
restore_journal_mark(const RestoreJournal *journal, PGconn *conn)
{
	restore_journal_begin(journal, conn, NULL, NULL);
}

void
restore_journal_begin(const RestoreJournal *journal, PGconn *conn, const char *archive,
					  const char *selection)
{
	char		attempt[16];
	const char *params[] = {attempt, archive, selection, "t", "f"};

	if (journal == NULL || !journal->is_kept)
		return;
	snprintf(attempt, sizeof(attempt), "%d", journal->attempt);
	PQclear(target_query(conn, state_query, lengthof(params), params));
}

bool
restore_journal_has_crashed(const RestoreJournal *journal, PGconn *conn)
{
	PGresult   *res;
	bool		result;

	if (journal == NULL || !journal->is_kept)
		return false;
	res = read_state(conn, false);
	result = PQgetvalue(res, 0, STATE_IS_MARKED)[0] != 't';
	PQclear(res);
	return result;
}

void
restore_journal_done(const RestoreJournal *journal, PGconn *conn, const char *name, int errors)
{
	char	   *names[] = {unconstify(char *, name)};

	if (journal != NULL && journal->is_kept && !write_lines(journal, conn, names, 1, errors))
		restore_journal_check_attempt(journal, conn);
}

int
restore_journal_errors(const RestoreJournal *journal, PGconn *conn, const char *name)
{
	const char *params[] = {name};
	PGresult   *res;
	int			errors = 0;

	if (journal == NULL || !journal->is_kept)
		return 0;
	res = target_query(conn, errors_query, 1, params);
	if (PQntuples(res) == 1)
		errors = atoi(PQgetvalue(res, 0, 0));
	PQclear(res);
	return errors;
}

void
restore_journal_set_errors(const RestoreJournal *journal, PGconn *conn, const char *name,
						   int errors)
{
	char		number[16];
	const char *params[] = {name, number};

	if (journal == NULL || !journal->is_kept)
		return;
	snprintf(number, sizeof(number), "%d", errors);
	PQclear(target_query(conn, set_errors_query, 2, params));
}

void
restore_journal_set_crc(const RestoreJournal *journal, PGconn *conn, const char *name,
						pg_crc32c crc)
{
	char		number[16];
	const char *params[] = {name, number};

	if (journal == NULL || !journal->is_kept)
		return;
	snprintf(number, sizeof(number), "%u", crc);
	PQclear(target_query(conn, set_crc_query, 2, params));
}

/*
 * The names are compared byte by byte, and '!' follows ' '.  The sum is a
 * numeric, but has no more than 64 bits.
 */
PieceSums
restore_journal_pieces(const RestoreJournal *journal, PGconn *conn,
					   const DataFile *file)
{
	char	   *first = psprintf("rows %d piece ", file->dump_id);
	char	   *end = psprintf("rows %d piece!", file->dump_id);
	const char *params[] = {first, end};
	PieceSums	sums = {0};

	if (journal != NULL && journal->is_kept)
	{
		PGresult   *res = target_query(conn, pieces_query, 2, params);

		sums.n = strtoull(PQgetvalue(res, 0, 0), NULL, 10);
		sums.crcs = strtoull(PQgetvalue(res, 0, 1), NULL, 10);
		PQclear(res);
	}
	free(first);
	free(end);
	return sums;
}

bool
restore_journal_try_done(const RestoreJournal *journal, PGconn *conn, const char *name)
{
	char	   *names[] = {unconstify(char *, name)};
	PGresult   *res;
	bool		written;

	if (journal == NULL || !journal->is_kept)
		return true;
	res = send_lines(journal, conn, names, 1, 0);
	written = PQresultStatus(res) == PGRES_COMMAND_OK;
	PQclear(res);
	return written;
}

/*
 * With a journal the transaction ID is not needed after a lost COMMIT,
 * because the line shows whether it succeeded.
 */
void
restore_journal_commit(const RestoreJournal *journal, PGconn *conn, TargetCommit *commit)
{
	if (journal == NULL || !journal->is_kept)
	{
		target_commit(conn, commit);
		return;
	}
	target_command(conn, "COMMIT");
	commit->state = TARGET_COMMIT_DONE;
}

bool
restore_journal_is_committed(const RestoreJournal *journal, PGconn *conn, const Target *target,
							 TargetCommit *commit)
{
	if (journal == NULL || !journal->is_kept)
		return target_commit_is_done(conn, target, commit);
	return commit->state == TARGET_COMMIT_DONE;
}
