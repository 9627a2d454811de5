/*
 * restore_task_session.h
 *		A task's own session on the target, beside those of its workers: it
 *		looks for the leader, and notes what is done.
 *
 * It may be lost while workers go on, and is there again when it can be.
 */
#ifndef RESTORE_TASK_SESSION_H
#define RESTORE_TASK_SESSION_H

#include "job_log/job_log_open.h"
#include "restore_tasks/restore_task_plan.h"
#include "target/target.h"

typedef struct RestoreTaskSession
{
	const RestoreTaskPlan *plan;
	const Options *options;
	Target	   *target;			/* its connection is NULL while it is lost */
	const JobLog *log;
	int			n_workers;		/* that are to connect, too */
	int64		looked_at;
	int64		seen_at;		/* the leader, last; or when it must have been
								 * there at least */
	int64		gone_since;		/* it, by all answers since; 0 = it is there,
								 * or nobody knows */
	const DataFile **unnoted;	/* files of which the log is to have a line */
	int			n_unnoted;
} RestoreTaskSession;

/*
 * The first one; without it a later attempt may have more luck.  What the
 * target's address follows from is for the caller to set.
 */
extern void restore_task_session_begin(RestoreTaskSession *session);

/*
 * Several times a second.  Exits with a message when another run has taken
 * over, or all has come to its end; and with WORKER_EXIT_RETRY when the
 * leader has been gone for as long as its retries take, or the longest of
 * these waits: it may be there again for another attempt.
 */
extern void restore_task_session_attend(RestoreTaskSession *session);

/*
 * This file has been loaded in pieces, which the log tells of one by one: it
 * is to have a line of the file, now or later.  Of at most so many as the
 * plan has.
 */
extern void restore_task_session_note(RestoreTaskSession *session,
									  const DataFile *file);

/* All is loaded: it ends when all is noted. */
extern void restore_task_session_end(RestoreTaskSession *session);

#endif							/* RESTORE_TASK_SESSION_H */
