/*
 * backup_server.h
 *		The leader's session: its queries, and how a backup begins and ends on
 *		the server.
 *
 * The session that began a backup must end it.  If the session is lost, the
 * server discards the backup (xlog.c:do_pg_abort_backup()), and the run
 * fails.
 */
#ifndef BACKUP_SERVER_H
#define BACKUP_SERVER_H

#include "basebackup/backup_state.h"

/* Connect, and query all facts about the server. */
extern void backup_server_open(Backup *backup, const char *progname);

/*
 * Open another session on the same server, for a worker, or for the leader,
 * whose waits are watched.  Ends with session_lost() if no connection is
 * possible now; exits with a message if the connection leads to another
 * server.
 */
extern PGconn *backup_server_connect(const Backup *backup, bool in_leader);

/*
 * Begin the backup.  Before that, create the slot that keeps its WAL.  The
 * server waits for a checkpoint.  Backup and slot end with the session.
 */
extern void backup_server_start(Backup *backup);

/*
 * The position up to which WAL is written, or replayed on a standby; segments
 * before it are complete.  Exits with a message if a standby was promoted.
 */
extern XLogRecPtr backup_server_wal_position(const Backup *backup);

/* Allow the server to remove WAL before this position, if there is a slot. */
extern void backup_server_advance_slot(const Backup *backup,
									   XLogRecPtr position);

/*
 * Call this often, so that the server does not consider the slot idle.  Since
 * 18, the server ends sessions whose slot was idle for
 * idle_replication_slot_timeout.  If that is set, the slot has a session of
 * its own, in which it can be used while the leader's session waits.
 */
extern void backup_server_use_slot(Backup *backup);

/* Exit with a message if the leader's session is lost. */
extern void backup_server_check(const Backup *backup);

/*
 * Read pg_control, as the last of all files, until its checksum is right.
 * Owned.
 */
extern PGresult *backup_server_control_file(const Backup *backup);

/*
 * End the backup.  Returns the contents of backup_label, which must match the
 * start of this backup; owned.
 */
extern char *backup_server_stop(Backup *backup);

#endif							/* BACKUP_SERVER_H */
