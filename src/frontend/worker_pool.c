/*
 * worker_pool.c
 *		Forks workers, hands out jobs, and watches over all of it.
 *
 * Protocol, on one stream socket a worker:
 *	worker to leader	int32: the job just done, or -1 for none.  The worker
 *						is ready.
 *	leader to worker	int32 job, or -1: no more, leave.
 * The end of the stream means that the other side is gone: a worker then
 * leaves at once, the leader looks why.
 *
 * What a worker writes to its standard error comes by a pipe.  It is held
 * back until the worker's next message, or for a moment, so that of several
 * workers that fail for one reason the leader can show the first only.
 */
#include "fe_compat.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pqexpbuffer.h"

#include "cleanup.h"
#include "worker_pool.h"

#define NO_JOB (-1)
#define NO_STEP (-1)

/*
 * How long words of a worker are held back; also how soon a signal is seen
 * that came just before poll(), and so did not end it.
 */
#define HOLD_BACK_MS 300

typedef struct Worker
{
	pid_t		pid;			/* 0 once it is gone */
	int			socket;
	int			err_fd;			/* -1 when closed */
	int			job;			/* being done, or NO_JOB */
	PQExpBufferData words;		/* from its standard error, held back */
} Worker;

typedef struct WorkerPool
{
	const WorkerTask *task;
	Worker	   *workers;
	int			n_workers;
	int			n_running;
	int			n_jobs;
	int			next_job;
	volatile int *steps;		/* by worker, set by it: in shared memory */
	struct pollfd *fds;			/* two a worker, then the watched one */
} WorkerPool;

/* All len bytes, or false at the end of the stream. */
static bool
receive(int fd, void *buf, size_t len)
{
	char	   *pos = buf;

	while (len > 0)
	{
		ssize_t		got = read(fd, pos, len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		pos += got;
		len -= got;
	}
	return true;
}

/* Messages are far smaller than a socket's buffer: one write takes all. */
static bool
send_bytes(int fd, const void *buf, size_t len)
{
	ssize_t		sent;

	do
		sent = write(fd, buf, len);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t) len;
}

/* ----------
 * In a worker
 * ----------
 */
static void
worker_main(const WorkerTask *task, int no, int socket, volatile int *step)
{
	int32		job = NO_JOB;

	task->start(task->arg, no);
	for (;;)
	{
		if (!send_bytes(socket, &job, sizeof(job)) ||
			!receive(socket, &job, sizeof(job)))
			_exit(1);			/* the leader is gone */
		if (job == NO_JOB)
			break;
		*step = NO_STEP;
		task->run(task->arg, job, step);
	}
	task->stop(task->arg);
	exit(0);
}

static void
fork_worker(WorkerPool *pool, int no)
{
	Worker	   *worker = &pool->workers[no];
	int			sockets[2];
	int			err[2];
	pid_t		leader = getpid();

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0 || pipe(err) < 0)
		pg_fatal("could not create pipe: %m");
	fflush(NULL);
	cleanup_hold_signals();
	worker->pid = fork();
	if (worker->pid == 0)
	{
		cleanup_install_worker_signals(leader);
		cleanup_release_signals();
		/* others must see the end of their streams when the leader is gone */
		for (int i = 0; i < no; i++)
		{
			close(pool->workers[i].socket);
			close(pool->workers[i].err_fd);
		}
		close(sockets[0]);
		close(err[0]);
		dup2(err[1], STDERR_FILENO);
		close(err[1]);
		worker_main(pool->task, no, sockets[1], &pool->steps[no]);
	}
	cleanup_release_signals();
	if (worker->pid < 0)
	{
		worker->pid = 0;
		pg_fatal("could not create worker process: %m");
	}
	close(sockets[1]);
	close(err[1]);
	worker->socket = sockets[0];
	worker->err_fd = err[0];
	worker->job = NO_JOB;
	initPQExpBuffer(&worker->words);
	pool->n_running++;
}

/* ----------
 * In the leader
 * ----------
 */

/* An exit callback: no worker outlives the leader. */
static void
kill_workers(void *arg)
{
	WorkerPool *pool = arg;

	pid_t	   *pids = pg_malloc0((pool->n_workers + 1) * sizeof(pid_t));

	for (int i = 0; i < pool->n_workers; i++)
		pids[i] = pool->workers[i].pid;
	cleanup_end_children(pids, pool->n_workers);
	free(pids);
}

static void
show_words(Worker *worker)
{
	fwrite(worker->words.data, 1, worker->words.len, stderr);
	resetPQExpBuffer(&worker->words);
}

