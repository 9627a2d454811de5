/*
 * session_lost.c
 *		Waits for the server, limits the rate of all workers (--max-rate),
 *		finds out whether a failure means a lost session, and handles lost
 *		sessions.
 *
 * session_lost.h describes how a run continues without the lost session.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "process/worker_process.h"
#include "session/session_lost.h"

/* ----------
 * Waits for the server, which other processes can observe.
 * ----------
 */

/* How often a wait is interrupted for the watch, and for signals. */
#define MOMENT_MS 200

/*
 * The state of the process; functions of libpq could not pass it as an
 * argument.
 */
typedef struct WaitState
{
	WaitCount  *count;
	SessionWaitWatch watch;
	SessionRowsWatch rows_watch;
} WaitState;

static WaitCount nobody_looks;
static WaitState state = {.count = &nobody_looks};

/* ----------
 * Watching the waits of this process
 * ----------
 */

/*
 * Called in a signal handler, which may have interrupted any function, so
 * only functions that are safe there are called.
 */
static void
handle_stall(int signo)
{
	worker_process_lost_in_handler("received no data from the server for longer than --stall-timeout, although the session is idle");
}

void
session_wait_begin_worker(WaitCount *count)
{
	/*
	 * The leader watches its own waits.  A worker only counts its waits, for
	 * the leader to see: a worker must not query the server to find out more.
	 */
	state.count = count;
	state.watch = NULL;
	state.rows_watch = NULL;
	*count = 0;
	signal(SIGUSR1, handle_stall);
}

SessionWaitWatch
session_wait_set_watch(SessionWaitWatch watch)
{
	SessionWaitWatch before = state.watch;

	state.watch = watch;
	return before;
}

void
session_wait_set_rows_watch(SessionRowsWatch watch)
{
	state.rows_watch = watch;
}

/* ----------
 * The budget of --max-rate
 * ----------
 */

/*
 * Bytes that a worker takes from the budget at a time, so that this happens
 * rarely.
 */
#define SHARE_BYTES 16384

/* The state of --max-rate in this process. */
typedef struct RateState
{
	uint64		max_rate;		/* 0 = no limit */
	volatile uint64 *free_at;	/* ns, when the budget is no longer overdrawn;
								 * in shared memory */
	size_t		untaken;		/* bytes that have arrived, and were not yet
								 * taken from the budget */
} RateState;

static RateState rate;

void
session_set_max_rate(uint64 max_rate)
{
	rate.max_rate = max_rate;

	/*
	 * With --all-databases the runs share the budget that their parent has
	 * made.
	 */
	if (max_rate != 0 && rate.free_at == NULL)
		rate.free_at = shared_memory_new(1, sizeof(uint64));
}

/*
 * Each worker reserves the time that its bytes take at the given rate, after
 * all reserved times, and sleeps until the end of its time.  The
 * compare-and-swap makes this a queue without a lock, which a killed worker
 * could keep.
 */
void
session_take_bytes(size_t bytes)
{
	uint64		cost;
	uint64		before;
	uint64		begin;
	uint64		now;

	rate.untaken += bytes;
	if (rate.max_rate == 0 || rate.untaken < SHARE_BYTES)
		return;

	/*
	 * The product can have more than 64 bits, so compute it in floating
	 * point.
	 */
	cost = (uint64) ((double) rate.untaken * 1e9 / rate.max_rate);
	rate.untaken = 0;
	do
	{
		before = *rate.free_at;
		begin = Max(before, (uint64) clock_monotonic_ns());
	} while (!__sync_bool_compare_and_swap(rate.free_at, before, begin + cost));
	while ((now = clock_monotonic_ns()) < begin + cost)
	{
		uint64		left = begin + cost - now;
		struct timespec nap = {left / 1000000000, left % 1000000000};

		/*
		 * A signal may end the sleep early, so the loop computes the
		 * remaining time.
		 */
		(void) nanosleep(&nap, NULL);
	}
}

/* ----------
 * Waits
 * ----------
 */
void
session_wait_begins(void)
{
	*state.count |= 1;
}

/* The count becomes even, and the next wait has another number. */
void
session_wait_ends(void)
{
	*state.count = (*state.count | 1) + 1;
}

bool
session_wait_input(PGconn *conn)
{
	struct pollfd fd = {.fd = PQsocket(conn),.events = POLLIN};
	bool		result;

	if (PQflush(conn) > 0)
		fd.events |= POLLOUT;
	session_wait_begins();
	result = poll(&fd, 1, MOMENT_MS) > 0;
	if (result)
		session_wait_ends();
	return result;
}

