/*
 * session_wait.h
 *		Waits of the leader for the source's server, ended if they are in
 *		vain.
 *
 * While workers work, their leader looks after them; nobody looks after the
 * leader, while it plans or takes a new session.  So it asks by itself, in
 * another connection, what its backend does.
 */
#ifndef SESSION_WAIT_H
#define SESSION_WAIT_H

#include "session/connection.h"

/*
 * Watch the statements in this session of the leader's from now on, unless
 * --stall-timeout is 0.  The address is borrowed for as long as the process.
 */
extern void leader_wait_watch(PGconn *conn, const PeerAddress *address,
							  const Options *options);

/*
 * From now on the leader reads rows itself: its waits are watched likewise,
 * and progress is shown meanwhile.
 */
extern void leader_wait_watch_rows(void);

/*
 * What PQexec() does once it has sent the statement.  NULL if the result is
 * not there after wait_ms.
 *
 * If that is -1 it waits for ever, as traffic.h counts it, unless the session
 * is watched.  Then, when the server has sent nothing for --stall-timeout,
 * and another connection finds that the session has nothing else to do, or
 * cannot ask, so many times in a row as --retries allows, the session is
 * lost: ends by worker_pool_lost().
 */
extern PGresult *leader_wait_result(PGconn *conn, int wait_ms);

#endif							/* SESSION_WAIT_H */
