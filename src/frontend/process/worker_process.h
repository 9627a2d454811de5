/*
 * worker_process.h
 *		One process of a worker pool, as its leader has it.
 *
 * Protocol, on a stream socket:
 *	worker to leader	int32: the job just done, or NO_JOB for none, or
 *						REFUSED for the one it was given.  The worker is
 *						ready.
 *	leader to worker	int32 job, or NO_JOB: no more, leave.
 * The end of the stream means that the other side is gone: a worker then
 * leaves at once, the leader looks why.
 *
 * What a worker writes to its standard error comes by a pipe.  The leader
 * holds it back until the worker's next message, or for a moment, so that of
 * several workers that fail for one reason it can show the first only.  A
 * worker that lost its connection ends with WORKER_EXIT_RETRY after it has
 * written a zero byte and the cause.
 */
#ifndef WORKER_PROCESS_H
#define WORKER_PROCESS_H

#include "pqexpbuffer.h"

/* ----------
 * Describes what the workers of a pool do, for the pool.
 * ----------
 */

/* The number of the leader, where it does a worker's job. */
#define WORKER_IS_LEADER (-1)

typedef struct WorkerTask
{
	void	   *arg;			/* given to every callback */
	const char *doing;			/* for messages: "dumping %s", of a job */
	int			max_retries;	/* of one job, or of one worker's start */
	int			lost_status;	/* the program's exit code when a worker has
								 * lost its connection for good, or was killed
								 * from outside, which another run may not be;
								 * 0 = 1 */
	bool		outlives_kill;	/* SIGKILL of a worker is one more loss */
	bool		has_slots;		/* each worker needs one of worker_slots.h,
								 * where there are any */
	bool		builds;			/* and they are those of builds */
	int		   *n_done;			/* counts the jobs that are done; or NULL */

	/*
	 * In a worker: once, before any job, with the worker's number from 0; a
	 * run of one job, or false if it is refused; once, at the end. A job may
	 * have steps: run() sets *step, which is -1 at first, as it goes, and the
	 * leader knows it even if the worker is killed.  The number of a worker
	 * that was lost is given to the one that replaces it.  All three also in
	 * the leader, as WORKER_IS_LEADER, for a job that all workers refuse; a
	 * task of which none is refused may have no stop().
	 */
	void		(*start) (void *arg, int worker);
	bool		(*run) (void *arg, int job, volatile int *step);
	void		(*stop) (void *arg);

	/*
	 * In the leader: what a job is about, or a step of it unless -1, for a
	 * message (owned by the caller).
	 */
	char	   *(*describe) (void *arg, int job, int step);

	/*
	 * In the leader: the worker that was doing this job is gone, and another
	 * one will do it: remove what there is of it.  NULL: nothing need be.
	 */
	void		(*reset) (void *arg, int job);

	/*
	 * In the leader: may this job begin now?  If it returns true it does.  It
	 * is asked again later, and must return true at last for the first job
	 * that has not begun when none is being done.  NULL: any may.
	 */
	bool		(*begin) (void *arg, int job);

	/* In the leader: this job is done; or NULL. */
	void		(*done) (void *arg, int job);
} WorkerTask;

/* The exit code of a worker that lost its connection (EX_TEMPFAIL). */
#define WORKER_EXIT_RETRY 75

#define NO_JOB (-1)
#define REFUSED (-2)
#define NO_STEP (-1)

typedef struct WorkerProcess
{
	pid_t		pid;			/* 0 when there is none */
	int			socket;			/* -1 when closed */
	int			err_fd;			/* -1 when closed */
	int			listener;		/* the epoll that both are heard by, which all
								 * share */
	PQExpBufferData words;		/* from its standard error, held back */
	volatile pid_t *asked;		/* see child_process_note_asked() */
} WorkerProcess;

/*
 * May this process have as many files open as n workers take, and n_more
 * connections besides, raising its soft limit if need be?  If not, that is an
 * error.
 */
extern bool worker_processes_have_files(int n, int n_more);

/*
 * n processes that are not there yet; owned.  Exits with a message if the
 * limit of open files is too low.
 */
extern WorkerProcess *worker_processes_new(int n);

/*
 * Fork the process number no of n.  In the new process this does not return:
 * it does jobs until it is told to leave.  *step is where it tells its step.
 */
extern void worker_process_fork(WorkerProcess *processes, int n, int no,
								const WorkerTask *task, volatile int *step);

/* What the leader is to look at. */
typedef struct WorkerSign
{
	int			no;				/* of the process */
	bool		has_words;		/* to be heard; else there is a message, or
								 * the end of its stream */
} WorkerSign;

/*
 * Wait for any of n processes, or for a descriptor besides (-1: none), for so
 * long at most.  Returns how many signs there are, of room for two of each
 * process, in no order; -1 if nothing has come in time.  What it costs does
 * not depend on n: poll() would ask each descriptor of a thousand workers
 * whenever one of them is done.
 */
extern int	worker_processes_wait(const WorkerProcess *processes, int n,
								  int watch_fd, int wait_ms,
								  WorkerSign *signs);

/* Is this process a worker's? */
extern bool worker_process_is_this(void);

/*
 * In a worker: end the process, so that it is replaced, because its
 * connection is lost.  The leader shows the cause, as a warning, or as an
 * error after the last retry.
 */
pg_noreturn extern void worker_process_lost(const char *cause);

/* The same in a signal handler. */
pg_noreturn extern void worker_process_lost_in_handler(const char *cause);

/*
 * Take its message; false, and the stream closed, at the end of the stream.
 */
extern bool worker_process_receive(WorkerProcess *process, int32 *job);

/* Give it a job, or NO_JOB.  Should it be gone its stream will say so. */
extern void worker_process_send(WorkerProcess *process, int32 job);

/* Take what it has said; false, and the pipe closed, at the end. */
extern bool worker_process_hear(WorkerProcess *process);

/* Why it lost its connection, if it has said so; NULL else. */
extern const char *worker_process_lost_cause(const WorkerProcess *process);

/* Show what it has said, but for that cause. */
extern void worker_process_show_words(WorkerProcess *process);

/*
 * Wait for its end, which has come, and end commands that it has left.
 * Returns the status of waitpid().
 */
extern int	worker_process_reap(WorkerProcess *process);

#endif							/* WORKER_PROCESS_H */
