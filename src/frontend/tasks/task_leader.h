/*
 * task_leader.h
 *		The leader of a distributed dump.  pg_pardump calls it to read the
 *		rows with --tasks: it runs the user's command, which starts tasks on
 *		any hosts, and collects their files in the archive.
 */
#ifndef TASK_LEADER_H
#define TASK_LEADER_H

#include "source/source.h"
#include "status/run.h"

/*
 * Dump all rows of the plan with tasks, which the command of --run-tasks
 * starts, in the snapshot of the leader's session, which is kept until then.
 * The command runs again for tasks with missing files, at most --retries
 * times.  The leader itself does jobs whose tables no task can lock, using
 * own.  Returns when all files are in the archive and the leader's
 * transaction has ended successfully.  Exits with a message that lists
 * missing files otherwise.
 */
extern void task_leader_run(Source *source, Run *run, const WorkerTask *own);

#endif							/* TASK_LEADER_H */
