/*
 * worker_process.c
 *		One worker process: the fork, the messages between leader and worker,
 *		and the worker's standard error.
 *
 * Leader and worker only exchange numbers of jobs.  Both know the jobs from
 * the memory that fork() has copied, and results are in shared memory.  The
 * worker's standard error is a pipe, so that the leader can print the
 * messages of one worker together, and after its own line of progress.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "process/child_program.h"
#include "process/worker_process.h"
#include "process/worker_slots.h"

/* Other open files of the leader, and some to spare. */
#define OTHER_FILES 64

/* Separates a worker's messages from the cause of its lost connection. */
#define CAUSE_MARK '\0'

/* Is this process a worker? */
static bool is_worker;

/* Receive all len bytes; returns false at the end of the stream. */
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

/* The socket to the leader, and the jobs that this worker has reserved. */
static int	leader_socket = -1;
static int32 reserved[WORKER_MOST_RESERVED];
static int	n_reserved;

/* Get the next job.  Returns false if the leader has ended. */
static bool
take_next_job(int32 *job)
{
	if (n_reserved == 0)
		return receive(leader_socket, job, sizeof(*job));
	*job = reserved[0];
	memmove(&reserved[0], &reserved[1], --n_reserved * sizeof(reserved[0]));
	return true;
}

int
worker_process_reserve_job(bool last)
{
	int32		job = last ? RESERVE_LAST_JOB : RESERVE_JOB;

	if (n_reserved == WORKER_MOST_RESERVED)
		return NO_JOB;
	if (!send_bytes(leader_socket, &job, sizeof(job)) ||
		!receive(leader_socket, &job, sizeof(job)))
		exit(1);				/* the leader has ended */
	if (job != NO_JOB)
		reserved[n_reserved++] = job;
	return job;
}

void
worker_process_release_jobs(void)
{
	int32		message = RELEASE_JOBS;

	if (n_reserved > 0 && !send_bytes(leader_socket, &message, sizeof(message)))
		exit(1);				/* the leader has ended */
	n_reserved = 0;
}

static void
worker_main(const WorkerTask *task, int no, int socket, volatile int *step)
{
	int32		job = NO_JOB;

	/* session_lost() checks this, because a worker ends, and is replaced. */
	is_worker = true;
	leader_socket = socket;
	task->start(task->arg, no);
	for (;;)
	{
		if (!send_bytes(socket, &job, sizeof(job)) || !take_next_job(&job))
			_exit(1);			/* the leader has ended */
		if (job == NO_JOB)
			break;
		*step = NO_STEP;
		if (!task->run(task->arg, job, step))
			job = REFUSED;
	}
	if (task->stop)
		task->stop(task->arg);
	exit(0);
}

bool
worker_process_is_this(void)
{
	return is_worker;
}

void
worker_process_lost(const char *cause)
{
	/*
	 * End a command that has got a part of a file first.  Otherwise it would
	 * take the end of this process for the end of the file, and store the
	 * part under the file's name (--pipe).
	 */
	child_process_end_fed();
	fputc(CAUSE_MARK, stderr);
	fputs(cause, stderr);
	exit(WORKER_EXIT_RETRY);
}

void
worker_process_lost_in_handler(const char *cause)
{
	static const char mark = CAUSE_MARK;

	child_process_end_fed();
	if (write(STDERR_FILENO, &mark, 1) < 0 ||
		write(STDERR_FILENO, cause, strlen(cause)) < 0)
		_exit(1);
	_exit(WORKER_EXIT_RETRY);
}

/* ----------
 * In the leader
 * ----------
 */
/* Each worker needs a socket and a pipe. */
bool
worker_processes_have_files(int n, int n_more)
{
	rlim_t		need = 2 * (rlim_t) n + (rlim_t) n_more + OTHER_FILES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
		return true;
	if (limit.rlim_max >= need)
	{
		limit.rlim_cur = need;
		if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
			return true;
	}
	pg_log_error(ngettext("the limit of open files (" UINT64_FORMAT ") is too low for %d job: " UINT64_FORMAT " are needed",
						  "the limit of open files (" UINT64_FORMAT ") is too low for %d jobs: " UINT64_FORMAT " are needed",
						  n),
				 (uint64) limit.rlim_max, n, (uint64) need);
	if (n_more > 0)
		pg_log_error_detail("This number includes a connection to each database (%d).",
							n_more);
	pg_log_error_hint("Use a smaller number for --jobs, or increase the limit with \"ulimit -n\".");
	return false;
}

