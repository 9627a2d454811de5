/*
 * session_settings.h
 *		Changes the settings of a session to those that a dump needs.
 *
 * Both the leader's and the workers' sessions need the same settings, because
 * their output goes to the same archive.
 */
#ifndef SESSION_SETTINGS_H
#define SESSION_SETTINGS_H

#include "libpq-fe.h"

#include "options/options.h"

/* Set client_encoding, and make fmtId() use the same encoding. */
extern void session_set_encoding(PGconn *conn, const char *encoding);

/*
 * Switch off all timeouts in a session that reads no rows.  Such a session
 * may take long, because it asks for the size of every database, waits while
 * it is used for each database in turn, or creates roles and tablespaces.
 */
extern void session_end_timeouts(PGconn *conn);

/*
 * Make the settings of pg_dump's setup_connection(), but begin no
 * transaction: search_path, role, output formats, timeouts, row_security.  If
 * encoding is NULL the server's default is used.
 */
extern void session_set_up(PGconn *conn, const Options *options,
						   const char *encoding);

#endif							/* SESSION_SETTINGS_H */
