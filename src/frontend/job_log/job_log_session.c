/*
 * job_log_session.c
 *		The sessions of a restore's leader, which may be lost while others
 *		work.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/retry.h"
#include "job_log/job_log_lock.h"
#include "job_log/job_log_session.h"
#include "progress/progress.h"
#include "session/session.h"
#include "session/session_loss.h"

/* How long the server may take to end another session. */
#define ANSWER_MS 15000

/* While waiting for the next retry. */
#define WAIT_US 100000

void
job_log_session_note(JobLog *log)
{
	log->backend = session_backend(log->lock);
	log->connected_at = clock_monotonic_ms();
}

/*
 * Whose client cannot be reached any more the server keeps until TCP gives
 * up, and with it the lock.  That it may do so is no matter here: if not, the
 * lock tells.
 */
static void
end_lost_session(const JobLog *log, PGconn *conn)
{
	int64		age_ms = clock_monotonic_ms() - log->connected_at;
	char	   *sql = backend_query_terminate(log->backend, (int) (age_ms / 1000));
	bool		lost;

	session_begin(conn, "BEGIN");
	PQclear(session_look(conn, sql, ANSWER_MS, &lost));
	free(sql);
	if (lost)
		session_lost("The server did not end the session that was lost in time.");
	session_command(conn, "ROLLBACK");
}

/* If it is gone when its removal was begun, it was this run that did it. */
static void
lock_again(JobLog *log, PGconn *conn)
{
	JobLogLock	state;

	if (log->is_kept)
	{
		state = job_log_lock_wait(conn);
		if (state == JOB_LOG_GONE && log->is_ending)
		{
			log->is_gone = true;
			return;
		}
		if (state == JOB_LOG_GONE)
			job_log_refuse_taken_over();
		log->is_ending = false;
		job_log_check_attempt(log, conn);
	}
	else
		state = job_log_lock_wait_database(conn) ? JOB_LOG_LOCKED : JOB_LOG_HELD;
	if (state == JOB_LOG_HELD)
		session_lost("The lock of the session that was lost is held yet, by that or by another run.");
}

bool
job_log_session_keep(JobLog *log, const Target *target)
{
	if (session_answers(log->lock))
		return false;
	/* what a try before has left is without the lock */
	interrupt_set_connection(NULL);
	PQfinish(log->next);
	PQfinish(log->lock);
	log->lock = log->next = NULL;
	log->next = target_connect(target);
	end_lost_session(log, log->next);
	lock_again(log, log->next);
	log->lock = log->next;
	log->next = NULL;
	job_log_session_note(log);
	return true;
}

/*
 * Do some work within session_try().  False if a session was lost, which is
 * told; when it is to be done again is noted.
 */
static bool
try_work(void (*work) (void *arg), void *arg, Retry *retry,
		 const Options *options)
{
	int			max_retries = (int) options->retries;
	char	   *cause = session_try(work, arg);

	if (cause == NULL)
	{
		memset(retry, 0, sizeof(Retry));
		return true;
	}
	interrupt_check();
	if (retry->n == max_retries)
		pg_fatal("the leader lost its connection to the target: %s", cause);
	(void) retry_later(retry);
	pg_log_warning("the leader lost its connection to the target: %s; retry %d of %d",
				   cause, retry->n, max_retries);
	free(cause);
	return false;
}

void
job_log_session_insist(void (*work) (void *arg), void *arg,
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
