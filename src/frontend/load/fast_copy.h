/*
 * fast_copy.h
 *		Has the extension's library load rows, in sessions on the target.
 */
#ifndef FAST_COPY_H
#define FAST_COPY_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/*
 * From now on COPY FROM STDIN in this session, which has no transaction, is
 * done by the library where it can do it (doc/extension.md).  Returns NULL,
 * or why the server does it as ever, owned.  Ends by session_failed() if the
 * session is lost.
 */
extern char *fast_copy_begin(PGconn *conn);

#endif							/* FAST_COPY_H */
