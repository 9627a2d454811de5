/*
 * server_check.h
 *		Looks, before a run does anything, at what would make it fail or harm.
 *
 * An error is for findings_settle() to end the run.
 */
#ifndef SERVER_CHECK_H
#define SERVER_CHECK_H

#include "session/session.h"

/*
 * Tell of an error, and the number of jobs that would do, if the server, the
 * database or the role allows fewer connections than there are to be workers;
 * warn if it allows just these (see leader_session.c:take_over), or if it may
 * be fewer, as the role does not see what sessions of others are.  Others may
 * take connections meanwhile: then fewer workers do the work, if any can
 * start.  For servers before 10: nothing.
 */
extern void server_health_check_connections(PGconn *conn, int n_workers);

/*
 * Warn if this is a standby whose replay does not wait for the run as long as
 * it takes, whatever it does.
 */
extern void server_health_check_delays(PGconn *conn);

/*
 * Tell of an error if old_snapshot_threshold lets the server remove rows that
 * the run's snapshot is going to see.
 */
extern void server_health_check_snapshots(PGconn *conn);

/*
 * Tell of an error if this is a standby that cannot have a slot's snapshot
 * kept whole: nothing protects it before it is exported but
 * hot_standby_feedback.
 */
extern void server_health_check_feedback(PGconn *conn);

/*
 * The run's own snapshot: how many transaction IDs were assigned since it was
 * taken, as of the last checkpoint (in a transaction age() never changes),
 * and autovacuum_freeze_max_age.  For who may execute
 * pg_control_checkpoint().
 */
extern const char server_health_age_query[];

/*
 * Warn by the query's result that this is more than the setting, and again
 * each time it has doubled; *warned is the age of the last warning, 0 before.
 * A result that is an error is passed over.
 */
extern void server_health_warn_of_age(const PGresult *res, int64 *warned);

/*
 * A query for those of these backends ("1,2") which wait for a lock, directly
 * or by others, behind the session that asks, or behind one of these that is
 * idle: the relation that is locked, and the process of the next in the
 * queue.  Owned.
 */
extern char *server_health_deadlock_query(const char *backends);

/*
 * Exit with a message if the query has found one twice in a row: the server
 * does not see that such a wait is for ever, but a worker between two jobs
 * has done its part for a moment only.
 */
extern void server_health_check_deadlock(const PGresult *res, int *in_a_row);

/*
 * A query for the backend, which finds it if it is at work, and not if it
 * waits for its client, or for nothing, or is gone.  Owned.
 */
extern char *server_health_at_work_query(int backend);

/*
 * A statement that ends the backend, unless it is younger than so many
 * seconds, and so another one to which the server gave the same number.
 * Owned.
 */
extern char *server_health_terminate_query(int backend, int min_age_s);

/* Warn if the database's oldest transaction ID is alarmingly old. */
extern void server_health_check_age(PGconn *conn);

#endif							/* SERVER_CHECK_H */
