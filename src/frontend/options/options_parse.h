/*
 * options_parse.h
 *		Reads the command lines of the programs: the options of the PostgreSQL
 *		program, and our own.
 *
 * options_parse.c reads the command line of pg_pardump, restore_options.c
 * that of pg_parrestore, and backup_options.c that of pg_parbasebackup.
 */
#ifndef OPTIONS_PARSE_H
#define OPTIONS_PARSE_H

#include "options/options.h"

/* ----------
 * pg_pardump.
 * ----------
 */

/*
 * Record an option with this name for the runs of the databases, unless it
 * applies only to the whole cluster.  The argument may be NULL.
 */
extern void cluster_options_note(Options *options, const char *name,
								 const char *arg);

/*
 * Read the command line.  Prints and exits for --help and --version.  Exits
 * with a message if an option is wrong or not supported.
 */
extern const Options *options_parse(int argc, char **argv);

/* ----------
 * pg_parrestore.
 * ----------
 */

/*
 * The reason why pg_restore must restore an archive in tar format, which may
 * become known only later.
 */
#define STOCK_READS_TAR "the archive is in tar format"

/*
 * Read the command line.  Prints and exits for --help and --version.  Exits
 * with a message if an option is wrong.  Sets the option by_stock to the
 * reason if pg_restore must do the work.
 */
extern const Options *restore_options_parse(int argc, char **argv);

/*
 * Exit with a message if there are options that pg_restore does not have,
 * because it must do all the work for this reason.
 */
extern void restore_options_check_stock(const Options *options,
										const char *reason);

/* ----------
 * pg_parbasebackup.
 * ----------
 */

/*
 * Returns the directory for the tablespace with this location, which a server
 * or an archive has reported: owned if the tablespace is relocated, otherwise
 * the location itself.  Exits with a message if root would use that location
 * without -T, because a user who owns a directory in the path could replace
 * it with a symbolic link to another place.
 */
extern const char *tablespace_mapping_place(const SimpleStringList *mappings,
											const char *oid,
											const char *location);

/*
 * Read the command line.  Prints and exits for --help and --version.  Exits
 * with a message if an option is wrong, and with a hint to use pg_basebackup
 * if only that program can do it.
 */
extern const Options *backup_options_parse(int argc, char **argv);

#endif							/* OPTIONS_PARSE_H */
