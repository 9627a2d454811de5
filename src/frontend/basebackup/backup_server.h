/*
 * backup_server.h
 *		The leader's session: what it asks the server for, and how a backup
 *		begins and ends there.
 *
 * The session that began a backup must end it: if it is lost the server has
 * forgotten the backup (xlog.c:do_pg_abort_backup()), and the run is over.
 */
#ifndef BACKUP_SERVER_H
#define BACKUP_SERVER_H

#include "basebackup/backup_state.h"

/* Connect, and ask what there is to know of the server. */
extern void backup_server_open(Backup *backup, const char *progname);

/*
 * A session of its own on the same server, as each worker has.  Ends by
  * session_lost() if there is none now, and the program if it is another one.
 * Waits of the leader are watched there, too.
 */
extern PGconn *backup_server_connect(const Backup *backup, bool in_leader);

/*
 * Begin the backup, for which the server waits for a checkpoint; but first
 * make the slot that keeps its log.  Both end with the session.
 */
extern void backup_server_start(Backup *backup);

/*
 * Where the log is written to, or replayed to on a standby, which must be one
 * still: segments before it are complete.
 */
extern XLogRecPtr backup_server_wal_position(const Backup *backup);

/* The slot, if there is one, keeps the log from here on only. */
extern void backup_server_advance_slot(const Backup *backup,
									   XLogRecPtr position);

/*
 * To be called again and again: the slot is in use, though nothing is asked
 * of it.  Since 18 the server ends the session of one that was idle for
 * idle_replication_slot_timeout; where that is set the slot has a session of
 * its own, in which it is used while the leader's waits.
 */
extern void backup_server_use_slot(Backup *backup);

/* Exit with a message if the leader's session is lost. */
extern void backup_server_check(const Backup *backup);

/* All of pg_control, which is read last of all files: a whole one.  Owned. */
extern PGresult *backup_server_control_file(const Backup *backup);

/*
 * End the backup.  Returns what backup_label is to hold, as the server tells
 * it, which must be of where this backup began; owned.
 */
extern char *backup_server_stop(Backup *backup);

#endif							/* BACKUP_SERVER_H */
