/*
 * extract.h
 *		Extracts a base backup in tar format to a data directory, as tar does,
 *		with several processes.
 */
#ifndef EXTRACT_H
#define EXTRACT_H

#include "options/options.h"

/*
 * Extract the archives of a backup of pg_parbasebackup or pg_basebackup that
 * is in the directory of --extract, into that of --pgdata, by --jobs
 * processes.  Tablespaces go to where they were, or to where they are mapped.
 * backup_manifest, if there is one, gets its name when all is on disk.  Exits
 * with a message on failure.
 */
extern void extract_backup(const Options *options);

#endif							/* EXTRACT_H */
