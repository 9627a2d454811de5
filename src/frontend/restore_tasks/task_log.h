/*
 * task_log.h
 *		In the leader, while tasks load: its sessions on the target, by which
 *		the log is its own, and tells what is done.
 *
 * Of a restore, and of a copy.  The session that has the log's lock also has
 * that of the run, by which tasks see that the leader is there.
 */
#ifndef TASK_LOG_H
#define TASK_LOG_H

#include "base/retry.h"
#include "job_log/job_log_open.h"

typedef struct TaskLog
{
	Target	   *target;
	JobLog	   *log;
	const char *run_id;
	bool		is_held;		/* the run's lock, by the log's session */
	JobLog		now;			/* the log as it was read last */
	bool		is_alone;		/* no task was at work then */
	int64		looked_at;
	int64		waits_looked_at;
	int			n_waits;		/* looks in a row that found tasks waiting */
	Retry		retry;			/* of what needs the leader's sessions */
} TaskLog;

/* All that it names is borrowed. */
extern void task_log_begin(TaskLog *tasks, Target *target, JobLog *log,
						   const char *run_id);

/*
 * Several times a second: if the sessions are gone, connect again; and tell
 * of tasks that wait for other sessions.  Exits with a message when that was
 * tried as often as --retries allow, or another run has taken over.
 */
extern void task_log_keep(TaskLog *tasks);

/* Read the log; waits, as often, for a target that is away. */
extern void task_log_read(TaskLog *tasks);

#endif							/* TASK_LOG_H */
