/*
 * stock_pg_dump.h
 *		The stock pg_dump that makes the plan: found, asked, stopped.
 *
 * `pg_dump -Fd` writes its table of contents before any data, and so gives
 * the exact list of what the user's options choose, by the code that defines
 * it.  It then waits, its locks held, until stopped, and reads no row.
 */
#ifndef STOCK_PG_DUMP_H
#define STOCK_PG_DUMP_H

#include "archive/toc.h"
#include "session/connection.h"

/* ----------
 * Stock pg_dumpall, run for what a cluster's databases share: roles,
 * memberships, settings and tablespaces.
 * ----------
 */

/* Which part of that: of pg_dumpall's options. */
#define GLOBALS_ALL "--globals-only"
#define GLOBALS_ROLES "--roles-only"
#define GLOBALS_TABLESPACES "--tablespaces-only"

/*
 * The pg_dumpall beside the pg_dump that the user named, else the one beside
 * this program, else the first in PATH; owned.  Exits with a message if there
 * is none.
 */
extern char *stock_pg_dumpall_find(const Options *options, const char *argv0);

/*
 * Have it write this part of the cluster at the address, whose database is to
 * be connected to, into the file that fd is open on, with the user's options
 * that concern it.  more is what else its connection string has, after a
 * blank, or empty.  Its words are shown.  Exits with a message if it fails.
 */
extern void stock_pg_dumpall_run(const char *path, const char *part,
								 const Options *options,
								 const PeerAddress *address,
								 const char *database, const char *more,
								 int fd);

typedef struct StockPgDump StockPgDump;

/*
 * Find the pg_dump to use: the one the user named, else the one beside this
 * program, else the first in PATH.  Exits with a message if there is none.
 * It is asked for its version.
 */
extern StockPgDump *stock_pg_dump_find(const Options *options,
									   const char *argv0);

/*
 * Take its answer, before it is used.  Exits with a message if there is none,
 * if it is older than 15, than the server or than one of the options, or if
 * it was not named and is of another major than this program.
 */
extern void stock_pg_dump_check(StockPgDump *pg_dump, const Options *options,
								int server_version);

/*
 * Exit with a message if the server is of a later major than pg_dump, whose
 * own error would not name the program to use.
 */
extern void stock_pg_dump_refuse_newer(int server_major, int major);

/* Where it is; borrowed. */
extern const char *stock_pg_dump_path(const StockPgDump *pg_dump);

/* Its major version, e.g. 15. */
extern int	stock_pg_dump_major(const StockPgDump *pg_dump);

/* Run it with the user's options under a snapshot. */
extern void stock_pg_dump_start(StockPgDump *pg_dump, const Options *options,
								const PeerAddress *address,
								const char *snapshot);

/*
 * Read its table of contents.  If it fails its own words and an error are
 * shown, and the result is NULL, *status being its exit code for this program
 * to exit with; so this does itself, with 1, if that was a pg_dump of another
 * major than the one that was asked, or one too old for the server's minor
 * release.  It is left running, idle, with its locks.
 */
extern Toc *stock_pg_dump_read_toc(StockPgDump *pg_dump, int *status);

/*
 * Once its table of contents was read: let it end, with nothing in the
 * server's log.
 */
extern void stock_pg_dump_end(StockPgDump *pg_dump);

/*
 * The same at any time, and wait for its end.  Its locks are gone when this
 * returns.
 */
extern void stock_pg_dump_stop(StockPgDump *pg_dump);

#endif							/* STOCK_PG_DUMP_H */
