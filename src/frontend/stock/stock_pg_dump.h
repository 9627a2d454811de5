/*
 * stock_pg_dump.h
 *		The stock pg_dump that makes the plan: finding it, running it, and
 *		stopping it.
 *
 * `pg_dump -Fd` writes its table of contents before any data.  So the program
 * gets the exact list of the objects that the user's options select, from the
 * code that defines it.  pg_dump then waits with its locks until it is
 * stopped, and reads no rows.
 */
#ifndef STOCK_PG_DUMP_H
#define STOCK_PG_DUMP_H

#include "archive/toc.h"
#include "session/connection.h"

/* ----------
 * Stock pg_dumpall, which dumps the objects that all databases of a cluster
 * share: roles, memberships, settings and tablespaces.
 * ----------
 */

/* The options of pg_dumpall for these parts. */
#define GLOBALS_ALL "--globals-only"
#define GLOBALS_ROLES "--roles-only"
#define GLOBALS_TABLESPACES "--tablespaces-only"

/*
 * Returns the path of pg_dumpall: the one next to the pg_dump that the user
 * specifies, otherwise the one next to this program, otherwise the first in
 * PATH.  The caller owns it.  Exits with a message if there is none.
 */
extern char *stock_pg_dumpall_find(const Options *options, const char *argv0);

/*
 * Run pg_dumpall to write this part of the cluster at the address into the
 * open file fd.  It connects to this database, and gets those of the user's
 * options that concern it.  more is the rest of its connection string, after
 * a blank, or empty.  Its messages are shown.  Exits with a message if it
 * fails.
 */
extern void stock_pg_dumpall_run(const char *path, const char *part,
								 const Options *options,
								 const PeerAddress *address,
								 const char *database, const char *more,
								 int fd);

typedef struct StockPgDump StockPgDump;

/*
 * Find the pg_dump to use: the one that the user specifies, otherwise the one
 * next to this program, otherwise the first in PATH.  Starts it to get its
 * version.  Exits with a message if there is none.
 */
extern StockPgDump *stock_pg_dump_find(const Options *options,
									   const char *argv0);

/*
 * Read its version before it is used.  Exits with a message if there is no
 * answer, if pg_dump is older than 15, than the server or than one of the
 * options requires, or if it was not specified by the user and has another
 * major version than this program.
 */
extern void stock_pg_dump_check(StockPgDump *pg_dump, const Options *options,
								int server_version);

/*
 * Exit with a message if the server has a later major version than pg_dump.
 * pg_dump's own error would not say which program to use.
 */
extern void stock_pg_dump_refuse_newer(int server_major, int major);

/* Returns its path; borrowed. */
extern const char *stock_pg_dump_path(const StockPgDump *pg_dump);

/* Returns its major version, for example 15. */
extern int	stock_pg_dump_major(const StockPgDump *pg_dump);

/* Run it with the user's options in this snapshot. */
extern void stock_pg_dump_start(StockPgDump *pg_dump, const Options *options,
								const PeerAddress *address,
								const char *snapshot);

/*
 * Read its table of contents.  If pg_dump fails, its messages and an error
 * are shown, the result is NULL, and *status is the exit code that this
 * program should exit with.  The function exits itself, with code 1, if
 * pg_dump has another major version than before, or is too old for the
 * server's minor release.  On success, pg_dump keeps running, idle and with
 * its locks.
 */
extern Toc *stock_pg_dump_read_toc(StockPgDump *pg_dump, int *status);

/*
 * Let it end after its table of contents was read, without messages in the
 * server's log.
 */
extern void stock_pg_dump_end(StockPgDump *pg_dump);

/*
 * End it at any time, and wait until it has ended.  It has released its locks
 * when this returns.
 */
extern void stock_pg_dump_stop(StockPgDump *pg_dump);

#endif							/* STOCK_PG_DUMP_H */
