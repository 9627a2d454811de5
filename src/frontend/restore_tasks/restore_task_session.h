/*
 * restore_task_session.h
 *		A task's own session on the target, beside those of its workers: it
 *		looks for the leader.
 *
 * It may be lost while workers go on, and is there again when it can be.
 */
#ifndef RESTORE_TASK_SESSION_H
#define RESTORE_TASK_SESSION_H

#include "restore_tasks/restore_task_plan.h"
#include "target/target.h"

typedef struct RestoreTaskSession
{
	const RestoreTaskPlan *plan;
	const Options *options;
	Target	   *target;			/* its connection is NULL while it is lost */
	int64		looked_at;
	int64		seen_at;		/* the leader, last; or when it must have been
								 * there at least */
	int64		gone_since;		/* it, by all answers since; 0 = it is there,
								 * or nobody knows */
} RestoreTaskSession;

/*
 * The first one; without it a later attempt may have more luck.  What the
 * target's address follows from is for the caller to set.
 */
extern void restore_task_session_begin(RestoreTaskSession *session);

/* No session at this time: end with WORKER_EXIT_RETRY.  Owns the cause. */
pg_noreturn extern void restore_task_session_give_up(char *cause);

/*
 * Several times a second.  Exits with a message when the leader has been gone
 * for longer than it can need to connect again.
 */
extern void restore_task_session_attend(RestoreTaskSession *session);

/* All is loaded. */
extern void restore_task_session_end(RestoreTaskSession *session);

#endif							/* RESTORE_TASK_SESSION_H */
