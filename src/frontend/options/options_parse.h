/*
 * options_parse.h
 *		Reads the command line: pg_dump's options and our own.
 */
#ifndef OPTIONS_PARSE_H
#define OPTIONS_PARSE_H

#include "options/options.h"

/*
 * Read the command line.  Prints and exits for --help and --version; exits
 * with a message for what is wrong or cannot be done.
 */
extern const Options *options_parse(int argc, char **argv);

#endif							/* OPTIONS_PARSE_H */
