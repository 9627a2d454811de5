/*
 * backup_options.h
 *		Reads pg_parbasebackup's command line: pg_basebackup's options and our
 *		own.
 */
#ifndef BACKUP_OPTIONS_H
#define BACKUP_OPTIONS_H

#include "options/options.h"

/* ----------
 * -T OLDDIR=NEWDIR: where the tablespaces of a base backup go.
 * ----------
 */

/*
 * Where the tablespace of this location, which a server or an archive has
 * named, goes: owned if it is relocated, else the very location.  Exits with
 * a message if root would use that location without -T: the user who owns a
 * directory in the path could lead root elsewhere with a link.
 */
extern const char *tablespace_mapping_place(const SimpleStringList *mappings,
											const char *oid,
											const char *location);

/*
 * Read the command line.  Prints and exits for --help and --version; exits
 * with a message for what is wrong, and with a hint at pg_basebackup for
 * what only that can do.
 */
extern const Options *backup_options_parse(int argc, char **argv);

#endif							/* BACKUP_OPTIONS_H */
