/*
 * server_extension.h
 *		The extension pg_pardump in a database, if it is there.
 *
 * Whoever can put a function in the place of one of its own has it run by the
 * role that dumps, or copies.  So it is used only if nobody can but
 * superusers and that role (doc/security.md), and the sessions that use it
 * keep it from being dropped.
 */
#ifndef SERVER_EXTENSION_H
#define SERVER_EXTENSION_H

#include "base/fe_compat.h"

#include "session/connection.h"

/* Its schema, which is always the same, needs no quoting. */
#define PARDUMP_SCHEMA "pardump"
#define PARDUMP_CHUNKS PARDUMP_SCHEMA ".pg_pardump_chunks"
#define PARDUMP_READ PARDUMP_SCHEMA ".pg_pardump_read"
#define PARDUMP_LAST_READ PARDUMP_SCHEMA ".pg_pardump_last_read"
#define PARDUMP_FINGERPRINT PARDUMP_SCHEMA ".pg_pardump_fingerprint"
#define PARDUMP_DEFINITION PARDUMP_SCHEMA ".pg_pardump_definition"
#define PARDUMP_FINGERPRINT_READS PARDUMP_SCHEMA ".pg_pardump_fingerprint_reads"
#define PARDUMP_LAST_FINGERPRINT PARDUMP_SCHEMA ".pg_pardump_last_fingerprint"
#define PARDUMP_RAW_REASON PARDUMP_SCHEMA ".pg_pardump_raw_reason"
#define PARDUMP_LOAD_TUPLES PARDUMP_SCHEMA ".pg_pardump_load_tuples"

/* What it is for: on a source, and on the target of a copy. */
typedef enum ServerExtensionUse
{
	EXTENSION_READS,
	EXTENSION_LOADS
} ServerExtensionUse;

typedef struct ServerExtension
{
	const char *missing;		/* why it cannot be used; NULL if it can */
	bool		is_there;		/* though it may not be used */
	ServerExtensionUse use;
	char	   *functions;		/* the OIDs that its functions had, an array
								 * literal; owned */
	char	   *lock_table;		/* the OID of its table; owned */
} ServerExtension;

/*
 * Look for the extension, and judge it by the catalogs as they are now: conn
 * has no transaction.  It is missing if the user wants none, or the database
 * has none, or one of another version, one that we may not call, or one that
 * is not safe from other roles.  Messages tell so if it was to read.
 */
extern ServerExtension *server_extension_find(PGconn *conn,
											  const Options *options,
											  ServerExtensionUse use);

/*
 * Unless it is missing, keep it from being dropped up to the end of the
 * leader's transaction, and make sure that its names still lead to what was
 * judged.  It is missing if that fails.
 */
extern void server_extension_hold(PGconn *conn, ServerExtension *extension);

/*
 * The same in another session of the server's, whose transaction is to call
 * it.  Waits as table_lock_take() does.  Exits with a message if it fails.
 */
extern void server_extension_hold_too(PGconn *conn,
									  const ServerExtension *extension,
									  int wait_ms);

#endif							/* SERVER_EXTENSION_H */
