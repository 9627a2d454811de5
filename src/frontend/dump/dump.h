/*
 * dump.h
 *		Dumps a database into a directory archive.
 */
#ifndef DUMP_H
#define DUMP_H

#include "options/options.h"

/*
 * Do what the options ask for.  Returns when the archive is whole; exits with
 * a message, and without an archive, if anything fails.
 */
extern void dump_database(const Options *options, const char *argv0);

#endif							/* DUMP_H */
