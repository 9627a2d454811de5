/*
 * task_leader.h
 *		The leader of a dump by tasks: has a command of the user's run them,
 *		wherever that is, and takes what they have made into the archive.
 */
#ifndef TASK_LEADER_H
#define TASK_LEADER_H

#include "source/source.h"
#include "status/run.h"

/*
 * Have all jobs of the plan done by --tasks, as --run-tasks starts them, in
 * the snapshot of the leader's session, which is kept meanwhile; those that
 * come back without all files again, up to --retries times.  What no task can
 * lock is done here by own.  Returns when all files are in the archive, and
 * the leader's transaction has ended well; exits with a message that names
 * what is missing else.
 */
extern void task_leader_run(Source *source, Run *run, const WorkerTask *own);

#endif							/* TASK_LEADER_H */
