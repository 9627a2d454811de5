/*
 * standby_snapshot.c
 *		One snapshot on several standbys.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "session/session_lost.h"
#include "session/snapshot.h"
#include "source/standby.h"
#include "source/standby_overflow.h"

static const char standby_pause_by_other[];

/* ----------
 * Pauses the replay of a standby so that it resumes by itself.
 *
 * A pause lasts until someone resumes replay: who is killed in it, or whose
 * network is cut, would leave the standby paused for ever.  So one statement
 * does all of it, in a session of its own: it pauses, waits, and resumes, and
 * the server carries it out to its end even if the client dies.  It waits for
 * an advisory lock that the first session there has, for some seconds at
 * most: when that session gives up the lock, or ends, replay resumes.
 * ----------
 */

/* The longest pause, if it is not ended before. */
#define STANDBY_PAUSE_MS 5000

typedef struct StandbyPause StandbyPause;

/*
 * The advisory locks are these and the process of the first session; any
 * number that others are not likely to use.
 */
#define LOCK_CLASS "1885811312"

/* How long a session may take to answer, beyond the pause. */
#define ANSWER_MS (STANDBY_PAUSE_MS + 15000)

/* The same of a run that has failed: this is not to keep it from its end. */
#define EXIT_MS 2000

/* 55006 object_in_use is ours, below. */
#define SQLSTATE_BY_OTHER "55006"

struct StandbyPause
{
	const Standby *standby;
	PGconn	   *conn;			/* the session that pauses */
	char	   *lock_key;		/* LOCK_CLASS and a process */
	char	   *block;
	bool		begun;
};

/*
 * The server must not end the session in the midst of the block, by a timeout
 * or because the client is gone: so these are not the settings of other
 * sessions.
 */
static const char settings_query[] =
"SELECT pg_catalog.set_config(v.name, v.setting, false)"
" FROM (VALUES ('search_path', ''), ('statement_timeout', '0'), ('transaction_timeout', '0'),"
" ('client_connection_check_interval', '0'), ('client_min_messages', 'error'),"
" ('lock_timeout', '" CppAsString2(STANDBY_PAUSE_MS) "')) v (name, setting)"
" WHERE EXISTS (SELECT FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) v.name)";

/*
 * A request to cancel it, a conflict with what is replayed until the pause is
 * there, and the end of the time for the lock, are errors in the inner block;
 * after it replay is resumed in any case.
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
 * Part of a query: whether another run's session has a pause of this kind
 * there, in any database.
 */
static const char standby_pause_by_other[] =
"EXISTS (SELECT FROM pg_catalog.pg_locks l"
" WHERE l.locktype OPERATOR(pg_catalog.=) 'advisory'"
" AND l.classid OPERATOR(pg_catalog.=) " LOCK_CLASS "::pg_catalog.oid"
" AND l.objid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()::pg_catalog.oid)";

/* ----------
 * When it has not done its work
 * ----------
 */

/*
 * If another user ends the block's session, the standby stays paused: so it
 * is resumed in one more session, by the user who connected, not by the role.
 */
static bool
resume_after_failure(const StandbyPause *pause)
{
	PGconn	   *conn = connection_try_peer(pause->standby->address,
										   "pg_pardump resume");
	PGresult   *res = session_exec_within(conn,
										  "SELECT pg_catalog.pg_wal_replay_resume()",
										  ANSWER_MS);
	bool		result = PQresultStatus(res) == PGRES_TUPLES_OK;

	PQclear(res);
	PQfinish(conn);
	return result;
}

/* Of its result, or NULL if there is none yet, which is not a failure. */
static bool
is_failure(const PGresult *res)
{
	return res && PQresultStatus(res) != PGRES_COMMAND_OK &&
		!session_error_is(res, SQLSTATE_BY_OTHER);
}

static void
resume(const StandbyPause *pause)
{
	bool		resumed = resume_after_failure(pause);

	pg_log_error("could not pause replay on standby %s: %s",
				 pause->standby->name, connection_words(pause->conn));
	if (resumed)
		pg_log_error_detail("Replay was resumed.");
	else
		pg_log_error_hint("If replay on the standby is paused, resume it with SELECT pg_wal_replay_resume().");
}

/* The lock; what the first session was in the midst of may have failed. */
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
 * An exit callback: the run fails while others are paused.  Their blocks end
 * by themselves, unless another user has ended those sessions, too, for
 * example all sessions of this program.
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
	if (is_failure(res))
		resume(pause);
	PQclear(res);
}

