/*
 * worker_pool.c
 *		Forks workers, assigns jobs to them, and supervises them.
 *
 * In this file, a worker is a place rather than a process: if the process in
 * it is lost, the place keeps its job, and the next process in it begins with
 * that job.
 */
#include "base/fe_compat.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "process/child_program.h"
#include "process/worker_pool.h"
#include "process/worker_slots.h"

/* ----------
 * Jobs that workers have refused, for other workers.
 *
 * Each refusal appends the job to a line.  A worker looks at each place of
 * the line once: either the job there is taken, or this worker has refused
 * it, which does not change; or the worker takes it.
 * ----------
 */

#define TAKEN (-1)

struct RefusedJobs
{
	int			n_jobs;
	int			n_workers;
	int		   *line;			/* jobs, or TAKEN */
	int			n_line;
	int			first;			/* all jobs before it are taken */
	int		   *seen;			/* by worker: jobs of the line it has seen */
	uint8	  **by;				/* by job, one bit per worker: has it refused
								 * the job?  NULL = none has */
};

RefusedJobs *
refused_jobs_new(int n_jobs, int n_workers)
{
	RefusedJobs *refused = pg_malloc0(sizeof(RefusedJobs));

	refused->n_jobs = n_jobs;
	refused->n_workers = n_workers;
	refused->seen = pg_malloc0((n_workers + 1) * sizeof(int));
	return refused;
}

/* Has this worker refused the job? */
static bool
refused_jobs_has(const RefusedJobs *refused, int job, int worker)
{
	return refused->by && refused->by[job] &&
		(refused->by[job][worker / 8] & (1 << worker % 8)) != 0;
}

void
refused_jobs_add(RefusedJobs *refused, int job, int worker)
{
	/* Most runs have no refused jobs. */
	if (refused->by == NULL)
		refused->by = pg_malloc0(refused->n_jobs * sizeof(uint8 *));
	if (refused->by[job] == NULL)
		refused->by[job] = pg_malloc0(refused->n_workers / 8 + 1);

	/*
	 * A worker that has refused a job does not get it again.  It lacks a lock
	 * on a table, for which other sessions wait in a queue behind the leader,
	 * so it would refuse the job again and again.
	 */
	refused->by[job][worker / 8] |= 1 << worker % 8;
	*array_add(refused->line, refused->n_line) = job;
}

int
refused_jobs_take(RefusedJobs *refused, int worker)
{
	int		   *seen = &refused->seen[worker];

	for (*seen = Max(*seen, refused->first); *seen < refused->n_line; ++*seen)
	{
		int			job = refused->line[*seen];

		if (job == TAKEN || refused_jobs_has(refused, job, worker))
			continue;
		refused->line[*seen] = TAKEN;
		return job;
	}
	return -1;
}

int
refused_jobs_first(RefusedJobs *refused)
{
	while (refused->first < refused->n_line &&
		   refused->line[refused->first] == TAKEN)
		refused->first++;
	return refused->first < refused->n_line ?
		refused->line[refused->first] : -1;
}

void
refused_jobs_take_first(RefusedJobs *refused)
{
	if (refused_jobs_first(refused) >= 0)
		refused->line[refused->first] = TAKEN;
}

/* ----------
 * The pool
 * ----------
 */

typedef struct Worker
{
	WorkerProcess *process;
	bool		idle;			/* is waiting for a job, or for the end */
	bool		started;		/* its process has requested a job */
	bool		served;			/* one of its processes has done so */
	bool		crowded;		/* its process was started together with
								 * another one */
	bool		alone;			/* is started again while no other one is
								 * starting */
	bool		rests;			/* has no process, and has lost none; one is
								 * forked when there are a job and a slot */
	bool		leaves_slot;	/* was told to end, and will rest */
	int			job;			/* current or next job, or NO_JOB */
	int			reserved[WORKER_MOST_RESERVED]; /* jobs that its process does
												 * later */
	int			n_reserved;
	Retry		retry;			/* retries since its last job */
} Worker;

typedef struct WorkerPool
{
	const WorkerTask *task;
	const PoolWatch *watch;
	Worker	   *workers;
	WorkerProcess *processes;	/* the processes of the workers */
	int			n_workers;
	int			n_staying;		/* workers that have not ended for good */
	int			n_jobs;
	int			n_done;
	int			next_job;		/* all jobs before it have begun */
	int			n_begun;
	bool	   *begun;			/* by job: given to a worker, or reserved */
	RefusedJobs *refused;
	volatile int *steps;		/* by worker, who sets it; shared */
	bool		has_slots;		/* workers need slots */
	bool		may_fork;		/* has attend() returned true? */
	WorkerSign *signs;			/* room for two per worker */
} WorkerPool;

