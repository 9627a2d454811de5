/*
 * basebackup.h
 *		Takes a base backup of a running cluster, using many connections.
 *
 * backup_state.h describes the data that the files of this folder share.
 */
#ifndef BASEBACKUP_H
#define BASEBACKUP_H

#include "options/options.h"

/*
 * Take the backup.  Returns the exit status; exits with a message on failure.
 */
extern int	basebackup_take(const Options *options, const char *argv0);

#endif							/* BASEBACKUP_H */
