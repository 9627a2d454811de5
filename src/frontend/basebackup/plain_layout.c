/*
 * plain_layout.c
 *		A base backup as the data directory of a cluster, in which a server
 *		can be started.
 *
 * Files are created relative to open directories, which were checked when
 * they were claimed: another user may replace a directory in the path by a
 * link at any time, and root would write to the link's target.
 *
 * Workers write ranges of one file at the same time, each at its own offset;
 * the first of them creates the file.
 */
#include "base/fe_compat.h"

#include "common/file_perm.h"
#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "basebackup/backup_layout.h"
#include "basebackup/safe_directory.h"
#include "options/options_parse.h"

/* ----------
 * Directories
 * ----------
 */
static const ClaimedDirectory *base;
static const ClaimedDirectory *wal; /* --waldir, or NULL */
static const ClaimedDirectory **tablespaces;	/* by number */

void
plain_layout_claim(const Options *options)
{
	base = claimed_directory_new(options->directory, NULL, options->no_clean,
								 !options->tar_format);
	if (options->wal_directory)
		wal = claimed_directory_new(options->wal_directory, NULL,
									options->no_clean, true);
}

static char *
path_of(const Backup *backup, const char *path)
{
	return psprintf("%s/%s", backup->options->directory, path);
}

/*
 * The open directory that contains a file or directory of the list, and in
 * *below the path relative to it.
 */
static int
place_of(const BackupFile *file, const char **below)
{
	*below = file->path;
	if (file->tablespace >= 0)
	{
		/* the part after "pg_tblspc/OID/" */
		*below = strchr(strchr(file->path, '/') + 1, '/') + 1;
		return claimed_directory_fd(tablespaces[file->tablespace]);
	}
	if (wal == NULL || strncmp(file->path, "pg_wal/", 7) != 0)
		return claimed_directory_fd(base);
	*below += 7;
	return claimed_directory_fd(wal);
}

static void
make_link(const Backup *backup, const char *target, const char *path)
{
	if (symlinkat(target, claimed_directory_fd(base), path) < 0)
		pg_fatal("could not create symbolic link \"%s\": %m",
				 printable(path_of(backup, path)));
}

static void
make_directory(const Backup *backup, const BackupFile *directory)
{
	const char *below;
	int			fd = place_of(directory, &below);

	if (mkdirat(fd, below, pg_dir_create_mode) < 0)
		pg_fatal("could not create directory \"%s\": %m",
				 printable(path_of(backup, directory->path)));
}

/*
 * Make the directory of a tablespace, and its link.  The directory has the
 * same path as on the server unless -T names another one.
 */
static void
make_tablespace(const Backup *backup, int no)
{
	const Options *options = backup->options;
	const BackupTablespace *tablespace = &backup->list->tablespaces[no];
	const char *location = tablespace_mapping_place(&options->tablespace_mappings,
													tablespace->oid,
													tablespace->location);

	tablespaces[no] = claimed_directory_new(location, location != tablespace->location ? NULL :
											"This is the tablespace's location on the server.  Use -T to specify another one.",
											options->no_clean, true);
	make_link(backup, location, tablespace->path);
}

static void
plain_layout_make_directories(Backup *backup)
{
	const BackupList *list = backup->list;
	const char *wal_directory = backup->options->wal_directory;
	int			n_made = 0;

	tablespaces = pg_malloc0((list->n_tablespaces + 1) * sizeof(*tablespaces));
	for (int i = 0; i < list->n_directories; i++)
	{
		const BackupFile *directory = &list->directories[i];

		/* Make the link before the first directory below it. */
		if (directory->tablespace == n_made)
			make_tablespace(backup, n_made++);
		if (wal_directory && strcmp(directory->path, "pg_wal") == 0)
			make_link(backup, wal_directory, directory->path);
		else
			make_directory(backup, directory);
	}
}

/* ----------
 * Files
 * ----------
 */
typedef struct PlainLayout
{
	BackupLayout layout;		/* must be first, for casts */
	const Backup *backup;
	char	   *path;			/* of the open file; owned */
	int			fd;
	uint64		offset;			/* of the next bytes */
} PlainLayout;

/* Open a file; path is only for messages. */
static int
open_file(int directory, const char *below, int flags, const char *path)
{
	int			fd = openat(directory, below,
							O_WRONLY | O_CREAT | O_NOFOLLOW | PG_BINARY | flags,
							pg_file_create_mode);

	if (fd < 0)
		pg_fatal("could not create file \"%s\": %m", printable(path));
	return fd;
}