PGresult *
session_wait_result(PGconn *conn, int wait_ms)
{
	int64		since = clock_monotonic_ms();
	PGresult   *res = NULL;
	PGresult   *next;

	for (;;)
	{
		while (PQisBusy(conn))
		{
			bool		came;

			interrupt_check();
			came = session_wait_input(conn);
			if (!PQconsumeInput(conn))
			{
				PQclear(res);
				return PQmakeEmptyPGresult(conn, PGRES_FATAL_ERROR);
			}
			if (wait_ms < 0)
			{
				if (state.watch)
					state.watch(conn, came, &since);
			}
			else if (PQisBusy(conn) && clock_monotonic_ms() >= since + wait_ms)
			{
				PQclear(res);
				return NULL;
			}
		}
		next = PQgetResult(conn);
		if (next == NULL)
			return res;
		PQclear(res);
		res = next;
		/* libpq would return these results again and again. */
		switch (PQresultStatus(res))
		{
			case PGRES_COPY_OUT:
			case PGRES_COPY_IN:
			case PGRES_COPY_BOTH:
				return res;
			default:
				if (PQstatus(conn) == CONNECTION_BAD)
					return res;
		}
	}
}

/*
 * PQgetCopyData() itself would wait until the whole message has arrived.  For
 * a large message on a slow network this takes long, although nothing is
 * wrong.
 */
int
session_wait_copy_data(PGconn *conn, char **message)
{
	int			len;

	while ((len = PQgetCopyData(conn, message, 1)) == 0)
	{
		/*
		 * A part of a message counts as a sign of life, so that a large row
		 * on a slow network is not taken for a silent server.
		 */
		bool		came = session_wait_input(conn);

		if (state.rows_watch)
			state.rows_watch(conn, came);
		/* PQgetCopyData() also returns -2 for an error. */
		if (!PQconsumeInput(conn))
			return -2;
	}
	session_wait_ends();
	if (len > 0)
		session_take_bytes(len);
	return len;
}

/* ----------
 * Finds out whether a session is lost, and why.
 * ----------
 */

/*
 * SQLSTATEs of errors that end a session or its transaction for reasons
 * outside of it, so that a new session can repeat the work: class 08
 * (connection exception), 57P01 admin_shutdown, 57P02 crash_shutdown, 57P03
 * cannot_connect_now, 40P01 deadlock_detected (with REINDEX, on the indexes
 * of a table and of its TOAST table).  After any other error, the next
 * session would fail, too.
 */
#define LOST_SQLSTATES "08 57P01 57P02 57P03 40P01"

bool
session_error_is(const PGresult *res, const char *sqlstates)
{
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	while (state && *sqlstates)
	{
		size_t		len = strcspn(sqlstates, " ");

		if (strncmp(state, sqlstates, len) == 0)
			return true;
		sqlstates += len;
		sqlstates += strspn(sqlstates, " ");
	}
	return false;
}

bool
session_is_standby(const PGconn *conn)
{
	const char *standby = PQparameterStatus(conn, "in_hot_standby");

	return standby && strcmp(standby, "on") == 0;
}

/*
 * Is this error a conflict with replay on a standby?  Replay raises 40001
 * serialization_failure only (postgres.c:ProcessInterrupts), and nothing else
 * on a standby raises that error.
 */
static bool
is_recovery_conflict(const PGconn *conn, const PGresult *res)
{
	return session_is_standby(conn) && session_error_is(res, "40001");
}

/*
 * The remedy depends on what replay needed.  Only the DETAIL shows this
 * (postgres.c:errdetail_recovery_conflict).  It is in the server's language,
 * so the general hint is for all other texts.
 */
static const char *
conflict_hint(const char *detail)
{
	if (strcmp(detail, "User was holding a relation lock for too long.") == 0)
		return "Set max_standby_streaming_delay and max_standby_archive_delay to -1 on the standby during the run; or, if VACUUM took the lock, set vacuum_truncate to off on the primary.";
	if (strcmp(detail, "User query might have needed to see row versions that must be removed.") == 0)
		return "On the standby, enable hot_standby_feedback, or set max_standby_streaming_delay and max_standby_archive_delay to -1 during the run.";
	return "Set max_standby_streaming_delay and max_standby_archive_delay to -1 on the standby during the run, so that replay waits for queries.";
}

/*
 * libpq's message.  It is empty for a result that is not an error, such as a
 * COPY that was not asked for.
 */
static const char *
libpq_words(const PGconn *conn, const PGresult *res)
{
	const char *words = PQerrorMessage(conn);

	return *words ? words : psprintf("unexpected answer from the server: %s",
									 PQresStatus(PQresultStatus(res)));
}

/*
 * For a conflict with replay, the server's HINT is left out: it recommends to
 * connect again, which this program does itself.
 */
char *
session_error_words(const PGconn *conn, const PGresult *res)
{
	const char *detail = PQresultErrorField(res, PG_DIAG_MESSAGE_DETAIL);

	if (!is_recovery_conflict(conn, res))
		return pg_strdup(PQresultErrorField(res, PG_DIAG_SQLSTATE) ?
						 PQresultErrorMessage(res) : libpq_words(conn, res));
	if (detail == NULL)
		detail = "";
	return psprintf("%s:  %s\nDETAIL:  %s\nHINT:  %s\n",
					PQresultErrorField(res, PG_DIAG_SEVERITY),
					PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY), detail,
					conflict_hint(detail));
}

