/*
 * worker_gone.h
 *		What becomes of a worker whose process has ended.
 */
#ifndef WORKER_GONE_H
#define WORKER_GONE_H

#include "process/worker_state.h"

/*
 * The worker's stream has ended: how did it go?  It leaves as it was told, or
 * is replaced after a while, or done without; or the program ends.
 */
extern void worker_gone_note(WorkerPool *pool, Worker *worker);

#endif							/* WORKER_GONE_H */
