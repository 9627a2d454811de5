/*
 * raw_check.h
 *		Which tables can be copied as raw tuples, as the source stores them.
 *
 * Reasons are half sentences, which are not freed; NULL: there is none.
 */
#ifndef RAW_CHECK_H
#define RAW_CHECK_H

#include "base/fe_compat.h"

#include "plan/dump_plan.h"

/*
 * Why no table can, as far as the servers go.  The target's session may be in
 * any of its databases.
 */
extern const char *raw_check_servers(PGconn *source_conn, PGconn *target_conn,
									 const DumpPlan *plan);

/* The same of the databases, which are there by now, if empty maybe. */
extern const char *raw_check_encoding(PGconn *source_conn,
									  PGconn *target_conn);

/*
 * The same of the extension on the target, as server_extension_find() has
 * judged it: the database has the definitions by now.
 */
extern const char *raw_check_loader(const ServerExtension *loader);

/*
 * What the extension on the source has against reading each of the tables;
 * NULL, too, of those that it does not read.  The session holds it.
 */
extern const char **raw_check_source_tables(PGconn *conn,
											const DumpPlan *plan);

/* The same of loading them on the target, by these OIDs, in their order. */
extern const char **raw_check_target_tables(PGconn *conn, const Oid *tables,
											int n_tables);

#endif							/* RAW_CHECK_H */
