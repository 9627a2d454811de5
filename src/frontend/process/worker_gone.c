/*
 * worker_gone.c
 *		Tells why a worker's process has ended, and what comes of it.
 */
#include "base/fe_compat.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/interrupt.h"
#include "process/worker_gone.h"

/* What the worker is or was doing, for a message; owned. */
static char *
describe(WorkerPool *pool, const Worker *worker)
{
	return pool->task->describe(pool->task->arg, worker->job,
								pool->steps[worker - pool->workers]);
}

/*
 * It lost its connection or was killed; another process will take its place.
 */
static void
replace_later(WorkerPool *pool, Worker *worker, bool killed)
{
	int			delay_ms = retry_later(&worker->retry);

	worker_process_show_words(worker->process);
	if (worker->job == NO_JOB)
		pg_log_warning("a worker %s; retry %d of %d in %.1f s",
					   killed ? "was killed" : "has no connection",
					   worker->retry.n, pool->task->max_retries,
					   delay_ms / 1000.0);
	else
	{
		char	   *what = describe(pool, worker);

		pg_log_warning("a worker %s while %s %s; retry %d of %d in %.1f s",
					   killed ? "was killed" : "lost its connection", pool->task->doing, what, worker->retry.n, pool->task->max_retries,
					   delay_ms / 1000.0);
		free(what);
		pool->task->reset(pool->task->arg, worker->job);
	}
	if (killed)
		pg_log_warning_detail("It was ended by SIGKILL, as the kernel does when memory runs out.");
	else
		pg_log_warning_detail("%s", worker_process_lost_cause(worker->process));
	resetPQExpBuffer(&worker->process->words);
}

/*
 * A worker cannot start: those who can do its part too, but for the last one.
 */
static void
do_without(WorkerPool *pool, Worker *worker)
{
	pool->n_staying--;
	worker_process_show_words(worker->process);
	pg_log_warning("a worker could not start; the run goes on with %d",
				   pool->n_staying);
	pg_log_warning_detail("%s", worker_process_lost_cause(worker->process));
}

/*
 * The same where workers need slots: its place has a job, which an idle
 * worker takes over; so another place must have a process.
 */
static bool
can_rest(const WorkerPool *pool, const Worker *worker)
{
	for (int i = 0; pool->has_slots && !worker->started && i < pool->n_workers; i++)
		if (pool->processes[i].pid != 0)
			return true;
	return false;
}

static void
rest(Worker *worker)
{
	worker_process_show_words(worker->process);
	pg_log_warning("a worker could not start; others do its part");
	pg_log_warning_detail("%s", worker_process_lost_cause(worker->process));
	resetPQExpBuffer(&worker->process->words);
	memset(&worker->retry, 0, sizeof(Retry));
	worker->rests = true;
}

/*
 * Was it ended by a signal from outside?  Then what it was doing is not at
 * fault.
 */
static bool
was_ended(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) > INTERRUPT_EXIT_BASE;
}

/* A worker has failed: say what is known, and end the program. */
static void
give_up(WorkerPool *pool, const Worker *worker, pid_t pid, int status,
		bool killed)
{
	const char *cause;
	bool		explained = worker->process->words.len > 0;
	bool		again;

	worker_process_show_words(worker->process);
	cause = worker_process_lost_cause(worker->process);
	if (cause)
		pg_log_error("%s", cause);
	else if (WIFSIGNALED(status))
		pg_log_error("worker process %d was terminated by signal %d: %s",
					 (int) pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (was_ended(status))
		pg_log_error("worker process %d was ended by signal %d: %s",
					 (int) pid, WEXITSTATUS(status) - INTERRUPT_EXIT_BASE,
					 strsignal(WEXITSTATUS(status) - INTERRUPT_EXIT_BASE));
	else if (!explained)
		pg_log_error("worker process %d failed with exit code %d",
					 (int) pid, WEXITSTATUS(status));
	if (worker->job != NO_JOB)
		pg_log_error_detail("The worker was %s %s.", pool->task->doing,
							describe(pool, worker));
	if ((cause || killed) && worker->retry.n > 0)
		pg_log_error_detail("It was tried %d times.", worker->retry.n + 1);
	again = cause || killed || was_ended(status);
	exit(again && pool->task->lost_status ? pool->task->lost_status : 1);
}

void
worker_gone_note(WorkerPool *pool, Worker *worker)
{
	pid_t		pid = worker->process->pid;
	int			status = worker_process_reap(worker->process);
	bool		killed = pool->task->outlives_kill && WIFSIGNALED(status) &&
		WTERMSIG(status) == SIGKILL;
	bool		lost = killed ||
		(WIFEXITED(status) && WEXITSTATUS(status) == WORKER_EXIT_RETRY &&
		 worker_process_lost_cause(worker->process) != NULL);

	worker->idle = false;
	interrupt_check();
	pool->watch->is_gone(pool->watch->arg, worker - pool->workers);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && worker->job == NO_JOB)
	{
		worker_process_show_words(worker->process);
		/* as told */
		if (worker->leaves_slot)
			worker->rests = true;
		else
			pool->n_staying--;
		worker->leaves_slot = false;
	}
	else if (lost && worker->retry.n < pool->task->max_retries)
		replace_later(pool, worker, killed);
	else if (lost && !killed && worker->job == NO_JOB && pool->n_staying > 1)
		do_without(pool, worker);
	else if (lost && !killed && can_rest(pool, worker))
		rest(worker);
	else
		give_up(pool, worker, pid, status, killed);
}