bool
session_is_lost(const PGconn *conn, const PGresult *res)
{
	if (PQresultErrorField(res, PG_DIAG_SQLSTATE))
		return session_error_is(res, LOST_SQLSTATES) ||
			is_recovery_conflict(conn, res);

	/*
	 * There is no message from the server, so libpq has noticed the failure
	 * itself.  After a failed write, libpq may not have read the end of the
	 * connection yet.
	 */
	if (conn && PQstatus(conn) == CONNECTION_OK)
		(void) PQconsumeInput(unconstify(PGconn *, conn));
	return PQstatus(conn) != CONNECTION_OK;
}

/* ----------
 * Texts of errors that may contain masked values
 * ----------
 */

/*
 * The table whose masked values are protected.  A process reads one table at
 * a time.
 */
static const char *withheld_table;

void
session_withhold(const char *table)
{
	withheld_table = table;
}

bool
session_withholds(void)
{
	return withheld_table != NULL;
}

/*
 * Report a failure without the server's message, which could contain masked
 * values.  The SQLSTATE cannot contain values, so it is shown.
 */
pg_noreturn static void
failed_unsaid(PGconn *conn, const PGresult *res, const char *problem)
{
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *table = printable(withheld_table);

	if (session_is_lost(conn, res))
		session_lost(sqlstate ?
					 psprintf("the session was lost while table %s was read (SQLSTATE %s)",
							  table, sqlstate) :
					 psprintf("the connection failed while table %s was read",
							  table));
	message_set_sqlstate(sqlstate);
	pg_log_error("%s", problem);
	if (sqlstate)
		pg_log_error_detail("The error has SQLSTATE %s, and occurred while table %s was read.",
							sqlstate, table);
	else
		pg_log_error_detail("The error occurred while table %s was read.",
							table);
	pg_log_error_detail("The table has masked columns.  The server's message is not shown, because it could contain their values.");
	pg_fatal_hint("To see the message, run a query with the mask expressions in psql.");
}

/*
 * Add a hint about how to repair the index of a TOAST table, if entries may
 * be missing in it.  The server does not translate these messages
 * (heaptoast.c, toast_reader.c).  Functions can raise them, too, so the name
 * must be that of a TOAST table.
 */
static void
hint_at_toast_index(const PGresult *res)
{
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *words = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
	const char *name = words ? strstr(words, " in pg_toast_") : NULL;
	const char *oid;

	/* XX001 data_corrupted; before 12 XX000 internal_error */
	if (name == NULL || sqlstate == NULL || strncmp(sqlstate, "XX00", 4) != 0 ||
		(strncmp(words, "missing chunk number ", 21) != 0 &&
		 strncmp(words, "unexpected chunk number ", 24) != 0))
		return;
	name += strlen(" in ");
	oid = name + strlen("pg_toast_");
	if (*oid == '\0' || strspn(oid, "0123456789") != strlen(oid))
		return;
	pg_log_error_detail("The index of this table might lack entries.  REINDEX CONCURRENTLY could cause this before PostgreSQL 14.25, 15.20, 16.16, 17.12 and 18.7.");
	pg_log_error_hint("Run REINDEX TABLE pg_toast.%s, and the same command again.  If the error remains, the table itself is damaged.",
					  name);
}

void
session_failed(PGconn *conn, const PGresult *res, const char *problem,
			   const char *sql)
{
	interrupt_check();
	if (session_withholds())
		failed_unsaid(conn, res, problem);
	if (session_is_lost(conn, res))
		session_lost(psprintf("%s: %s", problem,
							  session_error_words(conn, res)));
	message_set_sqlstate(PQresultErrorField(res, PG_DIAG_SQLSTATE));
	pg_log_error("%s: %s", problem, libpq_words(conn, res));
	pg_log_error_detail("Statement was: %s", sql);
	hint_at_toast_index(res);
	exit(1);
}

bool
session_refused(PGconn *conn, const PGresult *res, const char *sql)
{
	ExecStatusType status = PQresultStatus(res);

	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
		return false;
	if (session_is_lost(conn, res))
		session_failed(conn, res, "query failed", sql);
	return true;
}

/* ----------
 * How a lost session is handled
 * ----------
 */

/* The state of session_try(), calls of which are not nested. */
static bool is_trying;
static jmp_buf try_point;
static char *try_cause;

void
session_lost(const char *cause)
{
	size_t		len = strlen(cause);
	char	   *text;

	/*
	 * The work is repeated in another session, which may begin with a table
	 * without masks.  Messages about that table need not be withheld.
	 */
	session_withhold(NULL);
	while (len > 0 && cause[len - 1] == '\n')
		len--;
	text = pnstrdup(cause, len);
	if (worker_process_is_this())
		worker_process_lost(text);
	if (!is_trying)
		pg_fatal("%s", text);
	try_cause = text;

	/*
	 * The jump only loses memory, a little for each lost session.  The caller
	 * of session_try() knows what must be undone.
	 */
	longjmp(try_point, 1);
}

char *
session_try(void (*work) (void *arg), void *arg)
{
	/*
	 * These variables are static, so they keep their values after longjmp(),
	 * unlike local variables that are changed in between (setjmp(3)).
	 */
	is_trying = true;
	try_cause = NULL;
	if (setjmp(try_point) == 0)
		work(arg);
	is_trying = false;
	return try_cause;
}
