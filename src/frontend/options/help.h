/*
 * help.h
 *		Texts of --help.
 */
#ifndef HELP_H
#define HELP_H

#include "getopt_long.h"

/* ----------
 * What pg_parrestore --help prints.
 * ----------
 */

/* To standard output. */
extern void restore_help_print(const char *progname);

/* ----------
 * What pg_parbasebackup --help prints.
 * ----------
 */

/* Its options, to standard output. */
extern void backup_help_print(const char *progname);

/* ----------
 * What --help and --version print.
 * ----------
 */

/* pg_pardump's options, to standard output */
extern void help_print(const char *progname);

/*
 * Ends the program with the answer to --help (by "help") or --version ("name"
 * is the program's), if that is among the arguments; -? and -V only if they
 * come first, as in PostgreSQL's programs.
 */
extern void help_if_asked(int argc, char **argv, const char *name,
						  void (*help) (const char *progname));

/* The command line is wrong: point to --help, and end. */
pg_noreturn extern void help_try(const char *progname);

/*
 * The same after getopt_long() has refused the option before optind, with a
 * hint if its name looks like a misspelling of one of these (ended by a NULL
 * name).
 */
pg_noreturn extern void help_try_option(char **argv, const struct option *names);

/* So it is if getopt_long() has left anything; a message says so. */
extern void help_refuse_more(int argc, char **argv);

#endif							/* HELP_H */
