/*
 * backup_read.h
 *		Reads pieces of the server's files, by SQL or by the extension.
 *
 * pg_read_binary_file() is asked for 128 kB at a time, as it takes two to
 * three times the processor time for a call of 4 MB; a row of COPY in binary
 * format carries each with the least work on both sides.
 */
#ifndef BACKUP_READ_H
#define BACKUP_READ_H

#include "storage/block.h"

#include "basebackup/backup_layout.h"

/* ----------
 * Verifies the checksums of pages that are read for a base backup.
 *
 * The rules are those of basebackup.c:verify_page_checksum(): new pages have
 * none, and one that was written after the backup's start is in the log.  A
 * page may be read while it is written: one that is wrong, or not whole, is
 * read once more before it is reported.
 * ----------
 */

typedef struct PageCheck PageCheck;

/* A worker's, for all its pieces; owned. */
extern PageCheck *page_check_new(const Backup *backup, PGconn *conn);

/* The number in its relation's fork of the page at this offset of a file. */
extern BlockNumber page_check_block(const Backup *backup, int file,
									uint64 offset);

/*
 * Read the page at this offset of a file once more.  NULL if the file ends
 * before the page by now, or within it, which is reported: a page that was
 * incomplete once may be one that was being appended.  Owned; ends by
 * session_failed().
 */
extern PGresult *page_check_read_again(const Backup *backup, PGconn *conn,
									   int file, uint64 offset);

/*
 * Warn of a page of the file, as basebackup.c does since 17: block is its
 * number in the relation's fork, also in later segments.
 */
extern void page_check_warn(const Backup *backup, int file, BlockNumber block,
							uint16 computed, uint16 stored);

/*
 * Read a piece into the layout, and note its results.  What is shorter than
 * the list says is filled with zeros, as basebackup.c does: the log has what
 * was changed.  A file that is gone is left out if it is read in one part; of
 * a larger one others may have a part already.  One that must be whole, of
 * the log, ends the program if it is not.  check is NULL if pages are not
 * verified.  Ends by session_failed().
 */
extern void backup_read_piece(const Backup *backup, PGconn *conn,
							  PageCheck *check, BackupLayout *layout,
							  const BackupPiece *piece);

/*
 * The same of a piece of files that are read whole, by SQL in any case: each
 * is as long as it is by then, which is noted.  One that has become too long
 * for that is not read, which is noted, too.
 */
extern void backup_read_whole(const Backup *backup, PGconn *conn,
							  BackupLayout *layout, const BackupPiece *piece);

/*
 * Ask for the sizes of the list's files again; those that are gone by now are
 * taken off.
 */
extern void backup_read_sizes(PGconn *conn, BackupList *list);

/*
 * Which files of a plan that has been read are other ones by now, or gone?
 * What has only become longer, as a log does, still begins as it did.  Of
 * those whose size or time has changed, which the server tells in seconds,
 * the beginning is read again.  Returns how many; by file.
 */
extern int	backup_read_replaced(const Backup *backup, bool *replaced);

/* A file of WAL is incomplete: end the process. */
pg_noreturn extern void backup_read_wal_removed(const BackupFile *file);

/*
 * A small file, whole: its bytes in a result, or NULL if it is not there.
 * Owned.
 */
extern PGresult *backup_read_file(PGconn *conn, const char *path);

/* ----------
 * Reads pieces of the server's files by the extension.
 *
 * pg_pardump_read_files() reads, checks and compresses a piece in one call,
 * and pg_pardump_last_files() tells what came of it (doc/file_functions.md).
 * ----------
 */

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

#endif							/* BACKUP_READ_H */
