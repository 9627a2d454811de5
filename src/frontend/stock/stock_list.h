/*
 * stock_list.h
 *		What stock pg_restore would restore, and stock pg_restore itself.
 */
#ifndef STOCK_LIST_H
#define STOCK_LIST_H

#include "base/fe_compat.h"

#include "options/options.h"
#include "toc/toc.h"

/*
 * Ask `pg_restore -l` which entries the user's options select, by the code
 * that defines it: their dump IDs in the order in which they are to be
 * restored, owned; *n_ids is their number.  If it fails its own words are
 * shown, and the process ends with its exit code.
 */
extern int *stock_list_read(const char *program, const Options *options,
							int *n_ids);

/*
 * Look whether the names that -n, -N, -t, -I, -P and -T give are in the
 * archive (toc: all of it).  If no entry matches them, which pg_restore
 * would call a success, exit with a message; if one of them matches none,
 * give a warning: --strict-names makes pg_restore -l refuse that.
 */
extern void stock_list_check_names(const Toc *toc, const Options *options);

/*
 * Become pg_restore, with the options that the user gave; exits with a
 * message if that fails.
 */
pg_noreturn extern void stock_list_become(const char *program,
										  const Options *options);

#endif							/* STOCK_LIST_H */