/* ----------
 * Workers whose process has ended
 *
 * The process has ended as requested; or it has lost its connection, and is
 * replaced after a while; or it cannot start, and the pool continues without
 * it; or it has failed, which ends the program.
 * ----------
 */

/*
 * A message's detail about the worker's current or last job, "The worker was
 * dumping table a."; owned.
 */
static char *
describe_job(WorkerPool *pool, const Worker *worker)
{
	return psprintf(pool->task->job_detail,
					pool->task->describe(pool->task->arg, worker->job,
										 pool->steps[worker - pool->workers]));
}

/*
 * The worker has lost its connection or was killed; another process will take
 * its place.
 */
static void
replace_later(WorkerPool *pool, Worker *worker, bool killed)
{
	int			delay_ms = retry_later(&worker->retry);

	worker_process_show_words(worker->process);
	pg_log_warning(killed ?
				   "a worker process was killed; retry %d of %d in %.1f s" :
				   worker->job == NO_JOB ?
				   "a connection was lost or could not be opened; retry %d of %d in %.1f s" :
				   "lost the connection of a worker; retry %d of %d in %.1f s",
				   worker->retry.n, pool->task->max_retries, delay_ms / 1000.0);
	if (killed)
		pg_log_warning_detail("The process was terminated by SIGKILL, which the kernel sends if memory runs out.");
	else
		pg_log_warning_detail("%s", message_sentence(worker_process_lost_cause(worker->process)));
	if (worker->job != NO_JOB)
		pg_log_warning_detail("%s", describe_job(pool, worker));

	/*
	 * Remove the partial file of the lost worker before another process makes
	 * it again, because files are created with O_EXCL.
	 */
	if (worker->job != NO_JOB && pool->task->reset)
		pool->task->reset(pool->task->arg, worker->job);
	resetPQExpBuffer(&worker->process->words);
}

/* Is the process of any worker starting? */
static bool
anyone_starts(const WorkerPool *pool)
{
	for (int i = 0; i < pool->n_workers; i++)
		if (pool->processes[i].pid != 0 && !pool->workers[i].started)
			return true;
	return false;
}

/*
 * A worker cannot start, and has no retries left.  The limits of a role and
 * of a database also count sessions that are just starting, so if there is
 * not enough room for several workers, all of them may be refused at the same
 * moment.  So each tries once more while no other one is starting.
 */
static bool
try_alone(Worker *worker)
{
	Retry		once = {0};

	if (worker->served || worker->alone || !worker->crowded)
		return false;
	worker_process_show_words(worker->process);
	pg_log_info("could not open a connection at the same time as others: %s",
				worker_process_lost_cause(worker->process));
	resetPQExpBuffer(&worker->process->words);
	(void) retry_later(&once);
	worker->retry.at = once.at;
	worker->retry.n++;
	worker->alone = true;
	return true;
}

/*
 * A worker cannot start, so other workers do its part, unless it is the last
 * one.  If workers need slots, its place rests and keeps its job, which an
 * idle worker takes over; so another place must have a process.
 */
static bool
do_without(WorkerPool *pool, Worker *worker)
{
	bool		can_leave = worker->job == NO_JOB && pool->n_staying > 1;
	bool		can_rest = false;

	for (int i = 0; pool->has_slots && !worker->started && i < pool->n_workers; i++)
		can_rest |= pool->processes[i].pid != 0;
	if (!can_leave && !can_rest)
		return false;
	worker_process_show_words(worker->process);
	pg_log_warning("could not open one of the connections; the run continues without it");
	pg_log_warning_detail("%s", message_sentence(worker_process_lost_cause(worker->process)));
	if (can_leave)
		pool->n_staying--;
	else
	{
		resetPQExpBuffer(&worker->process->words);
		memset(&worker->retry, 0, sizeof(Retry));
		worker->alone = false;
		worker->rests = true;
	}
	return true;
}

/* Was it ended by a signal from outside?  Then its job is not the cause. */
static bool
was_ended(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) > INTERRUPT_EXIT_BASE;
}

