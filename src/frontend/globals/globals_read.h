/*
 * globals_read.h
 *		What the databases of a cluster share, as a script.
 */
#ifndef GLOBALS_READ_H
#define GLOBALS_READ_H

#include "libpq-fe.h"

#include "options/options.h"
#include "session/connection.h"

/*
 * The script of stock pg_dumpall, which connects to the same database as the
 * session; part is one of stock_pg_dump.h.  Passwords may be in it.
 * Owned.  Exits with a message on failure.
 */
extern char *globals_read(PGconn *conn, const PeerAddress *address,
						  const char *part, const Options *options,
						  const char *argv0);

#endif							/* GLOBALS_READ_H */