static void
close_file(int fd, const char *path)
{
	if (close(fd) < 0)
		pg_fatal("could not close file \"%s\": %m", printable(path));
}

static void
write_bytes(int fd, const char *path, const char *data, size_t len,
			uint64 offset)
{
	if (!write_at(fd, data, len, offset))
		pg_fatal("could not write file \"%s\": %m", printable(path));
}

static void
plain_layout_end_range(BackupLayout *layout)
{
	PlainLayout *plain = (PlainLayout *) layout;

	close_file(plain->fd, plain->path);
	free(plain->path);
	plain->path = NULL;
}

/*
 * Close the file of a piece that was abandoned within a range, and is read
 * again.
 */
static void
plain_layout_begin_piece(BackupLayout *layout, const BackupPiece *piece)
{
	PlainLayout *plain = (PlainLayout *) layout;

	if (plain->path)
		plain_layout_end_range(layout);
}

/*
 * Open the file of a range.  Files that are read whole are truncated, because
 * a lost worker may have written more than the file has now.
 */
static void
plain_layout_begin_range(BackupLayout *layout, const BackupRange *range)
{
	PlainLayout *plain = (PlainLayout *) layout;
	const BackupFile *file = &plain->backup->list->files[range->file];
	const char *below;
	int			directory = place_of(file, &below);

	plain->path = path_of(plain->backup, file->path);
	/* A lost worker may have written a longer version. */
	plain->fd = open_file(directory, below, file->is_whole ? O_TRUNC : 0,
						  plain->path);
	plain->offset = range->offset;
}

static void
plain_layout_take_data(BackupLayout *layout, const char *data, size_t len)
{
	PlainLayout *plain = (PlainLayout *) layout;

	write_bytes(plain->fd, plain->path, data, len, plain->offset);
	plain->offset += len;
}

static void
plain_layout_end_piece(BackupLayout *layout)
{
}

static BackupLayout *
plain_layout_new_layout(const Backup *backup)
{
	PlainLayout *plain = pg_malloc0(sizeof(PlainLayout));

	plain->layout.begin_piece = plain_layout_begin_piece;
	plain->layout.begin_range = plain_layout_begin_range;
	plain->layout.data = plain_layout_take_data;
	plain->layout.end_range = plain_layout_end_range;
	plain->layout.end_piece = plain_layout_end_piece;
	plain->backup = backup;
	return &plain->layout;
}

static void
plain_layout_write_file(const Backup *backup, const char *name, const char *data, size_t len)
{
	char	   *path = path_of(backup, name);
	int			fd = open_file(claimed_directory_fd(base), name, 0, path);

	write_bytes(fd, path, data, len, 0);
	close_file(fd, path);
}

/*
 * Remove files that have vanished.  A worker may have stored a file before it
 * was lost, and the worker that repeated the piece found that the file had
 * vanished.
 */
static void
remove_vanished(const Backup *backup)
{
	for (int i = 0; i < backup->list->n_files; i++)
	{
		const BackupFile *file = &backup->list->files[i];
		const char *below;
		int			directory;

		if (!backup->results.vanished[i])
			continue;
		directory = place_of(file, &below);
		if (unlinkat(directory, below, 0) < 0 && errno != ENOENT)
			pg_fatal("could not remove file \"%s\": %m",
					 printable(path_of(backup, file->path)));
	}
}

/* ----------
 * The disk
 * ----------
 */
static void
plain_layout_flush_directory(const void *arg)
{
	const Backup *backup = arg;

	sync_data_directory(backup->options->directory,
						PQserverVersion(backup->conn));
}

static void
plain_layout_flush(const Backup *backup)
{
	const Options *options = backup->options;

	switch (options->sync_method)
	{
		case SYNC_NONE:
			break;
		case SYNC_FSYNC:
			archive_sync_apart(plain_layout_flush_directory, backup);
			break;
		case SYNC_SYNCFS:
			archive_sync_file_system(options->directory);
			if (options->wal_directory)
				archive_sync_file_system(options->wal_directory);
			for (int i = 0; i < backup->list->n_tablespaces; i++)
				archive_sync_file_system(path_of(backup,
												 backup->list->tablespaces[i].path));
			break;
	}
}

const BackupForm plain_form = {
	.make_directories = plain_layout_make_directories,
	.new_layout = plain_layout_new_layout,
	.end_plan = remove_vanished,
	.write_file = plain_layout_write_file,
	.sync = plain_layout_flush,
	.can_rewrite = true,
};