/*
 * Connect for it.  From now on the end of a run that fails is that of its
 * pause, too.  The newest one is freed first.
 */
static StandbyPause *
standby_pause_new(const Standby *standby)
{
	StandbyPause *pause = pg_malloc0(sizeof(StandbyPause));
	bool		begun;

	pause->standby = standby;
	pause->lock_key = psprintf(LOCK_CLASS ", %d", session_backend(standby->conn));
	pause->block = psprintf(block_format, pause->lock_key);
	pause->conn = connection_try_peer(standby->address, "pg_pardump pause");
	/* what cancels the leader's statements is not for this one */
	if (PQstatus(pause->conn) != CONNECTION_OK)
		pg_fatal("could not open another connection to pause replay on standby %s: %s",
				 standby->name, connection_words(pause->conn));
	begun = session_begin_settings(pause->conn);
	PQclear(session_query(pause->conn, settings_query));
	session_end_settings(pause->conn, begun);
	cleanup_push(standby_snapshot_end_at_exit, pause);
	return pause;
}

/*
 * Ask for a pause, which comes soon (pg_get_wal_replay_pause_state()).  The
 * standby must not be paused.
 */
static void
standby_pause_begin(StandbyPause *pause)
{
	/*
	 * The lock comes first: the block waits for it, and without it replay
	 * would resume at once.  Others may know its number, and have it: they
	 * are not waited for.  "begun" is set before the statement is sent, so
	 * that an exit in between gives up the lock.
	 */
	if (!session_is_true(pause->standby->conn,
						 psprintf("SELECT pg_catalog.pg_try_advisory_lock(%s)",
								  pause->lock_key)))
	{
		pg_log_error("another session on standby %s holds the advisory lock that controls pauses of replay",
					 pause->standby->name);
		pg_fatal_detail("The key of the lock is %s.", pause->lock_key);
	}
	pause->begun = true;
	/* its result is waited for when it is to end */
	if (!PQsendQuery(pause->conn, pause->block))
		pg_fatal("could not pause replay on standby %s: %s",
				 pause->standby->name, PQerrorMessage(pause->conn));
}

/*
 * End the pause that was begun, and wait for that; otherwise do nothing.
 * Exits with a message if it failed, having resumed replay in another way.
 * If another user has ended it before, that is not a failure: then nothing
 * was done.
 */
static void
standby_pause_end(StandbyPause *pause)
{
	PGresult   *res;

	if (!pause->begun)
		return;
	PQclear(session_query(pause->standby->conn,
						  psprintf("SELECT pg_catalog.pg_advisory_unlock(%s)",
								   pause->lock_key)));

	/*
	 * The block resumes replay when it gets the lock, and then ends.  So its
	 * result shows that the standby replays again.
	 */
	res = session_wait_result(pause->conn, ANSWER_MS);
	pause->begun = false;
	if (res == NULL || is_failure(res))
	{
		resume(pause);
		exit(1);
	}
	PQclear(res);
}

/* ----------
 * One snapshot on several standbys.
 * ----------
 */

/* How long to look for a moment at which all are at the same place. */
#define TRY_FOR_MS 60000

/* How long replay may take to stop; much less than the pause lasts. */
#define STOP_MS 2000

/*
 * As long as one is so much behind, in bytes of the log, none is paused.
 */
#define FAR_BEHIND ((uint64) 16 * 1024 * 1024)

/* Looks for standbys at the same place by themselves, before each try. */
#define LOOKS 30

/* How many pauses may give snapshots that lack running transactions. */
#define MAX_INCOMPLETE 5

/* Where replay is, and whether it stands still. */
typedef struct ReplayState
{
	bool		paused;			/* and confirmed: nothing is replayed */
	bool		by_somebody;	/* paused before we came, or to be */
	bool		by_other_run;	/* of this program, for a moment */
	uint64		lsn;
	char		lsn_text[32];
	int			timeline;
} ReplayState;

typedef struct Moment
{
	Standbys   *standbys;
	StandbyPause **pauses;		/* by standby */
	ReplayState *states;		/* by standby, as seen last */
	bool	   *was_paused;		/* by standby, not by this run */
	OverflowLook *looks;		/* by standby */
	const StandbyOthers *others;	/* or NULL */
	int			n_incomplete;	/* pauses that gave such snapshots */
} Moment;

