/*
 * backend_query.h
 *		Queries for what the server's processes for our sessions do.
 */
#ifndef BACKEND_QUERY_H
#define BACKEND_QUERY_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/*
 * A query for the backend, which finds it if it is at work, and not if it
 * waits for its client, or for nothing, or is gone.  Owned.
 */
extern char *backend_query_at_work(int backend);

/*
 * A statement that ends the backend, unless it is younger than the given
 * number of seconds, and so another one that the server gave the same process
 * ID.  Owned.
 */
extern char *backend_query_terminate(int backend, int min_age_s);

/*
 * A query for those of these backends ("1,2") which wait for a lock, directly
 * or by others, behind the leader, an SQL expression for a process, or behind
 * one of these that is idle: the relation that is locked, and the process of
 * the next in the queue.  Owned.
 */
extern char *backend_query_deadlock(const char *backends, const char *leader);

#endif							/* BACKEND_QUERY_H */
