/*
 * backup_layout.h
 *		The forms in which a backup is stored.
 */
#ifndef BACKUP_LAYOUT_H
#define BACKUP_LAYOUT_H

#include "basebackup/backup_state.h"

/*
 * What a worker writes its pieces by.  For each range that is there, in their
 * order, begin_range(), its bytes in any number of parts, as many as it has,
 * and end_range().  All exit with a message on failure.
 *
 * Unless they are NULL, the last two let the server make and compress a whole
 * piece: around() appends what is before a range's bytes and returns how many
 * zeros are after them, and put_piece() takes what comes of it all.
 */
typedef struct BackupLayout BackupLayout;

struct BackupLayout
{
	void		(*begin_piece) (BackupLayout *layout, const BackupPiece *piece);
	void		(*begin_range) (BackupLayout *layout, const BackupRange *range);
	void		(*data) (BackupLayout *layout, const char *data, size_t len);
	void		(*end_range) (BackupLayout *layout);
	void		(*end_piece) (BackupLayout *layout);

	size_t		(*around) (BackupLayout *layout, const BackupRange *range,
						   PQExpBuffer header);
	void		(*put_piece) (BackupLayout *layout, const BackupPiece *piece,
							  const PQExpBufferData *data);
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

	/*
	 * Nothing more comes, where that matters, or NULL; then flush all to disk
	 * as asked for.
	 */
	void		(*finish) (const Backup *backup);
	void		(*sync) (const Backup *backup);

	bool		has_map;		/* of tablespaces: it has no links yet */
	bool		can_rewrite;	/* a file that another plan has, once
								 * end_plan() has taken that for vanished */
} BackupForm;

/* ----------
 * A base backup as the directory of a cluster, ready to be started.
 *
 * Tablespaces are directories beside it, found by the links in pg_tblspc.
 * ----------
 */
extern const BackupForm plain_form;

/*
 * In the leader, before anything is asked of the server that takes long:
 * make the backup's directory, of either form, and that of its log.  They
 * must be missing or empty.  If the program fails, what was made is removed,
 * and an empty directory that was found gets its former mode back, unless
 * --no-clean: then what is left stays as private as the backup.
 */
extern void plain_layout_claim(const Options *options);

/* ----------
 * A base backup as tar files: base.tar, and OID.tar for each tablespace, as
 * pg_basebackup -Ft makes them, compressed if asked.
 *
 * A file begins with its directories, a piece that the leader writes.  Those
 * of the workers follow in the order of the plan, each a frame of its own.
 * The last one of base.tar is the leader's again: what was known at the
 * backup's end only, and pg_control behind all, so that no server can be
 * started of what was cut off.
 * ----------
 */
extern const BackupForm tar_form;

#endif							/* BACKUP_LAYOUT_H */
