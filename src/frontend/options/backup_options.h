/*
 * backup_options.h
 *		Reads the command line of pg_parbasebackup: pg_basebackup's options
 *		and our own.  Also applies the tablespace mappings of -T.
 */
#ifndef BACKUP_OPTIONS_H
#define BACKUP_OPTIONS_H

#include "options/options.h"

/* ----------
 * Tablespace mappings: -T OLDDIR=NEWDIR.
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

#endif							/* BACKUP_OPTIONS_H */