/*
 * The timeline is that of the log that is received, if any is: the control
 * file lags behind.
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
		pg_log_error("could not get the replay position of standby %s",
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

/* The first that is not where the source's server is; -1 = all are. */
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
		pg_log_error("standby %s follows timeline %d, but %s follows timeline %d",
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
 * A user has paused one, and it is not where the others are: they will not be
 * there again if they are ahead, and come to stop there by chance only.
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
		pg_log_error("WAL replay is already paused on standby %s, at a different position than on another standby",
					 moment->standbys->list[i].name);
		pg_log_error_detail("Replay is at %s on %s, and at %s on %s.",
							moment->states[0].lsn_text, moment->standbys->list[0].name,
							moment->states[other].lsn_text,
							moment->standbys->list[other].name);
		pg_fatal_hint("Resume replay with SELECT pg_wal_replay_resume(), or pause all standbys at the same position.");
	}
}

/* ----------
 * One try
 * ----------
 */

/*
 * Wait for a moment at which all seem to be at the same place, though they go
 * on.  False if it is of no use to pause them yet.
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

/* Have all stopped, in time? */
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
 * Transactions have begun: has nothing been replayed since the standbys were
 * seen to stand still?
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

/* The pause is over: may all of the snapshots be imported? */
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
		pg_log_info("the snapshot of standby %s lacks running transactions; pausing replay again (pause %d of %d)",
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
			standby_pause_begin(moment->pauses[i]);
	result = wait_for_stop(moment) && find_other_place(moment) < 0;
	if (result)
	{
		check_timelines(moment);
		begin_snapshots(moment);

		/*
		 * A pause may have ended early, if another user resumed replay. Then
		 * the snapshots do not have the same rows.
		 */
		result = stood_still(moment);
		if (!result)
			end_snapshots(moment);
	}
	for (int i = 0; i < standbys->n; i++)
		standby_pause_end(moment->pauses[i]);
	return result && are_complete(moment);
}

/* ----------
 * Until it succeeds
 * ----------
 */
static void
give_up(const Moment *moment, int n_tries)
{
	pg_log_error("could not pause the standbys at the same WAL position in %d attempts",
				 n_tries);
	for (int i = 0; i < moment->standbys->n; i++)
		pg_log_error_detail("Replay was at %s on %s.",
							moment->states[i].lsn_text,
							moment->standbys->list[i].name);
	pg_fatal_hint("Run the program when fewer changes are written or no standby lags behind, or pause the standbys manually at the same position.");
}

/*
 * What each snapshot sees beyond the blocks: by the number of the next
 * transaction, which the log tells, and all have to agree about.
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
			pg_log_error("standbys %s and %s have different transactions at the same WAL position",
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
		/* has a limit of its own */
		end += standby_overflow_wait(moment->looks, moment->standbys->n);
		if (try_once(moment))
			break;
		if (clock_monotonic_ms() > end)
			give_up(moment, n_tries);
		/* lets them catch up */
		pg_usleep(10000L * Min(n_tries, 10));
		n_tries++;
	}
	if (moment->others)
		pg_log_info("all sessions have the same snapshot, at %s, after %d attempt%s",
					moment->states[0].lsn_text, n_tries, units_plural(n_tries));
	else
		pg_log_info("%d standbys have the same snapshot, at %s, after %d attempt%s",
					moment->standbys->n, moment->states[0].lsn_text, n_tries,
					units_plural(n_tries));
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
		.pauses = pg_malloc(n * sizeof(StandbyPause *)),
		.states = pg_malloc0(n * sizeof(ReplayState)),
		.was_paused = pg_malloc0(n * sizeof(bool)),
		.looks = pg_malloc(n * sizeof(OverflowLook)),
		.others = others,
	};

	for (int i = 0; i < n; i++)
	{
		const Standby *standby = &standbys->list[i];

		moment.pauses[i] = standby_pause_new(standby);
		moment.looks[i] = standby_overflow_look(standby->conn, standby,
												standbys->options, extension);
	}
	take(&moment);
	/* the exit stack has them in this order */
	for (int i = n - 1; i >= 0; i--)
	{
		cleanup_pop(standby_snapshot_end_at_exit, moment.pauses[i]);
		session_close(moment.pauses[i]->conn);
	}
	check_snapshots(standbys);
}