/* A worker has failed: report the cause, and end the program. */
static void
give_up(WorkerPool *pool, const Worker *worker, pid_t pid, int status,
		bool killed)
{
	const char *cause;
	bool		explained = worker->process->words.len > 0;
	int			signo = WIFSIGNALED(status) ? WTERMSIG(status) :
		was_ended(status) ? WEXITSTATUS(status) - INTERRUPT_EXIT_BASE : 0;
	bool		again;

	worker_process_show_words(worker->process);
	cause = worker_process_lost_cause(worker->process);
	if (cause)
		pg_log_error("%s", cause);
	else if (signo != 0)
		pg_log_error("worker process %d was terminated by signal %d: %s",
					 (int) pid, signo, strsignal(signo));
	else if (!explained)
		pg_log_error("worker process %d failed with exit code %d",
					 (int) pid, WEXITSTATUS(status));
	if (worker->job != NO_JOB)
		pg_log_error_detail("%s", describe_job(pool, worker));
	if ((cause || killed) && worker->retry.n > 0)
		pg_log_error_detail("The job was tried %d times.", worker->retry.n + 1);

	/*
	 * Another run may succeed if the connection was lost or the worker was
	 * ended from outside, but not after an error of the job itself.
	 */
	again = cause || killed || was_ended(status);
	exit(again && pool->task->lost_status ? pool->task->lost_status : 1);
}

/* Any worker may do the jobs that this worker has reserved. */
static void
release_jobs(WorkerPool *pool, Worker *worker)
{
	for (int i = 0; i < worker->n_reserved; i++)
	{
		pool->begun[worker->reserved[i]] = false;
		pool->next_job = Min(pool->next_job, worker->reserved[i]);
	}
	pool->n_begun -= worker->n_reserved;
	worker->n_reserved = 0;
}

/*
 * The worker's stream has ended: find out why.  It has ended as requested, or
 * is replaced after a while, or the pool continues without it; or the program
 * ends.
 */
static void
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
	release_jobs(pool, worker);
	interrupt_check();
	if (pool->watch->is_gone)
		pool->watch->is_gone(pool->watch->arg, worker - pool->workers);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && worker->job == NO_JOB)
	{
		worker_process_show_words(worker->process);
		/* as requested */
		if (worker->leaves_slot)
			worker->rests = true;
		else
			pool->n_staying--;
		worker->leaves_slot = false;
	}
	else if (lost && worker->retry.n < pool->task->max_retries)
		replace_later(pool, worker, killed);
	else if (lost && !killed && try_alone(worker))
		return;
	else if (!lost || killed || !do_without(pool, worker))
		give_up(pool, worker, pid, status, killed);
}

/* ----------
 * The pool's loop.
 * ----------
 */

/*
 * How long a worker's messages are held back; and how soon a signal is
 * noticed that came just before poll(), and so did not end it.
 */
#define HOLD_BACK_MS 300

/* How often to check for a slot, or whether another worker is starting. */
#define SLOT_LOOK_MS 20

/* An exit callback: no worker may outlive the leader. */
static void
worker_pool_kill_workers(void *arg)
{
	WorkerPool *pool = arg;
	pid_t	   *pids = pg_malloc0((pool->n_workers + 1) * sizeof(pid_t));

	for (int i = 0; i < pool->n_workers; i++)
		pids[i] = pool->processes[i].pid;
	child_process_end_all(pids, pool->n_workers);
	for (int i = 0; i < pool->n_workers; i++)
		child_process_end_orphans(pool->processes[i].asked);
}

/* ----------
 * Finished, refused, and new jobs
 * ----------
 */
static void
count_done(WorkerPool *pool, int job)
{
	pool->n_done++;
	if (pool->task->n_done)
		*pool->task->n_done = pool->n_done;
	if (pool->task->done)
		pool->task->done(pool->task->arg, job);
}

/* The first job that may begin, or NO_JOB. */
static int
worker_pool_begin_job(WorkerPool *pool)
{
	const WorkerTask *task = pool->task;
	int			job = pool->next_job;

	/*
	 * Jobs that may not begin yet are skipped, so that they do not delay
	 * later ones.  next_job avoids a search through all jobs that have begun.
	 */
	while (job < pool->n_jobs &&
		   (pool->begun[job] || (task->begin && !task->begin(task->arg, job))))
		job++;
	if (job == pool->n_jobs)
		return NO_JOB;
	pool->begun[job] = true;
	pool->n_begun++;
	while (pool->next_job < pool->n_jobs && pool->begun[pool->next_job])
		pool->next_job++;
	return job;
}

