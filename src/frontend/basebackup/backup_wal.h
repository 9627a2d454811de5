/*
 * backup_wal.h
 *		The write-ahead log that a base backup needs to be consistent.
 */
#ifndef BACKUP_WAL_H
#define BACKUP_WAL_H

#include "basebackup/backup_state.h"

/*
 * Fetch the segments from the backup's start to its end, and the histories
 * of timelines, as basebackup.c:perform_base_backup() does; each is marked as
 * archived, so that no server that is started of the backup archives it
 * again.  Exits with a message if one is not there any more.
 */
extern void backup_wal_fetch(const Backup *backup);

#endif							/* BACKUP_WAL_H */
