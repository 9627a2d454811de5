/*
 * backup_read.h
 *		Reads pieces of the server's files by SQL.
 *
 * pg_read_binary_file() is asked for 128 kB at a time, as it takes two to
 * three times the processor time for a call of 4 MB; a row of COPY in binary
 * format carries each with the least work on both sides.
 *
 * The bytes go to a layout, the form in which the backup is stored: for each
 * range that is there, in their order, begin_range(), its bytes in any number
 * of parts, as many as it has, and end_range().  All exit with a message on
 * failure.
 */
#ifndef BACKUP_READ_H
#define BACKUP_READ_H

#include "basebackup/backup_state.h"
#include "basebackup/page_check.h"

typedef struct BackupLayout BackupLayout;

struct BackupLayout
{
	void		(*begin_piece) (BackupLayout *layout, const BackupPiece *piece);
	void		(*begin_range) (BackupLayout *layout, const BackupRange *range);
	void		(*data) (BackupLayout *layout, const char *data, size_t len);
	void		(*end_range) (BackupLayout *layout);
	void		(*end_piece) (BackupLayout *layout);
};

/*
 * The form as the leader sees it, in the order of the calls.
 */
typedef struct BackupForm
{
	/* All directories of the list, and the links to tablespaces. */
	void		(*make_directories) (Backup *backup);

	/* In a worker: its layout; owned. */
	BackupLayout *(*new_layout) (const Backup *backup);

	/* All pieces of a plan are read. */
	void		(*end_plan) (const Backup *backup);

	/* A small file of the leader's. */
	void		(*write_file) (const Backup *backup, const char *path,
							   const char *data, size_t len);

	/* Nothing more comes; then flush all to disk as asked for. */
	void		(*finish) (const Backup *backup);
	void		(*sync) (const Backup *backup);

	bool		has_map;		/* of tablespaces: it has no links yet */
} BackupForm;

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
 * A small file, whole: its bytes in a result, or NULL if it is not there.
 * Owned.
 */
extern PGresult *backup_read_file(PGconn *conn, const char *path);

#endif							/* BACKUP_READ_H */
