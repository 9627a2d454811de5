/*
 * restore_options.h
 *		Reads pg_parrestore's command line: pg_restore's options and our own.
 */
#ifndef RESTORE_OPTIONS_H
#define RESTORE_OPTIONS_H

#include "options/options.h"

/* Why stock pg_restore restores an archive, which may show only later. */
#define STOCK_READS_TAR "the archive is in tar format"

/*
 * Read the command line.  Prints and exits for --help and --version; exits
 * with a message for what is wrong.  What stock pg_restore is to do is said
 * by by_stock.
 */
extern const Options *restore_options_parse(int argc, char **argv);

/*
 * Exit with a message if there are options that stock pg_restore does not
 * have: it is to do it all, for this reason.
 */
extern void restore_options_check_stock(const Options *options,
										const char *reason);

#endif							/* RESTORE_OPTIONS_H */
