/*
 * traffic.h
 *		What comes from the server: kept below --max-rate, and its absence
 *		noticed.
 *
 * All workers together take from one budget in memory they share.  Each
 * counts its waits for the server there, so that the leader sees who has been
 * waiting for how long, in whatever call.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/* A worker's, in shared memory: odd while it waits for the server. */
typedef volatile uint64 WaitCount;

/* In the leader, before workers are forked: bytes a second, 0 = no limit. */
extern void traffic_set_max_rate(uint64 max_rate);

/*
 * In a worker: count waits there from now on.  From then on SIGUSR1, which
 * the leader sends to a worker that has waited for too long, ends the process
 * as session_lost() does.
 */
extern void traffic_begin_worker(WaitCount *waits);

/* Around every call that may wait for the server. */
extern void traffic_wait_begins(void);
extern void traffic_wait_ends(void);

/*
 * A wait of its own until something has come, or what is to be sent can be;
 * false if that is not so after a moment.  Call PQconsumeInput() in any case:
 * a libpq from before August 2026 may leave bytes in the buffers of TLS, of
 * which the socket tells nothing (pqReadData).
 */
extern bool traffic_wait_input(PGconn *conn);

/*
 * In the leader, which nobody looks after: call this at each such wait for
 * rows, with whether something has come.  NULL for none, which workers begin
 * with.
 */
extern void traffic_set_watch(void (*watch) (PGconn *conn, bool came));

/* So many bytes have come: wait as long as --max-rate demands. */
extern void traffic_take(size_t bytes);

/* PQgetCopyData(), watched and limited. */
extern int	traffic_get_copy_data(PGconn *conn, char **message);

#endif							/* TRAFFIC_H */
