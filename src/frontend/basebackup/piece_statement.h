/*
 * piece_statement.h
 *		The statement that reads a piece of the server's files with the
 *		extension.
 */
#ifndef PIECE_STATEMENT_H
#define PIECE_STATEMENT_H

#include "basebackup/backup_layout.h"

/*
 * Precedes the bytes of each range, in network byte order, unless the layout
 * has put_piece(): the number of the range in its piece.  The server leaves
 * out a range whose file is gone.
 */
typedef uint32 RangeMark;

/*
 * COPY (SELECT pg_pardump_read_files(...)) TO STDOUT for the piece.
 * checks_pages: whether the server verifies the checksums of pages.  around
 * gets, for each range of the piece, how many bytes precede and follow it.
 * Owned.
 */
extern char *piece_statement(const Backup *backup, BackupLayout *layout,
							 const BackupPiece *piece, bool checks_pages,
							 size_t *around);

/*
 * Does the backup need the range if its file is gone?  Another worker may have
 * read a part of the file already.
 */
extern bool piece_statement_requires(const Backup *backup,
									 const BackupRange *range);

/* What the server compresses the piece with; borrowed. */
extern const CompressSpec *piece_statement_compression(const Backup *backup);

#endif							/* PIECE_STATEMENT_H */
