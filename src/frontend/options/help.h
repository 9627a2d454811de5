/*
 * help.h
 *		Prints --help and --version of all programs, and the hints after a
 *		wrong command line.
 */
#ifndef HELP_H
#define HELP_H

#include "getopt_long.h"

/* ----------
 * The help of pg_parrestore.
 * ----------
 */

/* Print the help of pg_parrestore to standard output. */
extern void restore_help_print(const char *progname);

/* ----------
 * The help of pg_parbasebackup.
 * ----------
 */

/* Print the help of pg_parbasebackup to standard output. */
extern void backup_help_print(const char *progname);

/* ----------
 * The help of pg_pardump, and functions for all programs.
 * ----------
 */

/* Print the help of pg_pardump to standard output. */
extern void help_print(const char *progname);

/*
 * If the arguments contain --help, print the help with this function and
 * exit.  If they contain --version, print it with the program's name, and
 * exit. -? and -V have this effect only as the first argument, as in
 * PostgreSQL's programs.
 */
extern void help_if_asked(int argc, char **argv, const char *name,
						  void (*help) (const char *progname));

/* Exit after a message about the command line, with a hint to use --help. */
pg_noreturn extern void help_try(const char *progname);

/*
 * Exit like help_try() after getopt_long() has refused the option before
 * optind.  If its name looks like a misspelling of one of these names (which
 * end with a NULL name), print a hint.
 */
pg_noreturn extern void help_try_option(char **argv, const struct option *names);

/* Exit with a message if there are arguments that are not options. */
extern void help_refuse_more(int argc, char **argv);

#endif							/* HELP_H */
