/*
 * restore.h
 *		Restores an archive into a database, for pg_parrestore.
 *
 * This is the main path of a restore: plan, definitions, rows, indexes, the
 * remaining definitions.  Other files of the folder contain the steps.
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "options/options.h"

/*
 * Restore the archive that the options name.  Returns the exit status: 1 if
 * statements failed that were reported, counted and skipped, as pg_restore
 * skips them, otherwise 0.  After any other error, exits with a message and a
 * summary of what has been restored.
 */
extern int	restore_database(const Options *options, const char *argv0);

#endif							/* RESTORE_H */
