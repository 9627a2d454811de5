/*
 * extract.h
 *		Extracts a base backup in tar format to a data directory, with several
 *		processes.
 */
#ifndef EXTRACT_H
#define EXTRACT_H

#include "options/options.h"

/*
 * Extract the archives of a backup, which pg_parbasebackup or pg_basebackup
 * has stored in the directory of --extract, to that of --pgdata, with --jobs
 * processes.  Tablespaces get their former locations, or those of the
 * tablespace mappings.  backup_manifest, if there is one, gets its name after
 * everything is on disk.  Exits with a message on failure.
 */
extern void extract_backup(const Options *options);

#endif							/* EXTRACT_H */
