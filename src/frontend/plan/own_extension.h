/*
 * own_extension.h
 *		Leaves the extension pg_pardump out of archives and copies.
 *
 * The extension makes dumps faster and holds no data.  An archive with its
 * entry cannot be restored without an error on a server that lacks the
 * extension's files.
 */
#ifndef OWN_EXTENSION_H
#define OWN_EXTENSION_H

#include "session/connection.h"
#include "toc/toc.h"

/*
 * Remove from the table of contents the extension's entry, and what belongs
 * to that: its comment, and the privileges on its members, which conn's
 * catalogs name.  The schema goes, too, unless another entry needs it.
 * Nothing is removed if the user has chosen the extension, or if another
 * entry depends on it, which is a warning.  Returns whether it was removed.
 */
extern bool own_extension_leave_out(PGconn *conn, const Options *options,
									Toc *toc);

#endif							/* OWN_EXTENSION_H */
