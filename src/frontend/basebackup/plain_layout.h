/*
 * plain_layout.h
 *		A base backup as the directory of a cluster, ready to be started.
 *
 * Tablespaces are directories beside it, found by the links in pg_tblspc.
 */
#ifndef PLAIN_LAYOUT_H
#define PLAIN_LAYOUT_H

#include "basebackup/backup_layout.h"

/*
 * In the leader, before anything is asked of the server that takes long:
 * make the backup's directory, of either form, and that of its log.  They
 * must be missing or empty.  If the program fails, what was made is removed,
 * and an empty directory that was found gets its former mode back, unless
 * --no-clean: then what is left stays as private as the backup.
 */
extern void plain_layout_claim(const Options *options);

/* The same of any directory; what is made is kept if keep is true. */
extern void plain_layout_claim_directory(const char *path, const char *hint,
										 bool keep);

extern const BackupForm plain_form;

#endif							/* PLAIN_LAYOUT_H */
