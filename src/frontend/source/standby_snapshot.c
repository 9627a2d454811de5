/*
 * standby_snapshot.c
 *		Takes the same snapshot on several standbys, by pausing their replay
 *		at the same WAL position.
 *
 * standby.h explains why the snapshots are the same, and what happens if the
 * positions differ.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "session/session_lost.h"
#include "session/snapshot.h"
#include "source/leader_session.h"
#include "source/standby_overflow.h"

static const char standby_pause_by_other[];

/* ----------
 * Pauses of replay, which end by themselves.
 *
 * A pause lasts until someone resumes replay.  If this program were killed
 * during a pause, or its network failed, the standby would stay paused
 * forever.  So one statement, in a session of its own, does everything: it
 * pauses, waits, and resumes.  The server runs the statement to its end even
 * if the client dies.  The statement waits for an advisory lock that the
 * first session on this standby holds, for a few seconds at most.  When that
 * session gives up the lock, or ends, replay resumes.
 * ----------
 */

typedef struct StandbyPause StandbyPause;

/*
 * The keys of the advisory locks are this number, which other programs are
 * unlikely to use, and the process ID of the first session.
 */
#define LOCK_CLASS "1885811312"

/* How long a session may take to answer, beyond the pause. */
#define ANSWER_MS (STANDBY_PAUSE_MS + 15000)

/*
 * How long a session may take to answer after the run has failed.  Waiting
 * must not delay the end of the run.
 */
#define EXIT_MS 2000

/*
 * 55006 object_in_use: the block below raises it if replay is already paused.
 */
#define SQLSTATE_BY_OTHER "55006"

/*
 * 55000 object_not_in_prerequisite_state: replay cannot be resumed, because
 * the standby is being promoted, or was, which has ended every pause.
 */
#define SQLSTATE_PROMOTED "55000"

struct StandbyPause
{
	const Standby *standby;
	PGconn	   *conn;			/* the session that pauses */
	char	   *lock_key;		/* LOCK_CLASS and a process ID */
	char	   *block;
	bool		begun;
	bool		failed;			/* the block may not have resumed replay */
};

/*
 * The server must not end the session within the block, neither because of a
 * timeout nor because the client is gone.  So these settings differ from
 * those of other sessions.
 */
static const char settings_query[] =
"SELECT pg_catalog.set_config(v.name, v.setting, false)"
" FROM (VALUES ('search_path', ''), ('statement_timeout', '0'), ('transaction_timeout', '0'),"
" ('client_connection_check_interval', '0'), ('client_min_messages', 'error'),"
" ('lock_timeout', '" CppAsString2(STANDBY_PAUSE_MS) "')) v (name, setting)"
" WHERE EXISTS (SELECT FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) v.name)";

/*
 * The inner block catches all errors: a request to cancel the statement, a
 * conflict with WAL that is replayed before the pause begins, and the timeout
 * of the lock.  Replay is resumed after it in any case.
 */
static const char block_format[] =
"DO LANGUAGE plpgsql $pause$ BEGIN"
" IF pg_catalog.pg_get_wal_replay_pause_state() OPERATOR(pg_catalog.<>) 'not paused' THEN"
" RAISE EXCEPTION USING ERRCODE = '" SQLSTATE_BY_OTHER "', MESSAGE = 'replay is paused already'; END IF;"
" BEGIN PERFORM pg_catalog.pg_wal_replay_pause();"
" PERFORM pg_catalog.pg_advisory_xact_lock_shared(%s);"
" EXCEPTION WHEN query_canceled OR OTHERS THEN NULL; END;"
" PERFORM pg_catalog.pg_wal_replay_resume(); END $pause$";

/*
 * Part of a query: has another run a pause of this kind on the server, in any
 * database?
 */
static const char standby_pause_by_other[] =
"EXISTS (SELECT FROM pg_catalog.pg_locks l"
" WHERE l.locktype OPERATOR(pg_catalog.=) 'advisory'"
" AND l.classid OPERATOR(pg_catalog.=) " LOCK_CLASS "::pg_catalog.oid"
" AND l.objid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()::pg_catalog.oid)";

/* ----------
 * If the block failed
 * ----------
 */

#define RESUME_HINT \
"If replay on the standby is paused, resume it with SELECT pg_wal_replay_resume()."

