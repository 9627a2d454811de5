/*
 * server_extension.h
 *		The extension pg_pardump in the dumped database, if it is there.
 */
#ifndef SERVER_EXTENSION_H
#define SERVER_EXTENSION_H

#include "fe_compat.h"

#include "connection.h"
#include "dump_table.h"

/* Its functions, qualified and quoted, or why they cannot be used. */
typedef struct ServerExtension
{
	const char *missing;		/* the reason; NULL if it can be used */
	char	   *chunks_function;
	char	   *read_function;
	char	   *last_read_function;
} ServerExtension;

/*
 * Look for the extension.  It is missing if the database has none, or one of
 * another version, or one that we may not call, or the user wants none.
 */
extern const ServerExtension *server_extension_find(PGconn *conn,
													const Options *options);

/*
 * Can the extension read this table?  If not, *reason says why: SQL can.
 */
extern bool server_extension_reads(const ServerExtension *extension,
								   const DumpTable *table,
								   const char **reason);

#endif							/* SERVER_EXTENSION_H */
