/*
 * job_log_session.h
 *		The sessions of a restore's leader, which may be lost while others
 *		work.
 */
#ifndef JOB_LOG_SESSION_H
#define JOB_LOG_SESSION_H

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
 * Do some work within session_try() until it is done, with the waits between
 * retries.  Exits with a message if a session was lost --retries times in a
 * row.
 */
extern void job_log_session_insist(void (*work) (void *arg), void *arg,
								   const Options *options);

#endif							/* JOB_LOG_SESSION_H */
