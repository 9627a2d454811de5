/*
 * session_settings.h
 *		Brings sessions in the state that a dump needs.
 */
#ifndef SESSION_SETTINGS_H
#define SESSION_SETTINGS_H

#include "libpq-fe.h"

#include "options/options.h"

/* Set client_encoding; fmtId() goes by it from then on. */
extern void session_set_encoding(PGconn *conn, const char *encoding);

/*
 * Let none of the role's timeouts hold for a session that reads no rows: one
 * that asks for the size of every database, waits while each is asked, or
 * makes what they share.
 */
extern void session_end_timeouts(PGconn *conn);

/*
 * Bring a session in the state of pg_dump's setup_connection(), without the
 * transaction: search_path, role, output formats, timeouts, row_security.
 * encoding may be NULL for the server's default.
 */
extern void session_set_up(PGconn *conn, const Options *options,
						   const char *encoding);

#endif							/* SESSION_SETTINGS_H */