/* Why a statement in this session has failed; owned. */
static char *
words_of(const PGconn *conn)
{
	const char *words = connection_words(conn);

	return pg_strdup(*words ? words : "the server did not respond");
}

/*
 * If another user terminates the block's session, the standby stays paused.
 * So another session resumes replay, as the user who connected, not as the
 * role of --role.  Returns NULL on success, and otherwise the cause; owned.
 */
static char *
resume_after_failure(const StandbyPause *pause)
{
	PGconn	   *conn = connection_try_peer(pause->standby->address,
										   "pg_pardump resume");
	PGresult   *res = session_exec_within(conn,
										  "SELECT pg_catalog.pg_wal_replay_resume()",
										  ANSWER_MS);
	char	   *cause = PQresultStatus(res) == PGRES_TUPLES_OK ||
		session_error_is(res, SQLSTATE_PROMOTED) ? NULL : words_of(conn);

	PQclear(res);
	PQfinish(conn);
	return cause;
}

/*
 * Has the block failed?  res is NULL if there is no result yet, which is not
 * a failure.
 */
static bool
is_failure(const PGresult *res)
{
	return res && PQresultStatus(res) != PGRES_COMMAND_OK &&
		!session_error_is(res, SQLSTATE_BY_OTHER);
}

/* The message about a block that has failed; owned. */
static char *
failure_words(const StandbyPause *pause)
{
	return psprintf("could not pause replay on standby \"%s\": %s",
					pause->standby->name, words_of(pause->conn));
}

static void
resume(const StandbyPause *pause)
{
	char	   *cause = resume_after_failure(pause);

	pg_log_error("%s", failure_words(pause));
	if (cause == NULL)
		pg_log_error_detail("Replay was resumed.");
	else
		pg_log_error_hint(RESUME_HINT);
	free(cause);
}

/*
 * Give up the lock.  The first session may still be running a statement, or
 * be in a failed transaction, so this ends first.
 */
static void
give_up_lock(const StandbyPause *pause, int wait_ms)
{
	PGconn	   *conn = pause->standby->conn;

	if (PQtransactionStatus(conn) == PQTRANS_ACTIVE)
		PQclear(session_wait_result(conn, wait_ms));
	if (PQtransactionStatus(conn) == PQTRANS_INERROR)
		PQclear(session_exec_within(conn, "ROLLBACK", wait_ms));
	PQclear(session_exec_within(conn,
								psprintf("SELECT pg_catalog.pg_advisory_unlock(%s)",
										 pause->lock_key), wait_ms));
}

/*
 * An exit callback, if the run fails while standbys are paused.  The blocks
 * end by themselves, unless another user has terminated these sessions, too,
 * for example all sessions of this program.
 */
static void
standby_snapshot_end_at_exit(void *arg)
{
	StandbyPause *pause = arg;
	PGresult   *res;

	if (!pause->begun)
		return;
	pause->begun = false;
	interrupt_set_connection(NULL);
	give_up_lock(pause, EXIT_MS);
	res = session_wait_result(pause->conn, EXIT_MS);
	if (pause->failed || is_failure(res))
		resume(pause);
	PQclear(res);
}

/*
 * Open the session for a pause.  From now on an exit callback ends the pause
 * if the run fails.  Pauses must be removed in reverse order, like exit
 * callbacks.
 */
static void
open_pause(Standbys *standbys, const Standby *standby)
{
	StandbyPause *pause = pg_malloc0(sizeof(StandbyPause));
	bool		begun;

	pause->standby = standby;
	pause->lock_key = psprintf(LOCK_CLASS ", %d", session_backend(standby->conn));
	pause->block = psprintf(block_format, pause->lock_key);
	cleanup_push(standby_snapshot_end_at_exit, pause);
	standbys->pauses[standbys->n_pauses++] = pause;
	pause->conn = connection_try_peer(standby->address, "pg_pardump pause");

	/*
	 * The connection is not registered with interrupt.h: a signal cancels the
	 * leader's statements, but must not cancel this one.
	 */
	if (PQstatus(pause->conn) != CONNECTION_OK)
		session_lost(psprintf("could not open another connection to pause replay on standby \"%s\": %s",
							  standby->name, connection_words(pause->conn)));
	leader_watchdog_watch(pause->conn, standby->address, standbys->options);
	begun = session_begin_settings(pause->conn);
	PQclear(session_query(pause->conn, settings_query));
	session_end_settings(pause->conn, begun);
}

