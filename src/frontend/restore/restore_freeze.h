/*
 * restore_freeze.h
 *		Tables that are truncated, and then filled with frozen rows.
 *
 * What a transaction loads into a table that it has truncated needs no WAL
 * with wal_level = minimal, and may be frozen at once (COPY FREEZE): so no
 * later scan or VACUUM writes every page once more, and with data checksums
 * all of it to the WAL.
 *
 * Only tables that this run has made are truncated, that one transaction
 * fills with all that is restored of them, and that have not one page yet.
 */
#ifndef RESTORE_FREEZE_H
#define RESTORE_FREEZE_H

#include "libpq-fe.h"

#include "plan/dump_plan.h"
#include "target/target.h"

/*
 * Which tables of the plan these are, by their number, as far as it can be
 * told before any is loaded: those that the archive makes, of which before is
 * false and after is true.  Whoever follows the target by logical decoding
 * would empty tables, too: with that there are none.  Owned; NULL if none.
 */
extern bool *restore_freeze_choose(const Target *target, const DumpPlan *plan,
								   const bool *before, const bool *after);

/*
 * Truncate the table of this name and OID in the session's transaction, and
 * no other one that has its name by now; *done tells whether it was
 * one to be truncated.  Returns what went wrong, owned, after which the
 * transaction is of no use, or NULL.  A connection that is lost ends the
 * process.
 */
extern char *restore_freeze_truncate(PGconn *conn, const char *name, Oid table,
									 bool *done);

/*
 * The COPY ... FROM stdin of an archive, with FREEZE; owned.  NULL if it is
 * none that pg_dump writes.
 */
extern char *restore_freeze_statement(const char *copy);

#endif							/* RESTORE_FREEZE_H */
