/*
 * restore.h
 *		Restores an archive into a database.
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "options/options.h"

/*
 * Do what the options ask for.  Returns the exit status when all that can be
 * is on the target: 1 if there were errors, which have been told and counted,
 * as pg_restore has it.  Exits with a message, and an account of what the
 * target has, if something fails that must not be passed over.
 */
extern int	restore_database(const Options *options, const char *argv0);

#endif							/* RESTORE_H */
