/*
 * help.h
 *		What --help and --version print.
 */
#ifndef HELP_H
#define HELP_H

/* pg_pardump's options, to standard output */
extern void help_print(const char *progname);

/*
 * Ends the program with the answer to --help (by "help") or --version ("name"
 * is the program's), if it is the first argument: as PostgreSQL's programs,
 * only then.
 */
extern void help_if_asked(int argc, char **argv, const char *name,
						  void (*help) (const char *progname));

#endif							/* HELP_H */
