/*
 * child_process.h
 *		The ends of child processes: awaited, asked for, and enforced.
 */
#ifndef CHILD_PROCESS_H
#define CHILD_PROCESS_H

#include "base/fe_compat.h"

/* Is this child gone?  It is reaped then, and the pid 0. */
extern bool child_process_is_gone(pid_t *pid);

/*
 * Wait for the end of a child, for so long at most: how it has ended is in
 * *status then, as waitpid() has it, and it is reaped.  Else, or if a signal
 * came, false.
 */
extern bool child_process_wait(pid_t pid, int *status, int wait_ms);

/*
 * End child processes: ask them by SIGTERM, and kill those that are not gone
 * after five seconds, be they stopped, deaf, or waiting for a server that
 * does not answer.  All are reaped.  A pid of 0 is passed over; all are 0
 * then.
 */
extern void child_process_end_all(pid_t *pids, int n_pids);

/*
 * The process group of a child that must end before this process does, as it
 * would take the end of its input for that of a file; 0 for none.  It is
 * ended when the process exits or is ended by a signal.
 */
extern void child_process_set_fed(pid_t pid);

/*
 * Likewise of a child whose output this process waits for, 0 for none.  The
 * group is killed at the same moments, but its end is not waited for.
 */
extern void child_process_set_asked(pid_t pid);

/*
 * Kill both process groups, if there are any, and see the first one gone.  A
 * worker that cannot exits with 1, so that its job is not retried.  Safe
 * in a handler.
 */
extern void child_process_end_fed(void);

#endif							/* CHILD_PROCESS_H */
