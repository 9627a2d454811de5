/*
 * help.h
 *		Texts of --help.
 */
#ifndef HELP_H
#define HELP_H

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
 * is the program's), if it is the first argument: as PostgreSQL's programs,
 * only then.
 */
extern void help_if_asked(int argc, char **argv, const char *name,
						  void (*help) (const char *progname));

/* The command line is wrong: point to --help, and end. */
pg_noreturn extern void help_try(const char *progname);

/* So it is if getopt_long() has left anything; a message says so. */
extern void help_refuse_more(int argc, char **argv);

#endif							/* HELP_H */
