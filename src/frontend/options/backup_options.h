/*
 * backup_options.h
 *		Reads pg_parbasebackup's command line: pg_basebackup's options and our
 *		own.
 */
#ifndef BACKUP_OPTIONS_H
#define BACKUP_OPTIONS_H

#include "options/options.h"

/*
 * Read the command line.  Prints and exits for --help and --version; exits
 * with a message for what is wrong, and with a hint at pg_basebackup for
 * what only that can do.
 */
extern const Options *backup_options_parse(int argc, char **argv);

#endif							/* BACKUP_OPTIONS_H */
