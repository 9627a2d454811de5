/*
 * tcp_setting.h
 *		Settings of TCP by which a peer's silent end is noticed.
 *
 * A peer that vanished without a word is to be noticed, be it while data is
 * awaited or while none is.  What the user chose stays.
 */
#ifndef TCP_SETTING_H
#define TCP_SETTING_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/*
 * A connection whose other end is gone is given up after about 90 seconds, by
 * us as by the server.
 */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_COUNT 6

/*
 * To a connection that is there.  It is a precaution only, so that nothing
 * comes of it if a system refuses it.
 */
extern void tcp_setting_apply(PGconn *conn);

/*
 * The same for one to be made with these options: " keyword=value ..." for
 * its conninfo; owned.  libpq passes over them if there is no TCP.  One that
 * takes rows, and waits for a lock or its disk, does not read meanwhile: it
 * is not given up for that, as tcp_user_timeout would have it (on Linux).
 */
extern char *tcp_setting_conninfo(const PQconninfoOption *options,
								  bool takes_rows);

#endif							/* TCP_SETTING_H */
