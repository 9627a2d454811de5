/*
 * restore_task_session.c
 *		A task's own session on the target: it looks for the leader, and notes
 *		what is done.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/retry.h"
#include "job_log/restore_log.h"
#include "process/worker_process.h"
#include "restore_tasks/restore_task_session.h"
#include "session/connection_limit.h"
#include "session/session_loss.h"
#include "session/session_settings.h"
#include "target/target_history.h"
#include "tasks/task_address.h"
#include "tasks/task_run.h"
#include "tasks/task_server.h"

/* How often to look whether the leader is there. */
#define LOOK_MS 2000

/*
 * A leader that has lost its session needs a while to notice, and to have its
 * lock again: so long a task goes on without it at least.
 */
#define WITHOUT_LEADER_MS 10000

/* After an outage of this length the leader's waits grow no more. */
#define LONGEST_OUTAGE_MS (10 * 60 * 1000)

/* And so long at most where only the leader's own connection was lost. */
#define LONGEST_WITHOUT_LEADER_MS (2 * 60 * 1000)

/* While waiting for it. */
#define WAIT_US 200000

/* ----------
 * The session
 * ----------
 */
static void
connect_target(void *arg)
{
	const RestoreTaskSession *session = arg;
	const RestoreTaskHead *head = &session->plan->head;
	Target	   *target = session->target;

	target->conn = connection_open_peer(target->address, "pg_pardump task");
	/* first, as the leader has asked with the rights of its --role */
	session_set_up(target->conn, session->options, target->encoding);
	task_server_check(target->conn, &head->run.server, TASK_DATABASE_OPTION);
	(void) target_history_expect(target->conn, head->history);
	task_server_join(target->conn, head->run.run_id);
}

static void
lose_target(RestoreTaskSession *session)
{
	interrupt_set_connection(NULL);
	session_close(session->target->conn);
	session->target->conn = NULL;
	session->gone_since = 0;
}

/*
 * NULL if there is one again; else why not, owned.  One that the leader
 * cannot see at work is none.
 */
static char *
connect_again(RestoreTaskSession *session)
{
	char	   *cause = session_try(connect_target, session);

	if (cause && session->target->conn)
		lose_target(session);
	return cause;
}

/* ----------
 * Is the leader there?
 * ----------
 */

/*
 * A target that could not be reached for a while makes the leader wait, too:
 * it tries again later each time (retry.h), and what it tries when the target
 * is there again may yet be in vain.  Where the target was there all the time
 * it may be the leader's own network that is not, for all of its retries.
 */
static int64
leader_may_need_ms(const RestoreTaskSession *session)
{
	int64		away_ms = session->gone_since - session->seen_at;
	int64		of_outage_ms = retry_longest_ms(away_ms) +
		Min(away_ms, CONNECTION_ATTEMPT_S * 1000);
	int64		of_retries_ms = retry_all_ms((int) session->plan->head.run.retries);

	return WITHOUT_LEADER_MS +
		Max(of_outage_ms, Min(of_retries_ms, LONGEST_WITHOUT_LEADER_MS));
}

/*
 * It has held no lock since this time.  Exits with a message if it has come
 * to its end, or been gone for too long; that is no end of the run.
 */
static void
go_on_without_leader(const RestoreTaskSession *session, int64 now)
{
	int64		gone_ms = now - session->gone_since;

	if (job_log_is_taken_over(session->log, session->target->conn))
		task_server_end_without_leader("Nobody holds its lock on the target, and the log is another run's, or gone.");
	if (access(session->options->plan, F_OK) < 0 && errno == ENOENT)
		task_server_end_without_leader("Nobody holds its lock on the target, and the plan is gone.");
	if (gone_ms <= leader_may_need_ms(session))
		return;
	pg_log_error("the leader of this run has been away for %d s",
				 (int) (gone_ms / 1000));
	pg_log_error_detail("Nobody holds its lock on the target.");
	pg_log_error_hint("If it is there again, another attempt goes on; if it has failed, --resume does.");
	exit(WORKER_EXIT_RETRY);
}

static void
look_for_leader(RestoreTaskSession *session)
{
	int64		now = clock_monotonic_ms();

	switch (task_server_find_leader(session->target->conn,
									session->plan->head.run.run_id))
	{
		case TASK_LEADER_UNKNOWN:
			lose_target(session);
			break;
		case TASK_LEADER_THERE:
			session->gone_since = 0;
			session->seen_at = now;
			break;
		case TASK_LEADER_GONE:
			if (session->gone_since == 0)
				session->gone_since = now;
			go_on_without_leader(session, now);
			break;
	}
}

static void
begin_target(void *arg)
{
	RestoreTaskSession *session = arg;
	const RestoreTaskHead *head = &session->plan->head;

	connect_target(session);
	target_begin(session->target);
	connection_limit_check_workers(session->target->conn, session->n_workers);
	session->target->history = head->history;

	/*
	 * This task has not seen the leader, which wrote the plan before the
	 * target was started again, and may have been trying ever since.
	 */
	session->seen_at = clock_monotonic_ms();
	if (strcmp(session->target->incarnation, head->incarnation) != 0)
		session->seen_at -= LONGEST_OUTAGE_MS;
}

void
restore_task_session_begin(RestoreTaskSession *session)
{
	char	   *cause = session_try(begin_target, session);

	session->unnoted = pg_malloc0((session->plan->head.n_files + 1) *
								  sizeof(DataFile *));
	if (cause)
		task_run_give_up(cause);
	for (;;)
	{
		look_for_leader(session);
		if (session->target->conn == NULL)
			task_run_give_up("the server does not say who holds a lock");
		if (session->gone_since == 0)
			break;
		interrupt_check();
		pg_usleep(WAIT_US);
	}
	session->looked_at = clock_monotonic_ms();
}

/* ----------
 * Notes
 * ----------
 */

/* As far as the session lives. */
static void
write_notes(RestoreTaskSession *session)
{
	bool		written = true;

	while (written && session->n_unnoted > 0)
	{
		char	   *name = restore_log_file(session->unnoted[session->n_unnoted - 1]);

		written = job_log_try_done(session->log, session->target->conn, name);
		session->n_unnoted -= written ? 1 : 0;
		free(name);
	}
}

void
restore_task_session_note(RestoreTaskSession *session, const DataFile *file)
{
	session->unnoted[session->n_unnoted++] = file;
	write_notes(session);
}

void
restore_task_session_attend(RestoreTaskSession *session)
{
	int64		now = clock_monotonic_ms();

	if (now - session->looked_at < LOOK_MS)
		return;
	session->looked_at = now;
	if (session->target->conn == NULL)
		free(connect_again(session));
	else
		look_for_leader(session);
	write_notes(session);
}

/*
 * Without these lines all would be done again, in vain; and so it is, by
 * another attempt, if this one cannot write them.
 */
void
restore_task_session_end(RestoreTaskSession *session)
{
	int			max_retries = (int) session->options->retries;
	Retry		retry = {0};
	int			delay_ms = 0;

	while (write_notes(session), session->n_unnoted > 0)
	{
		char	   *cause;

		if (retry.n > max_retries)
			task_run_give_up("what is loaded could not be noted on the target");
		/* at once, as it may have been lost a moment ago */
		pg_usleep(delay_ms * 1000L);
		delay_ms = retry_later(&retry);
		lose_target(session);
		cause = connect_again(session);
		interrupt_check();
		if (cause)
			pg_log_warning("the task lost its connection to the target: %s", cause);
		free(cause);
	}
	lose_target(session);
}