/* Take what the worker has said; false at the end. */
static bool
hear(Worker *worker)
{
	char		text[4096];
	ssize_t		len = read(worker->err_fd, text, sizeof(text));

	if (len < 0 && errno == EINTR)
		return true;
	if (len <= 0)
	{
		close(worker->err_fd);
		worker->err_fd = -1;
		return false;
	}
	appendBinaryPQExpBuffer(&worker->words, text, len);
	return true;
}

/* The worker's stream has ended: how did it go? */
static void
worker_is_gone(WorkerPool *pool, Worker *worker)
{
	int			status = 0;
	int			job = worker->job;
	pid_t		pid = worker->pid;
	bool		explained;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	worker->pid = 0;
	pool->n_running--;
	while (worker->err_fd >= 0 && hear(worker))
		;
	cleanup_check_interrupt();
	explained = worker->words.len > 0;
	show_words(worker);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && job == NO_JOB)
		return;					/* as told */

	if (WIFSIGNALED(status))
		pg_log_error("worker process %d was terminated by signal %d: %s",
					 (int) pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!explained)
		pg_log_error("worker process %d failed with exit code %d",
					 (int) pid, WEXITSTATUS(status));
	if (job != NO_JOB)
		pg_log_error_detail("The worker was dumping %s.",
							pool->task->describe(pool->task->arg, job,
												 pool->steps[worker - pool->workers]));
	exit(1);
}

/* The worker is ready, or has done a job: note it, and hand out the next. */
static void
serve(WorkerPool *pool, Worker *worker)
{
	int32		job;

	if (!receive(worker->socket, &job, sizeof(job)))
	{
		close(worker->socket);
		worker->socket = -1;
		worker_is_gone(pool, worker);
		return;
	}
	show_words(worker);
	worker->job = pool->next_job < pool->n_jobs ? pool->next_job++ : NO_JOB;
	job = worker->job;
	/* should it be gone already, its stream will say so */
	(void) send_bytes(worker->socket, &job, sizeof(job));
}

static void
listen_to(struct pollfd *slot, int fd)
{
	slot->fd = fd;
	slot->events = POLLIN;
	slot->revents = 0;
}

static void
wait_and_serve(WorkerPool *pool)
{
	int			n_fds = pool->n_workers * 2 + 1;
	int			ready;

	for (int i = 0; i < pool->n_workers; i++)
	{
		Worker	   *worker = &pool->workers[i];

		/* poll() passes over negative descriptors */
		listen_to(&pool->fds[i * 2], worker->socket);
		listen_to(&pool->fds[i * 2 + 1], worker->err_fd);
	}
	listen_to(&pool->fds[n_fds - 1], pool->task->watch_fd);

	ready = poll(pool->fds, n_fds, HOLD_BACK_MS);
	cleanup_check_interrupt();
	if (ready < 0 && errno != EINTR)
		pg_fatal("%s() failed: %m", "poll");
	for (int i = 0; ready == 0 && i < pool->n_workers; i++)
		show_words(&pool->workers[i]);
	for (int i = 0; ready > 0 && i < pool->n_workers; i++)
	{
		Worker	   *worker = &pool->workers[i];

		if (pool->fds[i * 2 + 1].revents && worker->err_fd >= 0)
			hear(worker);
		if (pool->fds[i * 2].revents)
			serve(pool, worker);
	}
	if (ready > 0 && pool->fds[n_fds - 1].revents)
		pool->task->watch(pool->task->arg);
}

void
worker_pool_run(const WorkerTask *task, int n_workers, int n_jobs)
{
	/* found by the exit callback, so it must outlive this function */
	WorkerPool *pool = pg_malloc0(sizeof(WorkerPool));

	pool->task = task;
	pool->n_jobs = n_jobs;
	pool->workers = pg_malloc0((Min(n_workers, n_jobs) + 1) * sizeof(Worker));
	pool->steps = mmap(NULL, (Min(n_workers, n_jobs) + 1) * sizeof(int),
					   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pool->steps == MAP_FAILED)
		pg_fatal("could not map shared memory: %m");
	pool->fds = pg_malloc0((Min(n_workers, n_jobs) * 2 + 1) *
						   sizeof(struct pollfd));
	cleanup_push(kill_workers, pool);
	for (int i = 0; i < Min(n_workers, n_jobs); i++)
	{
		pool->n_workers = i + 1;
		fork_worker(pool, i);
	}
	while (pool->n_running > 0)
		wait_and_serve(pool);
}
