/*
 * worker_watch.h
 *		What the leader does while workers work.
 *
 * It keeps its session, and with it the snapshot and the locks
 * (leader_session.h), shows progress, and does jobs that no worker can do.
 * And it looks after the workers: those whose server has been silent for
 * longer than --stall-timeout are ended, to be replaced; if they wait for
 * each other the run ends, with a message.
 *
 * When all jobs are done, workers that are stopped go on, so that they leave,
 * and the transaction is ended if it may be, whose success proves that the
 * session has held its locks all the time.
 */
#ifndef WORKER_WATCH_H
#define WORKER_WATCH_H

#include "process/worker_pool.h"
#include "source/source.h"

/*
 * For a pool whose workers are the source's, after leader_session_begin().
 * It lives as long as the process.
 */
extern PoolWatch worker_watch(Source *source, const DumpPlan *plan);

#endif							/* WORKER_WATCH_H */
