/*
 * backup_wal.h
 *		The write-ahead log that a base backup needs to be consistent.
 */
#ifndef BACKUP_WAL_H
#define BACKUP_WAL_H

#include "basebackup/backup_state.h"

/*
 * With -X stream: from now on, backup_wal_attend() reads a piece of the next
 * segment that the server has completed, if there is one, in the leader's
 * session, and lets the slot go on behind those that are read.  So a long
 * backup holds back little of the log.  The server is asked once a second.
 * Both end by session_failed().
 */
extern void backup_wal_follow(Backup *backup);
extern void backup_wal_attend(Backup *backup);

/*
 * Fetch the other segments up to the backup's end, and the histories
 * of timelines, as basebackup.c:perform_base_backup() does; each is marked as
 * archived, so that no server that is started of the backup archives it
 * again.  Exits with a message if one is not there any more.
 */
extern void backup_wal_fetch(Backup *backup);

#endif							/* BACKUP_WAL_H */
