/*
 * stock_pg_dumpall.h
 *		Stock pg_dumpall, run for what a cluster's databases share: roles,
 *		memberships, settings and tablespaces.
 */
#ifndef STOCK_PG_DUMPALL_H
#define STOCK_PG_DUMPALL_H

#include "base/fe_compat.h"

#include "options/options.h"
#include "session/connection.h"

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

#endif							/* STOCK_PG_DUMPALL_H */
