/*
 * server_health.h
 *		Looks, before a run does anything, at what would make it fail or harm.
 */
#ifndef SERVER_HEALTH_H
#define SERVER_HEALTH_H

#include "session.h"

/*
 * Exit with a message, and the number of jobs that would do, if the server, the
 * database or the role allows fewer connections than there are to be workers.
 * Others may take them meanwhile, and some may not be seen by a role without
 * privileges: what is missed here fails later.  For servers before 10: nothing.
 */
extern void server_health_check_connections(PGconn *conn, int n_workers);

/* Warn if the database's oldest transaction ID is alarmingly old. */
extern void server_health_check_age(PGconn *conn);

#endif							/* SERVER_HEALTH_H */
