/*
 * plain_layout.c
 *		A base backup as the directory of a cluster, ready to be started.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "common/file_utils.h"

#include "archive/archive_sync.h"
#include "backup/write_at.h"
#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "basebackup/plain_layout.h"
#include "options/tablespace_mapping.h"

/* ----------
 * Directories
 * ----------
 */

/* A directory to be removed if the program fails. */
typedef struct MadeDirectory
{
	char	   *path;
	bool		found;			/* empty: only what is in it is removed */
	bool		is_kept;		/* --no-clean */
} MadeDirectory;

/*
 * The backup's own, which has the manifest.  It is claimed first, and so is
 * the last to be removed.
 */
static const char *first_claimed;

/* An exit callback. */
static void
remove_directory(void *arg)
{
	const MadeDirectory *made = arg;
	char	   *manifest = psprintf("%s/backup_manifest", first_claimed);

	/* first: what is left if we are killed now is no backup */
	(void) unlink(manifest);
	free(manifest);
	if (made->is_kept)
	{
		pg_log_info("directory \"%s\" not removed at user's request",
					printable(made->path));
		return;
	}
	pg_log_info("removing %sdirectory \"%s\"", made->found ? "contents of " : "",
				printable(made->path));
	if (!rmtree(made->path, !made->found))
		pg_log_error("failed to remove directory \"%s\"",
					 printable(made->path));
}

/*
 * Make a directory, whose parents need not be there, unless it is there and
 * empty.  hint is for one that is not, or NULL.
 */
void
plain_layout_claim_directory(const char *path, const char *hint, bool keep)
{
	MadeDirectory *made = pg_malloc0(sizeof(MadeDirectory));

	made->path = pg_strdup(path);
	canonicalize_path(made->path);
	made->is_kept = keep;
	switch (pg_check_dir(made->path))
	{
		case 0:
			if (pg_mkdir_p(made->path, pg_dir_create_mode) < 0)
				pg_fatal("could not create directory \"%s\": %m",
						 printable(path));
			break;
		case 1:
			made->found = true;
			if (chmod(made->path, pg_dir_create_mode) < 0)
				pg_fatal("could not change permissions of directory \"%s\": %m",
						 printable(path));
			break;
		case -1:
			pg_fatal("could not access directory \"%s\": %m", printable(path));
		default:
			pg_log_error("directory \"%s\" exists but is not empty",
						 printable(path));
			if (hint)
				pg_log_error_hint("%s", hint);
			exit(1);
	}
	if (first_claimed == NULL)
		first_claimed = made->path;
	cleanup_push(remove_directory, made);
}

static char *
path_of(const Backup *backup, const char *path)
{
	return psprintf("%s/%s", backup->options->directory, path);
}

static void
make_link(const Backup *backup, const char *target, const char *path)
{
	char	   *link = path_of(backup, path);

	if (symlink(target, link) < 0)
		pg_fatal("could not create symbolic link \"%s\": %m", printable(link));
	free(link);
}

void
plain_layout_claim(const Options *options)
{
	plain_layout_claim_directory(options->directory, NULL, options->no_clean);
	if (options->wal_directory)
		plain_layout_claim_directory(options->wal_directory, NULL, options->no_clean);
}

static void
make_directory(const Backup *backup, const char *path)
{
	char	   *full = path_of(backup, path);

	if (mkdir(full, pg_dir_create_mode) < 0)
		pg_fatal("could not create directory \"%s\": %m", printable(full));
	free(full);
}

/* Where the server has it, unless it is relocated. */
static void
make_tablespace(const Backup *backup, const BackupTablespace *tablespace)
{
	const Options *options = backup->options;
	const char *location = tablespace_mapping_find(&options->tablespace_mappings,
												   tablespace->location);

	plain_layout_claim_directory(location, location != tablespace->location ? NULL :
								 "This is the tablespace's place on the server; name another one by -T.",
								 options->no_clean);
	make_link(backup, location, tablespace->path);
}

static void
make_directories(Backup *backup)
{
	const BackupList *list = backup->list;
	const char *wal = backup->options->wal_directory;
	int			n_made = 0;

	for (int i = 0; i < list->n_directories; i++)
	{
		const BackupFile *directory = &list->directories[i];

		/* the link comes before the first directory that is below it */
		if (directory->tablespace == n_made)
			make_tablespace(backup, &list->tablespaces[n_made++]);
		if (wal && strcmp(directory->path, "pg_wal") == 0)
			make_link(backup, wal, directory->path);
		else
			make_directory(backup, directory->path);
	}
}