static void
close_pauses(Standbys *standbys)
{
	while (standbys->n_pauses > 0)
	{
		StandbyPause *pause = standbys->pauses[--standbys->n_pauses];

		cleanup_pop(standby_snapshot_end_at_exit, pause);
		session_close_and_wait(pause->conn);
	}
}

/*
 * Request a pause, which begins soon (pg_get_wal_replay_pause_state()).  The
 * standby must not be paused yet.
 */
static void
standby_pause_begin(StandbyPause *pause)
{
	/*
	 * The lock comes first: the block waits for it, and without it replay
	 * would resume at once.  Another session may know the key and hold the
	 * lock; it is not waited for.  "begun" is set before the statement is
	 * sent, so that an exit in between gives up the lock.
	 */
	if (!session_is_true(pause->standby->conn,
						 psprintf("SELECT pg_catalog.pg_try_advisory_lock(%s)",
								  pause->lock_key)))
	{
		pg_log_error("another session on standby \"%s\" holds the advisory lock that controls pauses of replay",
					 pause->standby->name);
		pg_fatal_detail("The key of the lock is %s.", pause->lock_key);
	}
	pause->begun = true;
	/* standby_pause_end() waits for the result. */
	if (!PQsendQuery(pause->conn, pause->block))
		session_lost(failure_words(pause));
}

/*
 * End the pause and wait for its end; does nothing if no pause was begun.  It
 * is not a failure if replay was already paused: then the block has done
 * nothing.  If the block has failed, resumes replay in another way, and exits
 * with a message; but if may_repeat is true and the session was lost, leaves
 * that to standby_snapshot_end_pauses().
 */
static void
standby_pause_end(StandbyPause *pause, bool may_repeat)
{
	PGresult   *res;

	if (!pause->begun)
		return;
	PQclear(session_query(pause->standby->conn,
						  psprintf("SELECT pg_catalog.pg_advisory_unlock(%s)",
								   pause->lock_key)));

	/*
	 * The block gets the lock, resumes replay, and ends.  So its result shows
	 * that replay continues.
	 */
	res = session_wait_result(pause->conn, ANSWER_MS);
	pause->failed = res == NULL || is_failure(res);
	if (pause->failed && may_repeat &&
		(res == NULL || session_is_lost(pause->conn, res)))
		session_lost(failure_words(pause));
	pause->begun = false;
	if (pause->failed)
	{
		resume(pause);
		exit(1);
	}
	PQclear(res);
}

/*
 * After a session was lost: end the pause, and wait for its end, because the
 * next attempt would take it for another user's.  Both sessions of the pause
 * may be lost.
 */
static void
end_lost_pause(StandbyPause *pause, int max_retries)
{
	Retry		retry = {0};
	char	   *cause;

	if (!pause->failed)
	{
		PGresult   *res;

		give_up_lock(pause, EXIT_MS);
		res = session_wait_result(pause->conn, ANSWER_MS);
		pause->failed = res == NULL || is_failure(res);
		PQclear(res);
	}
	while (pause->failed && (cause = resume_after_failure(pause)) != NULL)
	{
		interrupt_check();
		if (retry.n == max_retries)
		{
			pause->begun = false;
			pg_log_error("could not resume replay on standby \"%s\": %s",
						 pause->standby->name, cause);
			pg_fatal_hint(RESUME_HINT);
		}
		free(cause);
		pg_usleep(retry_later(&retry) * 1000L);
	}
	pause->begun = false;
}

void
standby_snapshot_end_pauses(Standbys *standbys)
{
	for (int i = 0; i < standbys->n_pauses; i++)
		if (standbys->pauses[i]->begun)
			end_lost_pause(standbys->pauses[i],
						   (int) standbys->options->retries);
	close_pauses(standbys);
}

/* ----------
 * The snapshots.
 * ----------
 */

/* How long to try to find all standbys at the same position. */
#define TRY_FOR_MS 60000

/* How long replay may take to stop; much less than a pause lasts. */
#define STOP_MS 2000

