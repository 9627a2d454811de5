/*
 * help.h
 *		What --help prints.
 */
#ifndef HELP_H
#define HELP_H

/* To standard output. */
extern void help_print(const char *progname);

#endif							/* HELP_H */