/* ----------
 * Files
 * ----------
 */
typedef struct PlainLayout
{
	BackupLayout layout;		/* first: it is one */
	const Backup *backup;
	char	   *path;			/* of the file that is open; owned */
	int			fd;
	uint64		offset;			/* where the next bytes go */
} PlainLayout;

static int
open_file(const char *path, int flags)
{
	int			fd = open(path, O_WRONLY | O_CREAT | PG_BINARY | flags,
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
		pg_fatal("could not write to file \"%s\": %m", printable(path));
}

static void
end_range(BackupLayout *layout)
{
	PlainLayout *plain = (PlainLayout *) layout;

	close_file(plain->fd, plain->path);
	free(plain->path);
	plain->path = NULL;
}

/* A piece that is read again may have ended within a range. */
static void
begin_piece(BackupLayout *layout, const BackupPiece *piece)
{
	PlainLayout *plain = (PlainLayout *) layout;

	if (plain->path)
		end_range(layout);
}

static void
begin_range(BackupLayout *layout, const BackupRange *range)
{
	PlainLayout *plain = (PlainLayout *) layout;
	const BackupFile *file = &plain->backup->list->files[range->file];

	plain->path = path_of(plain->backup, file->path);
	/* a worker that was lost may have read more */
	plain->fd = open_file(plain->path, file->is_whole ? O_TRUNC : 0);
	plain->offset = range->offset;
}

static void
take_data(BackupLayout *layout, const char *data, size_t len)
{
	PlainLayout *plain = (PlainLayout *) layout;

	write_bytes(plain->fd, plain->path, data, len, plain->offset);
	plain->offset += len;
}

static void
end_piece(BackupLayout *layout)
{
}

static BackupLayout *
new_layout(const Backup *backup)
{
	PlainLayout *plain = pg_malloc0(sizeof(PlainLayout));

	plain->layout.begin_piece = begin_piece;
	plain->layout.begin_range = begin_range;
	plain->layout.data = take_data;
	plain->layout.end_range = end_range;
	plain->layout.end_piece = end_piece;
	plain->backup = backup;
	return &plain->layout;
}

static void
write_file(const Backup *backup, const char *name, const char *data, size_t len)
{
	char	   *path = path_of(backup, name);
	int			fd = open_file(path, 0);

	write_bytes(fd, path, data, len, 0);
	close_file(fd, path);
	free(path);
}

/*
 * What is gone may be here: of a worker that was lost when it had read it, so
 * that another one has looked for it again.
 */
static void
remove_vanished(const Backup *backup)
{
	for (int i = 0; i < backup->list->n_files; i++)
	{
		char	   *path;

		if (!backup->results.vanished[i])
			continue;
		path = path_of(backup, backup->list->files[i].path);
		if (unlink(path) < 0 && errno != ENOENT)
			pg_fatal("could not remove file \"%s\": %m", printable(path));
		free(path);
	}
}

/* ----------
 * The disk
 * ----------
 */
static void
flush_directory(const void *arg)
{
	const Backup *backup = arg;

	sync_data_directory(backup->options->directory,
						PQserverVersion(backup->conn));
}

static void
flush(const Backup *backup)
{
	const Options *options = backup->options;

	switch (options->sync_method)
	{
		case SYNC_NONE:
			break;
		case SYNC_FSYNC:
			archive_sync_apart(flush_directory, backup);
			break;
		case SYNC_SYNCFS:
			archive_sync_file_system(options->directory);
			if (options->wal_directory)
				archive_sync_file_system(options->wal_directory);
			for (int i = 0; i < backup->list->n_tablespaces; i++)
			{
				char	   *path = path_of(backup,
										   backup->list->tablespaces[i].path);

				archive_sync_file_system(path);
				free(path);
			}
			break;
	}
}

static void
nothing_to_do(const Backup *backup)
{
}

const BackupForm plain_form = {
	.make_directories = make_directories,
	.new_layout = new_layout,
	.end_plan = remove_vanished,
	.write_file = write_file,
	.finish = nothing_to_do,
	.sync = flush,
	.can_rewrite = true,
};