/* While a standby is this many bytes of WAL behind, none is paused. */
#define FAR_BEHIND ((uint64) 16 * 1024 * 1024)

/*
 * How many times to look, before each attempt, whether the standbys are at
 * the same position.
 */
#define LOOKS 30

/* The number of pauses that may give incomplete snapshots. */
#define MAX_INCOMPLETE 5

/* The position of replay on a standby, and whether it is paused. */
typedef struct ReplayState
{
	bool		paused;			/* and confirmed: nothing is replayed now */
	bool		by_somebody;	/* is paused, or a pause was requested */
	bool		by_other_run;	/* by another run of this program, for a
								 * moment */
	uint64		lsn;
	char		lsn_text[32];
	int			timeline;
} ReplayState;

typedef struct Moment
{
	Standbys   *standbys;
	ReplayState *states;		/* by standby, as last read */
	bool	   *was_paused;		/* by standby: was it paused, but not by this
								 * run? */
	OverflowLook *looks;		/* by standby */
	const StandbyOthers *others;	/* or NULL */
	int			n_incomplete;	/* pauses that gave incomplete snapshots */
} Moment;

/*
 * The timeline is that of the WAL that is received.  If none is, it comes
 * from the control file, which is updated later.
 */
static const char state_format[] =
"SELECT pg_catalog.pg_get_wal_replay_pause_state(), pg_catalog.pg_last_wal_replay_lsn(),"
" COALESCE((SELECT w.received_tli FROM pg_catalog.pg_stat_wal_receiver w),"
" GREATEST(c.timeline_id, r.min_recovery_end_timeline)), %s"
" FROM pg_catalog.pg_control_checkpoint() c, pg_catalog.pg_control_recovery() r";

static ReplayState
read_state(const Standby *standby)
{
	char	   *sql = psprintf(state_format, standby_pause_by_other);
	PGresult   *res = session_query(standby->conn, sql);
	ReplayState state = {false};
	uint32		high;
	uint32		low;

	if (PQntuples(res) != 1 ||
		sscanf(PQgetvalue(res, 0, 1), "%X/%X", &high, &low) != 2)
	{
		pg_log_error("could not get the replay position of standby \"%s\"",
					 standby->name);
		pg_fatal_detail("Function pg_last_wal_replay_lsn() returned \"%s\".",
						PQntuples(res) == 1 ? printable(PQgetvalue(res, 0, 1)) : "");
	}
	state.paused = strcmp(PQgetvalue(res, 0, 0), "paused") == 0;
	state.by_somebody = strcmp(PQgetvalue(res, 0, 0), "not paused") != 0;
	state.by_other_run = result_is_true(res, 0, 3);
	state.lsn = ((uint64) high) << 32 | low;
	strlcpy(state.lsn_text, PQgetvalue(res, 0, 1), sizeof(state.lsn_text));
	state.timeline = atoi(PQgetvalue(res, 0, 2));
	PQclear(res);
	free(sql);
	interrupt_check();
	return state;
}

static void
read_states(Moment *moment)
{
	for (int i = 0; i < moment->standbys->n; i++)
		moment->states[i] = read_state(&moment->standbys->list[i]);
}

/*
 * The first standby whose position differs from that of the source's server,
 * or -1.
 */
static int
find_other_place(const Moment *moment)
{
	for (int i = 1; i < moment->standbys->n; i++)
		if (moment->states[i].lsn != moment->states[0].lsn)
			return i;
	return -1;
}

static void
check_timelines(const Moment *moment)
{
	for (int i = 1; i < moment->standbys->n; i++)
	{
		if (moment->states[i].timeline == moment->states[0].timeline)
			continue;
		pg_log_error("standby \"%s\" follows timeline %d, but \"%s\" follows timeline %d",
					 moment->standbys->list[i].name, moment->states[i].timeline,
					 moment->standbys->list[0].name, moment->states[0].timeline);
		pg_fatal_hint("Use standbys of the same primary.");
	}
}

static uint64
distance(const Moment *moment)
{
	uint64		first = moment->states[0].lsn;
	uint64		last = first;

	for (int i = 1; i < moment->standbys->n; i++)
	{
		first = Min(first, moment->states[i].lsn);
		last = Max(last, moment->states[i].lsn);
	}
	return last - first;
}

