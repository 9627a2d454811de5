/*
 * worker_process.h
 *		One process of a worker pool, seen from the leader.
 *
 * Protocol, on a stream socket:
 *
 *	worker to leader	int32: the job just done, or NO_JOB for none, or
 *						REFUSED for the current one.  The worker is ready.
 *	leader to worker	int32: a job, or NO_JOB: there are no more jobs, exit.
 *
 * While a worker does a job, it can send RESERVE_JOB or RESERVE_LAST_JOB.
 * The leader answers with a job that this worker will do later, or with
 * NO_JOB.  A worker that is ready and has reserved jobs begins with the first
 * of them, and the leader sends no job.  The leader does not answer
 * RELEASE_JOBS either: the reserved jobs of the worker may then be given to
 * any worker.
 *
 * The end of the stream means that the other side has ended.  Then a worker
 * exits at once, and the leader finds out why the worker ended.
 *
 * The worker's standard error is a pipe.  The leader holds messages back
 * until the worker's next message on the socket, or for a moment, so that if
 * several workers fail for the same reason it can show only the first one.  A
 * worker that has lost its connection writes a zero byte and the cause, and
 * exits with WORKER_EXIT_RETRY.
 */
#ifndef WORKER_PROCESS_H
#define WORKER_PROCESS_H

#include "pqexpbuffer.h"

/* ----------
 * The task of a pool's workers.
 * ----------
 */

/* The number of the leader when it does a worker's job. */
#define WORKER_IS_LEADER (-1)

typedef struct WorkerTask
{
	void	   *arg;			/* argument of every callback */
	const char *job_detail;		/* "The worker was dumping %s." */
	int			max_retries;	/* for a job, or the start of a worker */
	int			lost_status;	/* the program's exit code if a worker has
								 * lost its connection finally, or was killed
								 * from outside, after which another run may
								 * succeed; 0 means 1 */
	bool		outlives_kill;	/* treat SIGKILL of a worker like a lost
								 * connection */
	bool		has_slots;		/* each worker needs a slot of worker_slots.h,
								 * if there are any */
	bool		builds;			/* the slots are those for builds */
	int		   *n_done;			/* counts finished jobs; or NULL */

	/*
	 * Called in a worker: start() once, before any job, with the worker's
	 * number from 0; run() for each job, which returns false to refuse it;
	 * stop() once at the end.  A job may have steps: run() updates *step,
	 * which is -1 at first, and the leader knows it even if the worker is
	 * killed.  A worker that replaces a lost one gets the same number.  The
	 * leader also calls all three, as WORKER_IS_LEADER, for a job that all
	 * workers have refused.  A task whose jobs are never refused may have no
	 * stop().
	 */
	void		(*start) (void *arg, int worker);
	bool		(*run) (void *arg, int job, volatile int *step);
	void		(*stop) (void *arg);

	/*
	 * Called in the leader: describes a job, or a step of it unless step is
	 * -1, for a message (owned by the caller).
	 */
	char	   *(*describe) (void *arg, int job, int step);

	/*
	 * Called in the leader when the worker with this job has ended, before
	 * another one repeats the job: removes partial results.  NULL if there
	 * are none.
	 */
	void		(*reset) (void *arg, int job);

	/*
	 * Called in the leader: may this job begin now?  If it returns true the
	 * job begins.  If not it is called again later, and must finally return
	 * true for the first job that has not begun, when no other one is active.
	 * NULL: all jobs may begin.
	 */
	bool		(*begin) (void *arg, int job);

	/* Called in the leader when this job is done; or NULL. */
	void		(*done) (void *arg, int job);

	/* Workers may reserve jobs before this one; 0 = none. */
	int			n_reservable;
} WorkerTask;

/* The exit code of a worker that lost its connection (EX_TEMPFAIL). */
#define WORKER_EXIT_RETRY 75

#define NO_JOB (-1)
#define REFUSED (-2)
#define RESERVE_JOB (-3)
#define RELEASE_JOBS (-4)
#define RESERVE_LAST_JOB (-5)
#define NO_STEP (-1)

/* A worker can reserve this number of jobs. */
#define WORKER_MOST_RESERVED 16

typedef struct WorkerProcess
{
	pid_t		pid;			/* 0 if there is no process */
	int			socket;			/* -1 when closed */
	int			err_fd;			/* -1 when closed */
	int			listener;		/* the epoll instance for both, which all
								 * processes share */
	PQExpBufferData words;		/* its standard error, held back */
	volatile pid_t *asked;		/* see child_process_note_asked() */
} WorkerProcess;

/*
 * May this process have enough open files for n workers and n_more
 * connections?  Raises its soft limit if necessary.  Reports an error if not.
 */
extern bool worker_processes_have_files(int n, int n_more);

/*
 * Prepare n processes, which do not exist yet; owned.  Exits with a message
 * if the limit of open files is too low.
 */
extern WorkerProcess *worker_processes_new(int n);

/*
 * Fork process number no of n.  In the new process this function does not
 * return: it does jobs until the leader ends it.  *step is where it notes its
 * step.
 */
extern void worker_process_fork(WorkerProcess *processes, int n, int no,
								const WorkerTask *task, volatile int *step);

/* Something that the leader must handle. */
typedef struct WorkerSign
{
	int			no;				/* number of the process */
	bool		has_words;		/* true: text on standard error; false: a
								 * message, or the end of its stream */
} WorkerSign;

/*
 * Wait for any of n processes, or for another descriptor (-1: none), at most
 * this long.  Returns the number of signs, of which there may be two per
 * process, in no particular order; -1 if nothing happened in time.  The cost
 * does not depend on n: poll() would check the descriptors of a thousand
 * workers whenever one of them is done.
 */
extern int	worker_processes_wait(const WorkerProcess *processes, int n,
								  int watch_fd, int wait_ms,
								  WorkerSign *signs);

/* Is this process a worker? */
extern bool worker_process_is_this(void);

/*
 * In a worker that does a job: reserve a job, which this worker will do after
 * the current job and the jobs that it has reserved before.  Returns NO_JOB
 * if there are too few jobs for all workers to reserve as many.  With "last",
 * one job that no worker will need at once is enough.  So use it only if the
 * worker will begin with the job soon.
 */
extern int	worker_process_reserve_job(bool last);

/* In a worker: release all reserved jobs, so that other workers do them. */
extern void worker_process_release_jobs(void);

/*
 * In a worker: end the process, so that it is replaced, because its
 * connection is lost.  The leader shows the cause, as a warning, or as an
 * error after the last retry.
 */
pg_noreturn extern void worker_process_lost(const char *cause);

/* End the process in this way in a signal handler. */
pg_noreturn extern void worker_process_lost_in_handler(const char *cause);

/*
 * Receive a message.  Returns false at the end of the stream, and closes it.
 */
extern bool worker_process_receive(WorkerProcess *process, int32 *job);

/* Send a job, or NO_JOB.  If the process has ended, its stream will end. */
extern void worker_process_send(WorkerProcess *process, int32 job);

/* Read its messages.  Returns false at the end, and closes the pipe. */
extern bool worker_process_hear(WorkerProcess *process);

/*
 * Returns why the worker lost its connection, if it has reported this;
 * otherwise NULL.
 */
extern const char *worker_process_lost_cause(const WorkerProcess *process);

/* Print its messages, except for that cause. */
extern void worker_process_show_words(WorkerProcess *process);

/*
 * Wait for its end, which is certain, and end commands that it has left.
 * Returns the status from waitpid().
 */
extern int	worker_process_reap(WorkerProcess *process);

#endif							/* WORKER_PROCESS_H */
