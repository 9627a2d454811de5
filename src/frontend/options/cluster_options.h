/*
 * cluster_options.h
 *		The options of --all-databases, and which others each run gets.
 */
#ifndef CLUSTER_OPTIONS_H
#define CLUSTER_OPTIONS_H

#include "options/options.h"

/*
 * An option was read: by its letter, or if that is 0 by its name; arg may be
 * NULL.  It is noted for the runs of databases, unless it is not theirs.
 */
extern void cluster_options_note(Options *options, int letter,
								 const char *name, const char *arg);

/* Exits with a message if options exclude each other. */
extern void cluster_options_check(const Options *options);

/* The same for pg_parrestore. */
extern void cluster_options_check_restore(const Options *options);

#endif							/* CLUSTER_OPTIONS_H */
