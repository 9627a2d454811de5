/*
 * leader_watchdog.h
 *		Ends waits of the leader for a source server that stays silent.
 *
 * While workers work, their leader watches them; no process watches the
 * leader while it plans or takes a new session.  So it asks by itself, in
 * another connection, what its backend does.  If the server has sent nothing
 * for --stall-timeout, and the session has nothing else to do, or cannot be
 * asked about as many times in a row as --retries allows, it is lost: the
 * wait ends by session_lost().
 */
#ifndef LEADER_WATCHDOG_H
#define LEADER_WATCHDOG_H

#include "session/connection.h"

/*
 * Watch the statements in this session of the leader's from now on, unless
 * --stall-timeout is 0.  The address is borrowed for as long as the process.
 */
extern void leader_watchdog_watch(PGconn *conn, const PeerAddress *address,
								  const Options *options);

/*
 * From now on the leader reads rows itself: its waits are watched likewise,
 * and progress is shown meanwhile.
 */
extern void leader_watchdog_watch_rows(void);

#endif							/* LEADER_WATCHDOG_H */
