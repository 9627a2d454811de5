/*
 * text_array.h
 *		Texts, or OIDs, as the value of a parameter.
 */
#ifndef TEXT_ARRAY_H
#define TEXT_ARRAY_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/*
 * An array literal of them, in the session's client encoding; owned.  A text
 * that the server's encoding does not have, as a name of a database in
 * SQL_ASCII, is replaced by one that no object has, so that it does not make
 * the whole query fail.  (PQescapeLiteral() and mb/pg_wchar.h.)
 */
extern char *text_array(PGconn *conn, char *const *texts, int n);

/* The same of OIDs. */
extern char *oid_array(const Oid *oids, int n);

/* Can the server's encoding have this text, which is in the client's? */
extern bool text_is_convertible(PGconn *conn, const char *text);

#endif							/* TEXT_ARRAY_H */
