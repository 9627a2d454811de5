/*
 * server_extension.h
 *		The extension pg_pardump in a database, if it exists and can be
 *		trusted.
 *
 * If a role can replace one of the extension's functions, its code runs with
 * the privileges of the role that dumps or copies.  So the extension is used
 * only if no roles can do this except superusers and that role
 * (doc/protection.md), and the sessions that use it keep it from being
 * dropped.
 */
#ifndef SERVER_EXTENSION_H
#define SERVER_EXTENSION_H

#include "archive/toc.h"
#include "session/connection.h"

/* ----------
 * Leaving the extension out of archives and copies.
 *
 * The extension makes dumps faster and contains no data.  An archive with its
 * entry cannot be restored without an error on a server without the
 * extension's files.
 * ----------
 */

/*
 * Remove the extension's entry from the table of contents, with its comment,
 * and the privileges on its members, whose names come from conn's catalogs.
 * The schema is also removed, unless another entry needs it.  Nothing is
 * removed if the user has chosen the extension, or if another entry depends
 * on it, which is a warning.  Returns whether it was removed.
 */
extern bool own_extension_leave_out(PGconn *conn, const Options *options,
									Toc *toc);

/*
 * What the extension is used for: on a source, on the target of a copy, for a
 * base backup, or in a session that adopts a snapshot of another database.
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
	bool		is_there;		/* it exists, even if it may not be used */
	bool		is_older;		/* than the version that this program needs */
	ServerExtensionUse use;
	char	   *functions;		/* OIDs of its functions, as an array literal;
								 * owned */
	char	   *lock_table;		/* OID of its table; owned */
} ServerExtension;

/*
 * Look for the extension, and check it in the current catalogs: conn must not
 * be in a transaction.  It counts as missing if the user does not want it, if
 * the database does not have it, or has another version, if this role may not
 * call it, or if other roles could change it.  Messages report this if it
 * should have read rows.
 */
extern ServerExtension *server_extension_find(PGconn *conn,
											  const Options *options,
											  ServerExtensionUse use);

/*
 * Unless it is missing, keep it from being dropped until the end of the
 * leader's transaction, and check that its names still lead to the checked
 * objects.  If this fails it counts as missing.
 */
extern void server_extension_hold(PGconn *conn, ServerExtension *extension);

/*
 * Keep the extension from being dropped in another session, whose transaction
 * will call it.  Waits like table_lock_take().  Exits with a message if it
 * fails.
 */
extern void server_extension_hold_too(PGconn *conn,
									  const ServerExtension *extension,
									  int wait_ms);

#endif							/* SERVER_EXTENSION_H */