/*
 * Exit with a message if a user has paused a standby at another position than
 * the others.  If the others are ahead they will not be at its position
 * again, and otherwise would stop there only by chance.
 */
static void
refuse_paused(const Moment *moment)
{
	int			other = find_other_place(moment);

	for (int i = 0; i < moment->standbys->n && other >= 0; i++)
	{
		const ReplayState *state = &moment->states[i];

		if (!moment->was_paused[i] || state->by_other_run)
			continue;
		pg_log_error("WAL replay is already paused on standby \"%s\", at a different position than on another standby",
					 moment->standbys->list[i].name);
		pg_log_error_detail("Replay is at %s on \"%s\", and at %s on \"%s\".",
							moment->states[0].lsn_text, moment->standbys->list[0].name,
							moment->states[other].lsn_text,
							moment->standbys->list[other].name);
		pg_fatal_hint("Resume replay with SELECT pg_wal_replay_resume(), or pause all standbys at the same position.");
	}
}

/* ----------
 * One attempt
 * ----------
 */

/*
 * Wait until all standbys seem to be at the same position, while replay
 * continues.  Returns false if a pause would be useless yet.
 */
static bool
is_worth_a_try(Moment *moment)
{
	for (int i = 0; i < LOOKS; i++)
	{
		read_states(moment);
		if (find_other_place(moment) < 0)
			break;
	}
	check_timelines(moment);
	for (int i = 0; i < moment->standbys->n; i++)
		moment->was_paused[i] = moment->states[i].by_somebody;
	refuse_paused(moment);
	return distance(moment) < FAR_BEHIND;
}

/*
 * Wait until replay has stopped on all standbys.  Returns false if this takes
 * too long.
 */
static bool
wait_for_stop(Moment *moment)
{
	int64		end = clock_monotonic_ms() + STOP_MS;

	do
	{
		bool		all = true;

		read_states(moment);
		for (int i = 0; i < moment->standbys->n; i++)
			all = all && moment->states[i].paused;
		if (all)
			return true;
		pg_usleep(1000L);
	} while (clock_monotonic_ms() < end);
	return false;
}

/*
 * After the transactions have begun: has nothing been replayed since the
 * standbys were seen paused?
 */
static bool
stood_still(const Moment *moment)
{
	for (int i = 0; i < moment->standbys->n; i++)
	{
		ReplayState now = read_state(&moment->standbys->list[i]);

		if (!now.paused || now.lsn != moment->states[i].lsn)
			return false;
	}
	return true;
}

static void
begin_snapshots(const Moment *moment)
{
	for (int i = 0; i < moment->standbys->n; i++)
	{
		Standby    *standby = &moment->standbys->list[i];

		standby->snapshot = snapshot_begin_leader(standby->conn,
												  moment->standbys->options,
												  NULL);
	}
	if (moment->others)
		moment->others->take(moment->others->arg);
}

static void
end_snapshots(const Moment *moment)
{
	for (int i = 0; i < moment->standbys->n; i++)
	{
		session_command(moment->standbys->list[i].conn, "ROLLBACK");
		moment->standbys->list[i].snapshot = NULL;
	}
	if (moment->others)
		moment->others->undo(moment->others->arg);
}

/* After the pause: may all of the snapshots be imported? */
static bool
are_complete(Moment *moment)
{
	for (int i = 0; i < moment->standbys->n; i++)
	{
		if (standby_overflow_is_complete(&moment->looks[i],
										 moment->standbys->list[i].snapshot))
			continue;
		if (++moment->n_incomplete == MAX_INCOMPLETE)
			standby_overflow_give_up_pauses(&moment->looks[i], MAX_INCOMPLETE);
		pg_log_info("the snapshot of server \"%s\" lacks running transactions; pausing replay again (pause %d of %d)",
					moment->standbys->list[i].name,
					moment->n_incomplete + 1, MAX_INCOMPLETE);
		end_snapshots(moment);
		return false;
	}
	return true;
}

