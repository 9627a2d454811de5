/*
 * server_extension.h
 *		The extension pg_pardump in a database, if it is there.
 *
 * A role that can replace one of its functions has it run by the role that
 * dumps, or copies.  So it is used only if none can but superusers and that
 * role (doc/protection.md), and the sessions that use it keep it from being
 * dropped.
 */
#ifndef SERVER_EXTENSION_H
#define SERVER_EXTENSION_H

#include "archive/toc.h"
#include "session/connection.h"

/* ----------
 * Leaves the extension pg_pardump out of archives and copies.
 *
 * The extension makes dumps faster and holds no data.  An archive with its
 * entry cannot be restored without an error on a server that lacks the
 * extension's files.
 * ----------
 */

/*
 * Remove from the table of contents the extension's entry, and what belongs
 * to that: its comment, and the privileges on its members, which conn's
 * catalogs name.  The schema goes, too, unless another entry needs it.
 * Nothing is removed if the user has chosen the extension, or if another
 * entry depends on it, which is a warning.  Returns whether it was removed.
 */
extern bool own_extension_leave_out(PGconn *conn, const Options *options,
									Toc *toc);

/*
 * What it is for: on a source, on the target of a copy, for a base backup, in
 * a session that adopts a snapshot of another database.
 */
typedef enum ServerExtensionUse
{
	EXTENSION_READS,
	EXTENSION_LOADS,
	EXTENSION_READS_FILES,
	EXTENSION_ADOPTS
} ServerExtensionUse;

typedef struct ServerExtension
{
	const char *missing;		/* why it cannot be used; NULL if it can */
	bool		is_there;		/* though it may not be used */
	bool		is_older;		/* than what this program calls */
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
