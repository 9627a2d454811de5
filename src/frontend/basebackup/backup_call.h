/*
 * backup_call.h
 *		Reads pieces of the server's files by the extension.
 *
 * pg_pardump_read_files() reads, checks and compresses a piece in one call,
 * and pg_pardump_last_files() tells what came of it (doc/extension.md).
 */
#ifndef BACKUP_CALL_H
#define BACKUP_CALL_H

#include "basebackup/backup_layout.h"

/*
 * A worker's session is to call the extension: keep it from being dropped or
 * replaced as long as that lasts.
 */
extern void backup_call_begin(const Backup *backup, PGconn *conn);

/*
 * Read a piece into the layout, and note its results.  The rules are those of
 * backup_read_piece(); checks_pages: whether pages are verified.  If a file
 * without pages was replaced while the server read it, its error is returned
 * (owned), and the piece is to be read again, in another transaction;
 * otherwise NULL.  The extension is there.  Ends by session_failed().
 */
extern PGresult *backup_call_piece(const Backup *backup, PGconn *conn,
								   bool checks_pages, BackupLayout *layout,
								   const BackupPiece *piece);

#endif							/* BACKUP_CALL_H */
