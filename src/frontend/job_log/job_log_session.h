/*
 * job_log_session.h
 *		The sessions of a restore's leader, which may be lost while others
 *		work.
 */
#ifndef JOB_LOG_SESSION_H
#define JOB_LOG_SESSION_H

#include "base/retry.h"
#include "job_log/job_log.h"
#include "target/target.h"

/* The session that is to have the lock is there: note which one it is. */
extern void job_log_session_note(JobLog *log);

/*
 * While others work: if the session that has the lock is lost, connect again,
 * and keep other runs away again; then true.  Ends by session_lost() if that
 * cannot be done at this time.  Exits with a message if another run has come
 * in between.
 */
extern bool job_log_session_keep(JobLog *log, const Target *target);

/*
 * Do some work within session_try().  False if a session was lost, which is
 * told; when it is to be done again is noted.  Exits with a message if that
 * has been so --retries times in a row.
 */
extern bool job_log_session_try(void (*work) (void *arg), void *arg,
								Retry *retry, const Options *options);

/* The same until it is done, with the waits in between. */
extern void job_log_session_insist(void (*work) (void *arg), void *arg,
								   const Options *options);

#endif							/* JOB_LOG_SESSION_H */
