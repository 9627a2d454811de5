/*
 * standby_snapshot.c
 *		One snapshot on several standbys.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "session/snapshot.h"
#include "standby/standby_overflow.h"
#include "standby/standby_pause.h"
#include "standby/standby_snapshot.h"

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
		pg_fatal("standby %s does not tell where its replay is", standby->name);
	state.paused = strcmp(PQgetvalue(res, 0, 0), "paused") == 0;
	state.by_somebody = strcmp(PQgetvalue(res, 0, 0), "not paused") != 0;
	state.by_other_run = PQgetvalue(res, 0, 3)[0] == 't';
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
		pg_log_error("standby %s follows timeline %d, and %s timeline %d",
					 moment->standbys->list[i].name, moment->states[i].timeline,
					 moment->standbys->list[0].name, moment->states[0].timeline);
		pg_log_error_hint("Read from standbys of one primary.");
		exit(1);
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
		pg_log_error("the replay of standby %s is paused, and not by this run, where another one's is not",
					 moment->standbys->list[i].name);
		pg_log_error_detail("Replay is at %s on %s, and at %s on %s.",
							moment->states[0].lsn_text, moment->standbys->list[0].name,
							moment->states[other].lsn_text,
							moment->standbys->list[other].name);
		pg_log_error_hint("Resume it there: SELECT pg_wal_replay_resume(); or pause all of them at one place.");
		exit(1);
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
}

static void
end_snapshots(const Moment *moment)
{
	for (int i = 0; i < moment->standbys->n; i++)
	{
		session_command(moment->standbys->list[i].conn, "ROLLBACK");
		moment->standbys->list[i].snapshot = NULL;
	}
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
		pg_log_info("the snapshot of standby %s lacks running transactions; replay is paused again (pause %d of %d)",
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
	pg_log_error("the standbys could not be stopped at the same place of the log in %d tries",
				 n_tries);
	for (int i = 0; i < moment->standbys->n; i++)
		pg_log_error_detail("Replay was at %s on %s.",
							moment->states[i].lsn_text,
							moment->standbys->list[i].name);
	pg_log_error_hint("Run it when less is written, or one of them does not lag behind; or pause them yourself at one place.");
	exit(1);
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
			pg_fatal("standbys %s and %s have other transactions at the same place of the log",
					 standbys->list[0].name, standby->name);
		PQclear(res);
		standby->identity = snapshot_identity(standby->conn);
		standby_watch(standby);
	}
	free(first);
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
	pg_log_info("%d standbys have one snapshot, at %s, after %d tr%s",
				moment->standbys->n, moment->states[0].lsn_text, n_tries,
				n_tries == 1 ? "y" : "ies");
}

void
standby_snapshot_take(Standbys *standbys, ServerExtension *extension)
{
	int			n = standbys->n;
	Moment		moment = {
		.standbys = standbys,
		.pauses = pg_malloc(n * sizeof(StandbyPause *)),
		.states = pg_malloc0(n * sizeof(ReplayState)),
		.was_paused = pg_malloc0(n * sizeof(bool)),
		.looks = pg_malloc(n * sizeof(OverflowLook)),
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
		standby_pause_free(moment.pauses[i]);
	free(moment.pauses);
	free(moment.states);
	free(moment.was_paused);
	free(moment.looks);
	check_snapshots(standbys);
}
