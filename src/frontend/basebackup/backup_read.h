/*
 * backup_read.h
 *		Reads pieces of the server's files, with SQL or with the extension.
 *
 * pg_read_binary_file() is called for 128 kB at a time, because a call for 4
 * MB takes two to three times the processor time.  Each value is a row of
 * COPY in binary format, which causes the least work on both sides.
 */
#ifndef BACKUP_READ_H
#define BACKUP_READ_H

#include "basebackup/backup_layout.h"

/* ----------
 * Checksums of pages.
 *
 * The rules are those of basebackup.c:verify_page_checksum(): new pages have
 * no checksum, and pages that were written after the start of the backup are
 * in WAL.  A page may be read while it is being written, so a page that is
 * wrong or incomplete is read once more before it is reported.
 * ----------
 */

typedef struct PageCheck PageCheck;

/* The state for all pieces of a worker; owned. */
extern PageCheck *page_check_new(const Backup *backup, PGconn *conn);

/*
 * The number, in its relation's fork, of the page at this offset of a file.
 */
extern BlockNumber page_check_block(const Backup *backup, int file,
									uint64 offset);

/*
 * Read the page at this offset of a file once more.  Returns NULL if the file
 * now ends before the page, or within it; the latter is reported, because an
 * incomplete page may only be incomplete for a moment while it is appended.
 * Owned; ends with session_failed() on an error.
 */
extern PGresult *page_check_read_again(const Backup *backup, PGconn *conn,
									   int file, uint64 offset);

/*
 * Warn about a page with a wrong checksum, as basebackup.c does from 17 on.
 * block is its number in the relation's fork, also for later segments.
 */
extern void page_check_warn(const Backup *backup, int file, BlockNumber block,
							uint16 computed, uint16 stored);

/*
 * Read a piece, write it to the layout, and note its results.  A file that is
 * shorter than in the list is filled with zeros, as basebackup.c does,
 * because the change is in WAL.  A file that no longer exists is left out if
 * it is read in one part; of a larger file, other workers may already have
 * stored parts.  A WAL segment that is not complete ends the program.  check
 * is NULL if pages are not verified.  Ends with session_failed() on an error.
 */
extern void backup_read_piece(const Backup *backup, PGconn *conn,
							  PageCheck *check, BackupLayout *layout,
							  const BackupPiece *piece);

/*
 * Read a piece whose files are read whole, always with SQL.  Each file is
 * stored with its current length, which is noted.  A file that has become too
 * long is not read; this is noted, too.
 */
extern void backup_read_whole(const Backup *backup, PGconn *conn,
							  BackupLayout *layout, const BackupPiece *piece);

/*
 * Query the sizes of the list's files again, and remove files that no longer
 * exist.
 */
extern void backup_read_sizes(PGconn *conn, BackupList *list);

/*
 * Which files of a plan were replaced or removed after they were read?  A
 * file that has only become longer, like a log file, still has the same
 * beginning.  The beginning is read again if the size or the time, in
 * seconds, has changed.  Returns their number, and fills in replaced by file.
 */
extern int	backup_read_replaced(const Backup *backup, bool *replaced);

/* A file of WAL is incomplete: end the process. */
pg_noreturn extern void backup_read_wal_removed(const Backup *backup,
												const BackupFile *file);

/*
 * Read a small file: a result with its bytes, or NULL if it does not exist.
 * Owned.
 */
extern PGresult *backup_read_file(PGconn *conn, const char *path);

/* ----------
 * Pieces, read with the extension.
 *
 * pg_pardump_read_files() reads, checks and compresses a piece in one call,
 * and pg_pardump_last_files() returns the results (doc/file_functions.md).
 * ----------
 */

/*
 * Call this before a worker's session calls the extension: it keeps the
 * extension from being dropped or replaced until the session ends.
 */
extern void backup_call_begin(const Backup *backup, PGconn *conn);

/*
 * Read a piece, write it to the layout, and note its results, by the rules of
 * backup_read_piece().  checks_pages is true if pages are verified.  If a
 * file without pages was replaced while the server read it, the error is
 * returned (owned), and the piece must be read again in another transaction;
 * otherwise NULL.  The extension must exist.  Ends with session_failed() on
 * other errors.
 */
extern PGresult *backup_call_piece(const Backup *backup, PGconn *conn,
								   bool checks_pages, BackupLayout *layout,
								   const BackupPiece *piece);

#endif							/* BACKUP_READ_H */