static bool
try_once(Moment *moment)
{
	const Standbys *standbys = moment->standbys;
	bool		result;

	if (!is_worth_a_try(moment))
		return false;
	for (int i = 0; i < standbys->n; i++)
		if (!moment->was_paused[i])
			standby_pause_begin(standbys->pauses[i]);
	result = wait_for_stop(moment) && find_other_place(moment) < 0;
	if (result)
	{
		check_timelines(moment);
		begin_snapshots(moment);

		/*
		 * A pause ends early if another user resumes replay.  Then the
		 * snapshots do not have the same rows.
		 */
		result = stood_still(moment);
		if (!result)
			end_snapshots(moment);
	}
	for (int i = 0; i < standbys->n; i++)
		standby_pause_end(standbys->pauses[i], moment->others != NULL);
	return result && are_complete(moment);
}

/* ----------
 * Attempts until one succeeds
 * ----------
 */
static void
give_up(const Moment *moment, int n_tries)
{
	pg_log_error(ngettext("could not pause the standbys at the same WAL position in %d attempt",
						  "could not pause the standbys at the same WAL position in %d attempts",
						  n_tries), n_tries);
	for (int i = 0; i < moment->standbys->n; i++)
		pg_log_error_detail("Replay was at %s on \"%s\".",
							moment->states[i].lsn_text,
							moment->standbys->list[i].name);
	pg_fatal_hint("Run the same command when fewer changes are written or no standby lags behind, or pause the standbys manually at the same position.");
}

/*
 * Snapshots depend on the next transaction ID as well as on the blocks.  It
 * comes from the WAL, too, so it must be the same on all standbys.
 */
static void
check_snapshots(const Standbys *standbys)
{
	char	   *first = NULL;

	for (int i = 0; i < standbys->n; i++)
	{
		Standby    *standby = &standbys->list[i];
		PGresult   *res = session_query(standby->conn,
										"SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())");

		if (first == NULL)
			first = pg_strdup(PQgetvalue(res, 0, 0));
		else if (strcmp(first, PQgetvalue(res, 0, 0)) != 0)
		{
			pg_log_error("standbys \"%s\" and \"%s\" have different transactions at the same WAL position",
						 standbys->list[0].name, standby->name);
			pg_log_error_detail("The next transaction IDs are %s and %s.",
								printable(first), printable(PQgetvalue(res, 0, 0)));
			pg_fatal_hint("Use standbys of the same primary, which were not promoted or restored to an earlier state.");
		}
		PQclear(res);
		standby->identity = snapshot_identity(standby->conn);
		standby_watch(standby);
	}
}

static void
take(Moment *moment)
{
	int64		end = clock_monotonic_ms() + TRY_FOR_MS;
	int			n_tries = 1;

	for (;;)
	{
		/* This wait has a limit of its own, so it does not count here. */
		end += standby_overflow_wait(moment->looks, moment->standbys->n);
		if (try_once(moment))
			break;
		if (clock_monotonic_ms() > end)
			give_up(moment, n_tries);
		/* Let the standbys catch up. */
		pg_usleep(10000L * Min(n_tries, 10));
		n_tries++;
	}
	if (moment->others)
		pg_log_info(ngettext("all sessions have the same snapshot, at %s, after %d attempt",
							 "all sessions have the same snapshot, at %s, after %d attempts",
							 n_tries), moment->states[0].lsn_text, n_tries);
	else
		pg_log_info(ngettext("%d standbys have the same snapshot, at %s, after %d attempt",
							 "%d standbys have the same snapshot, at %s, after %d attempts",
							 n_tries),
					moment->standbys->n, moment->states[0].lsn_text, n_tries);
	moment->standbys->lsn = pg_strdup(moment->states[0].lsn_text);
	moment->standbys->timeline = moment->states[0].timeline;
}

void
standby_snapshot_take(Standbys *standbys, ServerExtension *extension,
					  const StandbyOthers *others)
{
	int			n = standbys->n;
	Moment		moment = {
		.standbys = standbys,
		.states = pg_malloc0(n * sizeof(ReplayState)),
		.was_paused = pg_malloc0(n * sizeof(bool)),
		.looks = pg_malloc(n * sizeof(OverflowLook)),
		.others = others,
	};

	standbys->pauses = pg_malloc(n * sizeof(StandbyPause *));
	for (int i = 0; i < n; i++)
	{
		const Standby *standby = &standbys->list[i];

		open_pause(standbys, standby);
		moment.looks[i] = standby_overflow_look(standby->conn, standby,
												standbys->options, extension);
	}
	take(&moment);
	close_pauses(standbys);
	check_snapshots(standbys);
}
