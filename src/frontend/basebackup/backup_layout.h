/*
 * backup_layout.h
 *		The two forms in which a base backup is stored: a data directory, or
 *		tar files.
 *
 * Workers and leader write through these interfaces, so only plain_layout.c
 * and tar_layout.c know the forms.
 */
#ifndef BACKUP_LAYOUT_H
#define BACKUP_LAYOUT_H

#include "basebackup/backup_state.h"

/*
 * The interface through which a worker writes its pieces.  For each range
 * whose file exists, in order, the worker calls begin_range(), then data()
 * any number of times, and end_range().  All functions exit with a message on
 * failure.
 *
 * Unless they are NULL, the last two functions allow the server to make and
 * compress a whole piece: around() appends the bytes before a range, and
 * returns the number of zeros after it; put_piece() stores the whole piece as
 * it arrives.
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

/* The interface of the leader, in the order of the calls. */
typedef struct BackupForm
{
	/* Create all directories of the list, and the links to tablespaces. */
	void		(*make_directories) (Backup *backup);

	/* Called in a worker: returns its layout; owned. */
	BackupLayout *(*new_layout) (const Backup *backup);

	/* Called after all pieces of a plan were read. */
	void		(*end_plan) (const Backup *backup);

	/* Write a small file, in the leader. */
	void		(*write_file) (const Backup *backup, const char *path,
							   const char *data, size_t len);

	/*
	 * finish() ends the files; it is NULL if there is nothing to do.  Then
	 * sync() flushes everything to disk, unless options say otherwise.
	 */
	void		(*finish) (const Backup *backup);
	void		(*sync) (const Backup *backup);

	bool		has_map;		/* it needs a tablespace_map, because it has
								 * no links yet */
	bool		can_rewrite;	/* after end_plan() has treated a file as
								 * vanished, a later plan can write it */
} BackupForm;

/* ----------
 * A base backup as a data directory, in which a server can be started.
 *
 * Tablespaces are separate directories, to which links in pg_tblspc lead.
 * ----------
 */
extern const BackupForm plain_form;

/*
 * In the leader, before slow queries: create the backup's directory, for
 * either form, and that of its WAL.  They must not exist, or be empty.  If
 * the program fails, everything that it created is removed, and an empty
 * directory that existed gets its former mode back.  With --no-clean nothing
 * is removed, and the mode stays as private as the backup.
 */
extern void plain_layout_claim(const Options *options);

/* ----------
 * A base backup as tar files: base.tar, and OID.tar for each tablespace, as
 * pg_basebackup -Ft makes them, compressed if requested.
 *
 * A file begins with its directories, in a piece that the leader writes.  The
 * pieces of the workers follow in the order of the plan, each a frame of its
 * own.  The leader also writes the last piece of base.tar: the files that are
 * only known at the end of the backup, and pg_control as the last member, so
 * that no server can be started from a truncated archive.
 * ----------
 */
extern const BackupForm tar_form;

#endif							/* BACKUP_LAYOUT_H */
