/*
 * options_parse.h
 *		Reads the command line: pg_dump's options and our own.
 */
#ifndef OPTIONS_PARSE_H
#define OPTIONS_PARSE_H

#include "options/options.h"

/* ----------
 * The options of --all-databases, and which others each run gets.
 * ----------
 */

/*
 * An option of this name was read; arg may be NULL.  It is noted for the runs
 * of databases, unless it is not theirs.
 */
extern void cluster_options_note(Options *options, const char *name,
								 const char *arg);

/*
 * Read the command line.  Prints and exits for --help and --version; exits
 * with a message for what is wrong or cannot be done.
 */
extern const Options *options_parse(int argc, char **argv);

#endif							/* OPTIONS_PARSE_H */
