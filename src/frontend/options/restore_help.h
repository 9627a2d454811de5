/*
 * restore_help.h
 *		What pg_parrestore --help prints.
 */
#ifndef RESTORE_HELP_H
#define RESTORE_HELP_H

/* To standard output. */
extern void restore_help_print(const char *progname);

#endif							/* RESTORE_HELP_H */
