/*
 * cluster_check.h
 *		Has a cluster room for the runs of all its databases?
 *
 * Looked at before anything is made, as a run that is refused a session later
 * would fail after hours of work of others.  An error is for
 * findings_settle() to end the program.
 */
#ifndef CLUSTER_CHECK_H
#define CLUSTER_CHECK_H

#include "options/options.h"
#include "session/session.h"

/*
 * Tell of an error if the server, or the role, allows fewer connections than
 * there may be at a time, of workers and of the leaders of runs, of which
 * there are as many as jobs, or databases; warn if that cannot be seen.  So
 * too if this process may not have as many files open as one leader needs.
 * The session itself is to end before the runs begin.
 */
extern void cluster_check_source(PGconn *conn, int jobs, int n_databases);

/*
 * The same of a target, be it a restore's or a copy's; and a warning if there
 * is no room for the builds of indexes besides.
 */
extern void cluster_check_target(PGconn *conn, const Options *options,
								 int n_databases);

#endif							/* CLUSTER_CHECK_H */
