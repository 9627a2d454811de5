/*
 * dump_origin.h
 *		Where and when a dump was taken, as its manifest tells.
 */
#ifndef DUMP_ORIGIN_H
#define DUMP_ORIGIN_H

#include "base/fe_compat.h"

#include "session/session.h"

/* The identifier of the server's cluster; takes pg_control_system(). */
#define SYSTEM_IDENTIFIER_SQL \
"(SELECT c.system_identifier FROM pg_catalog.pg_control_system() c)"

/*
 * How the server stores tuples, and whether it has lz4.  Hashes of strings
 * depend on the byte order (hashfn.c:hash_bytes).  What is passed by value is
 * 64 bits wide where float8 is.
 */
#define LAYOUT_SQL \
"pg_catalog.concat_ws(' ', pg_catalog.hashtext('byte order')," \
" (SELECT t.typbyval FROM pg_catalog.pg_type t WHERE t.oid OPERATOR(pg_catalog.=) 701::pg_catalog.oid)," \
" pg_catalog.current_setting('max_identifier_length')," \
" pg_catalog.current_setting('block_size'))," \
" EXISTS (SELECT FROM pg_catalog.pg_settings s" \
" WHERE s.name OPERATOR(pg_catalog.=) 'default_toast_compression'" \
" AND 'lz4' OPERATOR(pg_catalog.=) ANY (s.enumvals))"

/* Strings are NULL for what the server does not tell this user. */
typedef struct DumpOrigin
{
	char	   *server_version;
	char	   *system_identifier;
	char	   *database;		/* as it is named now */
	Oid			database_oid;
	char	   *lsn;			/* NULL too if it was not asked */
	const char *slot;			/* whose snapshot it is; NULL = none */
	const char *slot_lsn;		/* its consistent point, or NULL */
	int64		start_us;		/* microseconds since 1970 */
	char	   *layout;			/* of tuples: the same where they are stored
								 * in the same way by servers of a major */
	bool		has_lz4;		/* values can be compressed by it */
} DumpOrigin;

/*
 * Ask the leader's session, directly after it has taken its snapshot.  The
 * position in the write-ahead log is that of this moment: what the snapshot
 * sees was logged before it.  has_lsn: false if the snapshot was given, as
 * the position would be a later one.  Both are false where the role may not
 * call the functions for it: to call one without privilege, even in a branch
 * not taken, would end the transaction.
 */
extern DumpOrigin *dump_origin_read(PGconn *conn, bool has_lsn,
									bool has_identifier);

#endif							/* DUMP_ORIGIN_H */
