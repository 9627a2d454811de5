/*
 * copy.h
 *		Copies a database directly into another server, without an archive.
 *		pg_pardump calls it for --target.
 */
#ifndef COPY_H
#define COPY_H

#include "options/options.h"

/*
 * Copy the database that the options specify.  Returns when the target is
 * complete.  On failure, exits with a message and a list of what the target
 * contains.
 */
extern void copy_database(const Options *options, const char *argv0);

#endif							/* COPY_H */