/*
 * Reserve a job for the worker, and send it the answer.  A reserved job waits
 * for this worker even if another worker becomes ready earlier.  So enough
 * jobs must be left for all other workers to reserve as many, unless this
 * worker will be ready soon ("last").  A job that is not reservable may
 * itself wait for jobs before it, so its worker gets none.
 */
static void
reserve_job(WorkerPool *pool, Worker *worker, bool last)
{
	int			n_left = pool->task->n_reservable - pool->n_begun;
	int			n_others = last ? 0 : pool->n_workers - 1;
	int			job = NO_JOB;

	/* a worker that has no job yet needs one more */
	for (int i = 0; i < pool->n_workers; i++)
		n_left -= pool->workers[i].job == NO_JOB ? 1 : 0;
	if (worker->n_reserved < WORKER_MOST_RESERVED &&
		worker->job < pool->task->n_reservable &&
		n_left > n_others * (worker->n_reserved + 1))
		job = worker_pool_begin_job(pool);
	if (job != NO_JOB)
		worker->reserved[worker->n_reserved++] = job;
	worker_process_send(worker->process, job);
}

/* The worker has begun with the first job that it has reserved. */
static void
begin_reserved_job(Worker *worker)
{
	worker->job = worker->reserved[0];
	worker->n_reserved--;
	memmove(&worker->reserved[0], &worker->reserved[1],
			worker->n_reserved * sizeof(worker->reserved[0]));
	worker->idle = false;
}

/*
 * Take a worker's message: it is ready, has done a job, reserves a job, or
 * releases the jobs that it has reserved.
 */
static void
serve(WorkerPool *pool, Worker *worker)
{
	int32		job;

	if (!worker_process_receive(worker->process, &job))
	{
		worker_gone_note(pool, worker);
		return;
	}
	worker_process_show_words(worker->process);
	if (job == RESERVE_JOB || job == RESERVE_LAST_JOB)
	{
		reserve_job(pool, worker, job == RESERVE_LAST_JOB);
		return;
	}
	if (job == RELEASE_JOBS)
	{
		release_jobs(pool, worker);
		return;
	}

	/*
	 * From its first message on the worker has a session, so that a later
	 * loss is a loss of the connection and not a failed start.
	 */
	worker->idle = worker->started = worker->served = true;
	if (job == NO_JOB)
		return;					/* its place may have to repeat a job */
	/* Other workers get it when there is nothing else to do. */
	if (job == REFUSED)
		refused_jobs_add(pool->refused, worker->job,
						 (int) (worker - pool->workers));
	else
		count_done(pool, worker->job);

	/*
	 * A job was done, so the server could be reached: the next loss begins
	 * with all retries.
	 */
	worker->job = NO_JOB;
	worker->retry.n = 0;
	if (worker->n_reserved > 0)
		begin_reserved_job(worker);
}

/* Have all workers no job, and is none connecting for one? */
static bool
nobody_works(const WorkerPool *pool)
{
	for (int i = 0; i < pool->n_workers; i++)
		if (pool->processes[i].pid != 0 && !pool->workers[i].idle)
			return false;
	return true;
}

/* Has a resting worker a job?  If so, there is no free slot. */
static bool
any_wants_slot(const WorkerPool *pool)
{
	for (int i = 0; i < pool->n_workers; i++)
		if (pool->workers[i].rests && pool->workers[i].job != NO_JOB)
			return true;
	return false;
}

/* Tell other runs whether this one wants more slots of workers. */
static void
want_slots(const WorkerPool *pool, bool wanted)
{
	if (pool->has_slots && !pool->task->builds)
		worker_slots_want(wanted);
}

/* The job of a resting worker, which has no slot yet; or NO_JOB. */
static int
take_over(WorkerPool *pool, int no)
{
	for (int i = 0; i < pool->n_workers; i++)
	{
		int			job = pool->workers[i].job;

		if (!pool->workers[i].rests || job == NO_JOB ||
			refused_jobs_has(pool->refused, job, no))
			continue;
		pool->workers[i].job = NO_JOB;
		return job;
	}
	return NO_JOB;
}

static int
take_job(WorkerPool *pool, const Worker *worker)
{
	int			job = pool->has_slots ? take_over(pool, (int) (worker - pool->workers)) : NO_JOB;

	if (job != NO_JOB)
		return job;
	if (pool->next_job < pool->n_jobs)
		return worker_pool_begin_job(pool);
	job = refused_jobs_take(pool->refused, (int) (worker - pool->workers));
	return job < 0 ? NO_JOB : job;
}

