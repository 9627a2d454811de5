/*
 * options_parse.h
 *		Reads the command line of pg_pardump: pg_dump's options and our own.
 */
#ifndef OPTIONS_PARSE_H
#define OPTIONS_PARSE_H

#include "options/options.h"

/* ----------
 * Options for the runs of --all-databases.
 * ----------
 */

/*
 * Record an option with this name for the runs of the databases, unless it
 * applies only to the whole cluster. arg may be NULL.
 */
extern void cluster_options_note(Options *options, const char *name,
								 const char *arg);

/*
 * Read the command line.  Prints and exits for --help and --version.  Exits
 * with a message if an option is wrong or not supported.
 */
extern const Options *options_parse(int argc, char **argv);

#endif							/* OPTIONS_PARSE_H */
