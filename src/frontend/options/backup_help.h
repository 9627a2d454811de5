/*
 * backup_help.h
 *		What pg_parbasebackup --help prints.
 */
#ifndef BACKUP_HELP_H
#define BACKUP_HELP_H

/* Its options, to standard output. */
extern void backup_help_print(const char *progname);

#endif							/* BACKUP_HELP_H */