/*
 * Give an idle worker a job.  If there is none left the worker waits, because
 * a current job may still need its snapshot; it ends when all jobs are done.
 */
static void
hand_out(WorkerPool *pool, Worker *worker, bool all_done)
{
	if (worker->job == NO_JOB)
		worker->job = take_job(pool, worker);
	if (worker->job == NO_JOB && !all_done)
	{
		/* Other runs do not announce that they want a slot for builds. */
		if (!pool->has_slots ||
			!(pool->task->builds || any_wants_slot(pool) ||
			  worker_slots_are_wanted()))
			return;
		worker->leaves_slot = true;
	}
	worker->idle = false;
	worker_process_send(worker->process, worker->job);
}

/* Run the jobs that all workers refused, when there is nothing else to do. */
static void
run_refused(WorkerPool *pool)
{
	int			job = refused_jobs_first(pool->refused);

	if (job < 0 || pool->next_job < pool->n_jobs || !nobody_works(pool))
		return;
	for (int i = 0; i < pool->n_workers; i++)
		if (pool->workers[i].retry.at != 0)
			return;				/* it will get the job, too */

	/*
	 * All workers have refused the job, so the leader does it while they
	 * wait, because none can get the lock that the leader has.
	 */
	if (!pool->watch->run_refused(pool->watch->arg, pool->task, job))
	{
		pool->task->reset(pool->task->arg, job);
		return;
	}
	refused_jobs_take_first(pool->refused);
	count_done(pool, job);
}

/* ----------
 * The loop
 * ----------
 */
static void
fork_worker(WorkerPool *pool, int no)
{
	/* With slots, workers of other runs may also be starting. */
	pool->workers[no].crowded = pool->has_slots || anyone_starts(pool);
	for (int i = 0; i < pool->n_workers; i++)
		pool->workers[i].crowded |= pool->processes[i].pid != 0;

	/*
	 * First tell the watch that a new process begins, so that its data about
	 * the last process in this place is not used for the new one.
	 */
	pool->workers[no].retry.at = 0;
	pool->workers[no].started = false;
	if (pool->watch->begins)
		pool->watch->begins(pool->watch->arg, no);
	worker_process_fork(pool->processes, pool->n_workers, no, pool->task,
						&pool->steps[no]);
}

/* Is a worker with a job waiting for its next retry? */
static bool
any_retries(const WorkerPool *pool)
{
	for (int i = 0; i < pool->n_workers; i++)
		if (pool->workers[i].retry.at != 0 && pool->workers[i].job != NO_JOB)
			return true;
	return false;
}

/*
 * Fork a process for a resting worker if there are a job and a slot.  Only
 * one resting worker at a time has a job, which an idle worker takes over
 * before any other.  A job that is repeated comes first, because jobs of
 * others may wait for it.
 */
static void
wake(WorkerPool *pool, int no, bool all_done)
{
	Worker	   *worker = &pool->workers[no];
	int			fd;

	if (worker->job == NO_JOB && !any_wants_slot(pool) && !any_retries(pool))
		worker->job = take_job(pool, worker);
	if (worker->job == NO_JOB)
	{
		worker->rests = !all_done;
		pool->n_staying -= all_done ? 1 : 0;
		return;
	}
	fd = pool->task->builds ? worker_slots_take_build() : worker_slots_take();
	if (fd < 0)
		return;
	worker->rests = false;
	fork_worker(pool, no);
	close(fd);
}

/*
 * Fork the next process for a place when its time has come, if it is needed.
 */
static void
retry(WorkerPool *pool, int no)
{
	Worker	   *worker = &pool->workers[no];

	if (worker->job == NO_JOB && pool->next_job == pool->n_jobs &&
		refused_jobs_first(pool->refused) < 0)
	{
		worker->retry.at = 0;
		pool->n_staying--;
	}
	else if (retry_is_due(&worker->retry) && worker->alone &&
			 !worker->served && anyone_starts(pool))
		worker->retry.at = clock_monotonic_ms() + SLOT_LOOK_MS;
	else if (retry_is_due(&worker->retry) && pool->has_slots)
	{
		worker->retry.at = 0;
		worker->rests = true;
	}
	else if (retry_is_due(&worker->retry))
		fork_worker(pool, no);
}