WorkerProcess *
worker_processes_new(int n)
{
	WorkerProcess *processes = pg_malloc0((n + 1) * sizeof(WorkerProcess));
	pid_t	   *asked = shared_memory_new((size_t) n * CHILD_PROCESS_MOST_ASKED,
										  sizeof(pid_t));
	int			listener;

	if (!worker_processes_have_files(n, 0))
		exit(1);
	/* the commands of a worker that is killed */
	child_process_adopt_orphans();
	listener = epoll_create1(EPOLL_CLOEXEC);
	if (listener < 0)
		pg_fatal("%s() failed: %m", "epoll_create1");
	/* There is at least one element. */
	processes[0].listener = listener;
	for (int i = 0; i < n; i++)
	{
		processes[i].socket = processes[i].err_fd = -1;
		processes[i].listener = listener;
		processes[i].asked = &asked[i * CHILD_PROCESS_MOST_ASKED];
		initPQExpBuffer(&processes[i].words);
	}
	return processes;
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Register a descriptor.  The mark identifies the process, and which of its
 * two descriptors this is.
 */
static void
listen_to(const WorkerProcess *process, int fd, uint64 mark)
{
	struct epoll_event event = {.events = EPOLLIN,.data.u64 = mark};

	if (epoll_ctl(process->listener, EPOLL_CTL_ADD, fd, &event) < 0)
		pg_fatal("%s() failed: %m", "epoll_ctl");
}

/*
 * Close a descriptor in the leader.  A process that was just forked may still
 * have a copy of it, so it must be removed from the listener.
 */
static void
close_heard(const WorkerProcess *process, int *fd)
{
	if (*fd >= 0)
		(void) epoll_ctl(process->listener, EPOLL_CTL_DEL, *fd, NULL);
	close_fd(fd);
}

void
worker_process_fork(WorkerProcess *processes, int n, int no,
					const WorkerTask *task, volatile int *step)
{
	WorkerProcess *process = &processes[no];
	int			sockets[2];
	int			err[2];
	pid_t		leader = getpid();

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0 || pipe(err) < 0)
		pg_fatal("could not create pipe: %m");
	process->pid = interrupt_fork();
	if (process->pid == 0)
	{
		child_process_note_asked(process->asked);
		interrupt_install_worker(leader, child_process_end_fed);
		interrupt_release_signals();
		worker_slots_forget();

		/*
		 * Close the leader's sockets, so that each worker sees the end of its
		 * stream when the leader has ended.
		 */
		for (int i = 0; i < n; i++)
		{
			close_fd(&processes[i].socket);
			close_fd(&processes[i].err_fd);
		}

		/*
		 * The epoll instance is shared after fork(): to remove descriptors
		 * from it would remove them for the leader, so it is only closed.
		 */
		close(process->listener);
		close(sockets[0]);
		close(err[0]);
		/* A command of the worker must not keep the socket open either. */
		(void) fcntl(sockets[1], F_SETFD, FD_CLOEXEC);
		dup2(err[1], STDERR_FILENO);
		close(err[1]);
		worker_main(task, no, sockets[1], step);
	}
	close(sockets[1]);
	close(err[1]);
	process->socket = sockets[0];
	process->err_fd = err[0];
	listen_to(process, process->socket, (uint64) no * 2);
	listen_to(process, process->err_fd, (uint64) no * 2 + 1);
}

int
worker_processes_wait(const WorkerProcess *processes, int n, int watch_fd,
					  int wait_ms, WorkerSign *signs)
{
	struct pollfd fds[] = {
		{.fd = processes[0].listener,.events = POLLIN},
		{.fd = watch_fd,.events = POLLIN}	/* poll() ignores -1 */
	};
	struct epoll_event *events;
	int			ready = poll(fds, lengthof(fds), wait_ms);
	int			n_signs = 0;

	interrupt_check();
	if (ready < 0 && errno != EINTR)
		pg_fatal("%s() failed: %m", "poll");
	if (ready == 0)
		return -1;
	if (ready < 0 || fds[0].revents == 0)
		return 0;
	events = pg_malloc(n * 2 * sizeof(struct epoll_event));

	/*
	 * poll() has already waited for the epoll instance and for the other
	 * descriptor, so read all ready ones without a wait.
	 */
	n_signs = epoll_wait(fds[0].fd, events, n * 2, 0);
	if (n_signs < 0 && errno != EINTR)
		pg_fatal("%s() failed: %m", "epoll_wait");
	for (int i = 0; i < n_signs; i++)
	{
		signs[i].no = (int) (events[i].data.u64 / 2);
		signs[i].has_words = events[i].data.u64 % 2 == 1;
	}
	free(events);
	return Max(n_signs, 0);
}

bool
worker_process_receive(WorkerProcess *process, int32 *job)
{
	if (receive(process->socket, job, sizeof(*job)))
		return true;
	close_heard(process, &process->socket);
	return false;
}

void
worker_process_send(WorkerProcess *process, int32 job)
{
	(void) send_bytes(process->socket, &job, sizeof(job));
}

bool
worker_process_hear(WorkerProcess *process)
{
	char		text[4096];
	ssize_t		len = read(process->err_fd, text, sizeof(text));

	if (len < 0 && errno == EINTR)
		return true;
	if (len <= 0)
	{
		close_heard(process, &process->err_fd);
		return false;
	}
	appendBinaryPQExpBuffer(&process->words, text, len);
	return true;
}

const char *
worker_process_lost_cause(const WorkerProcess *process)
{
	const char *mark = memchr(process->words.data, CAUSE_MARK,
							  process->words.len);

	return mark ? mark + 1 : NULL;
}

void
worker_process_show_words(WorkerProcess *process)
{
	const char *cause = worker_process_lost_cause(process);
	size_t		len = process->words.len;

	if (cause)
		len = cause - 1 - process->words.data;
	if (len > 0)
		message_before_output();
	fwrite(process->words.data, 1, len, stderr);
	/* Keep the cause for the report about the end of the process. */
	memmove(process->words.data, process->words.data + len,
			process->words.len - len);
	process->words.len -= len;
	process->words.data[process->words.len] = '\0';
}

int
worker_process_reap(WorkerProcess *process)
{
	int			status = 0;

	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	process->pid = 0;
	child_process_end_orphans(process->asked);
	/* Its last messages may still be in the pipe. */
	while (process->err_fd >= 0 && worker_process_hear(process))
		;
	return status;
}
