/*
 * restore_options.h
 *		Reads the command line of pg_parrestore: pg_restore's options and our
 *		own.
 */
#ifndef RESTORE_OPTIONS_H
#define RESTORE_OPTIONS_H

#include "options/options.h"

/*
 * The reason why pg_restore must restore an archive in tar format, which may
 * become known only later.
 */
#define STOCK_READS_TAR "the archive is in tar format"

/*
 * Read the command line.  Prints and exits for --help and --version.  Exits
 * with a message if an option is wrong. by_stock contains the reason if
 * pg_restore must do the work.
 */
extern const Options *restore_options_parse(int argc, char **argv);

/*
 * Exit with a message if there are options that pg_restore does not have,
 * because it must do all the work for this reason.
 */
extern void restore_options_check_stock(const Options *options,
										const char *reason);

#endif							/* RESTORE_OPTIONS_H */