/* How long to wait: until the next retry, if there can be one. */
static int
wait_ms(const WorkerPool *pool)
{
	int64		now = clock_monotonic_ms();
	int64		result = any_wants_slot(pool) ? SLOT_LOOK_MS : HOLD_BACK_MS;

	for (int i = 0; pool->may_fork && i < pool->n_workers; i++)
		if (pool->workers[i].retry.at != 0)
			result = Min(result, Max(0, pool->workers[i].retry.at - now));
	return (int) result;
}

/*
 * Handle standard error first: messages there are held back until the
 * worker's next message on the socket.
 */
static void
wait_and_serve(WorkerPool *pool)
{
	int			watch_fd = pool->watch->watch_fd ?
		pool->watch->watch_fd(pool->watch->arg) : -1;
	int			n = worker_processes_wait(pool->processes, pool->n_workers,
										  watch_fd, wait_ms(pool), pool->signs);

	if (n < 0)
		for (int i = 0; i < pool->n_workers; i++)
			worker_process_show_words(&pool->processes[i]);
	for (int i = 0; i < n; i++)
		if (pool->signs[i].has_words)
			(void) worker_process_hear(&pool->processes[pool->signs[i].no]);
	for (int i = 0; i < n; i++)
		if (!pool->signs[i].has_words)
			serve(pool, &pool->workers[pool->signs[i].no]);
}

static WorkerPool *
worker_pool_new(const WorkerTask *task, const PoolWatch *watch, int n_workers,
				int n_jobs)
{
	WorkerPool *pool = pg_malloc0(sizeof(WorkerPool));

	pool->task = task;
	pool->watch = watch;
	pool->n_jobs = n_jobs;
	pool->begun = pg_malloc0(n_jobs + 1);
	pool->refused = refused_jobs_new(n_jobs, n_workers);
	pool->n_workers = pool->n_staying = n_workers;
	pool->workers = pg_malloc0((n_workers + 1) * sizeof(Worker));
	pool->processes = worker_processes_new(n_workers);
	for (int i = 0; i < n_workers; i++)
	{
		pool->workers[i].process = &pool->processes[i];
		pool->workers[i].job = NO_JOB;
	}

	/*
	 * Workers write their steps here, so that the leader knows the step of a
	 * killed one.
	 */
	pool->steps = shared_memory_new(n_workers, sizeof(int));
	pool->signs = pg_malloc0((n_workers * 2 + 1) * sizeof(WorkerSign));
	pool->has_slots = task->has_slots && worker_slots_are_used();
	return pool;
}

/* Give each worker its next task. */
static void
serve_workers(WorkerPool *pool, bool all_done)
{
	for (int i = 0; i < pool->n_workers; i++)
	{
		Worker	   *worker = &pool->workers[i];

		if (worker->idle)
			hand_out(pool, worker, all_done);
		else if (worker->retry.at != 0)
			retry(pool, i);
	}
	/* Wake resting workers last, because idle ones have slots already. */
	for (int i = 0; i < pool->n_workers; i++)
		if (pool->workers[i].rests)
			wake(pool, i, all_done);
	want_slots(pool, any_wants_slot(pool));
}

void
worker_pool_run(const WorkerTask *task, const PoolWatch *watch, int n_workers,
				int n_jobs)
{
	WorkerPool *pool = worker_pool_new(task, watch, Min(n_workers, n_jobs),
									   n_jobs);

	/*
	 * Before the first fork: if the leader exits, for any reason, no worker
	 * may stay behind with a session and locks.
	 */
	cleanup_push(worker_pool_kill_workers, pool);
	for (int i = 0; i < pool->n_workers; i++)
	{
		if (pool->has_slots)
			pool->workers[i].rests = true;
		else
			fork_worker(pool, i);
	}
	/* Fork as many workers as there are slots. */
	serve_workers(pool, false);
	while (pool->n_staying > 0)
	{
		bool		all_done;

		/*
		 * Here workers only ask; the leader's watch must agree before they
		 * get an answer.
		 */
		wait_and_serve(pool);
		all_done = pool->n_done == pool->n_jobs && nobody_works(pool);
		pool->may_fork = watch->attend == NULL ||
			watch->attend(watch->arg, all_done);
		if (!pool->may_fork)
			continue;
		serve_workers(pool, all_done);
		run_refused(pool);
	}
	/* Other runs may have the slots for which this one has waited. */
	want_slots(pool, false);
	cleanup_pop(worker_pool_kill_workers, pool);
	close(pool->processes[0].listener);
}

const PoolWatch worker_pool_no_watch;
