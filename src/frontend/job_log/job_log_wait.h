/*
 * job_log_wait.h
 *		Statements on the log that may have to wait for other sessions, and
 *		tell of that.
 *
 * Whoever writes a line waits for whoever has written the same one and has
 * not committed it: another attempt at the same work.  That may be at work
 * for hours; or its process is stopped, or its host hangs, of which the
 * server sees nothing as long as that host's kernel answers.  Silence does
 * not tell them apart: an attempt that reads many rows to find a few sends
 * nothing for long either.  So nobody is ended for that, and the wait is not
 * given up; but it is told who keeps this session waiting, and how to end
 * that.
 */
#ifndef JOB_LOG_WAIT_H
#define JOB_LOG_WAIT_H

#include "base/fe_compat.h"

#include "target/target.h"

/* What waits, and why; for messages. */
typedef struct JobLogWait
{
	const char *doing;			/* "to ...", of the name */
	const char *why;			/* "which ..." */
	const char *hint;
} JobLogWait;

/* To write a line, of this name; to look whose the log is; to remove it. */
extern const JobLogWait job_log_wait_claim;
extern const JobLogWait job_log_wait_look_at;
extern const JobLogWait job_log_wait_removal;

/*
 * PQexecParams(); of several statements, without parameters, the last one's
 * result.  When other sessions have kept it waiting for some seconds, and
 * later again, that is a warning that names them, for which it asks in
 * another session.
 */
extern PGresult *job_log_wait_exec(const Target *target, PGconn *conn,
								   const JobLogWait *wait, const char *name,
								   const char *sql, int n_params,
								   const char *const *params);

#endif							/* JOB_LOG_WAIT_H */
