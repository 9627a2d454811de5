/*
 * plain_layout.c
 *		A base backup as the directory of a cluster, ready to be started.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "common/file_utils.h"

#include "archive/archive_sync.h"
#include "backup/safe_directory.h"
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

/*
 * A directory to be emptied, or removed, if the program fails.  It is held
 * open, and all that is made or removed in it is named relative to that: the
 * owner of a directory in its path can put another directory, or a link, in
 * its place at any time.  Below it there are no directories of others, as
 * root uses only directories of its own (safe_directory.h).
 */
typedef struct ClaimedDirectory
{
	char	   *path;
	int			fd;
	bool		found;			/* it was there, and empty */
	mode_t		found_mode;
	bool		is_kept;		/* --no-clean */
} ClaimedDirectory;

/*
 * Those of this run.  The backup's own, which has the manifest, is claimed
 * first, and so is the last to be removed.
 */
static const ClaimedDirectory *base;
static const ClaimedDirectory *wal; /* --waldir, or NULL */
static const ClaimedDirectory **tablespaces;	/* by number */

/* From the beginning, whoever has read the directory; NULL if that fails. */
static DIR *
open_listing(int fd)
{
	int			again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR		   *listing = again < 0 ? NULL : fdopendir(again);

	if (listing == NULL && again >= 0)
		close(again);
	return listing;
}

/* The next name in a directory; NULL at the end. */
static const char *
next_name(DIR *listing)
{
	struct dirent *entry;

	while ((entry = readdir(listing)) != NULL &&
		   (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0))
		;
	return entry ? entry->d_name : NULL;
}

/* Remove all that is in an open directory; false if something is left. */
static bool
remove_contents(int fd)
{
	DIR		   *listing = open_listing(fd);
	const char *name;
	bool		done = listing != NULL;

	while (listing && (name = next_name(listing)) != NULL)
	{
		int			below;

		if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
			continue;
		below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		done &= below >= 0 && remove_contents(below) &&
			unlinkat(fd, name, AT_REMOVEDIR) == 0;
		if (below >= 0)
			close(below);
	}
	if (listing)
		closedir(listing);
	return done;
}

/*
 * Remove an open directory by its name in the directory that it is in, which
 * need not be the one that its path leads to now.
 */
static bool
remove_empty(const ClaimedDirectory *claimed)
{
	const char *slash = strrchr(claimed->path, '/');
	char	   *name = psprintf("../%s", slash ? slash + 1 : claimed->path);
	bool		done = unlinkat(claimed->fd, name, AT_REMOVEDIR) == 0;

	free(name);
	return done;
}

/* An exit callback. */
static void
remove_directory(void *arg)
{
	const ClaimedDirectory *claimed = arg;

	/* first: what is left if we are killed now is no backup */
	(void) unlinkat(base->fd, "backup_manifest", 0);
	if (claimed->is_kept)
	{
		pg_log_info("directory \"%s\" not removed at user's request",
					printable(claimed->path));
		return;
	}
	pg_log_info("removing %sdirectory \"%s\"",
				claimed->found ? "contents of " : "", printable(claimed->path));
	if (!remove_contents(claimed->fd) ||
		!(claimed->found ? fchmod(claimed->fd, claimed->found_mode) == 0 :
		  remove_empty(claimed)))
		pg_log_error("failed to remove directory \"%s\"",
					 printable(claimed->path));
}

pg_noreturn static void
was_replaced(const ClaimedDirectory *claimed)
{
	pg_fatal("directory \"%s\" was replaced by another user",
			 printable(claimed->path));
}

/*
 * Open the directory, or make it if there is none.  A link in a place that the
 * user has named is followed, as pg_basebackup does, but not one in the place
 * of a directory that was made a moment ago.
 */
static void
open_directory(ClaimedDirectory *claimed)
{
	const int	flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	struct stat st;

	claimed->fd = open(claimed->path, flags);
	claimed->found = claimed->fd >= 0;
	if (!claimed->found && errno == ENOENT)
	{
		if (pg_mkdir_p(claimed->path, pg_dir_create_mode) < 0)
			pg_fatal("could not create directory \"%s\": %m",
					 printable(claimed->path));
		claimed->fd = open(claimed->path, flags | O_NOFOLLOW);
	}
	if (claimed->fd < 0 || fstat(claimed->fd, &st) < 0)
		pg_fatal("could not access directory \"%s\": %m",
				 printable(claimed->path));
	if (!claimed->found && st.st_uid != geteuid())
		was_replaced(claimed);
	claimed->found_mode = st.st_mode & 07777;
}

/*
 * The directory must be empty.  One that was made may not be the one that is
 * open now: another user who owns a directory in its path may have put a link
 * there, to a directory with the same name.
 */
static void
check_empty(const ClaimedDirectory *claimed, const char *hint)
{
	DIR		   *listing = open_listing(claimed->fd);
	const char *name;

	errno = 0;
	name = listing ? next_name(listing) : NULL;
	if (listing == NULL || (name == NULL && errno != 0))
		pg_fatal("could not read directory \"%s\": %m",
				 printable(claimed->path));
	if (name && !claimed->found)
		was_replaced(claimed);
	if (name)
	{
		pg_log_error("directory \"%s\" exists but is not empty",
					 printable(claimed->path));
		if (hint)
			pg_log_error_hint("%s", hint);
		exit(1);
	}
	closedir(listing);
}

/*
 * See plain_layout_claim_directory().  Nothing is changed in the directory,
 * or removed from it, before it is known to be the right one.
 */
static const ClaimedDirectory *
claim(const char *path, const char *hint, bool keep, bool is_plain)
{
	ClaimedDirectory *claimed = pg_malloc0(sizeof(ClaimedDirectory));

	claimed->path = pg_strdup(path);
	canonicalize_path(claimed->path);
	claimed->is_kept = keep;
	if (is_plain)
		safe_directory_check(claimed->path);
	open_directory(claimed);
	check_empty(claimed, hint);
	if (is_plain && !safe_directory_is(claimed->path, claimed->fd))
		was_replaced(claimed);
	if (base == NULL)
		base = claimed;
	cleanup_push(remove_directory, claimed);
	if (claimed->found && fchmod(claimed->fd, pg_dir_create_mode) < 0)
		pg_fatal("could not change permissions of directory \"%s\": %m",
				 printable(path));
	return claimed;
}

void
plain_layout_claim_directory(const char *path, const char *hint, bool keep)
{
	(void) claim(path, hint, keep, true);
}

void
plain_layout_claim(const Options *options)
{
	(void) claim(options->directory, NULL, options->no_clean,
				 !options->tar_format);
	if (options->wal_directory)
		wal = claim(options->wal_directory, NULL, options->no_clean, true);
}

static char *
path_of(const Backup *backup, const char *path)
{
	return psprintf("%s/%s", backup->options->directory, path);
}

/*
 * The open directory that has a file or directory of the list, and *below,
 * the path from there.
 */
static int
place_of(const BackupFile *file, const char **below)
{
	*below = file->path;
	if (file->tablespace >= 0)
	{
		/* behind "pg_tblspc/OID/" */
		*below = strchr(strchr(file->path, '/') + 1, '/') + 1;
		return tablespaces[file->tablespace]->fd;
	}
	if (wal == NULL || strncmp(file->path, "pg_wal/", 7) != 0)
		return base->fd;
	*below += 7;
	return wal->fd;
}

static void
make_link(const Backup *backup, const char *target, const char *path)
{
	if (symlinkat(target, base->fd, path) < 0)
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

/* Where the server has it, unless it is relocated. */
static void
make_tablespace(const Backup *backup, int no)
{
	const Options *options = backup->options;
	const BackupTablespace *tablespace = &backup->list->tablespaces[no];
	const char *location = tablespace_mapping_place(&options->tablespace_mappings,
													tablespace->oid,
													tablespace->location);

	tablespaces[no] = claim(location, location != tablespace->location ? NULL :
							"This is the tablespace's place on the server; name another one by -T.",
							options->no_clean, true);
	make_link(backup, location, tablespace->path);
}

static void
make_directories(Backup *backup)
{
	const BackupList *list = backup->list;
	const char *wal_directory = backup->options->wal_directory;
	int			n_made = 0;

	tablespaces = pg_malloc0((list->n_tablespaces + 1) * sizeof(*tablespaces));
	for (int i = 0; i < list->n_directories; i++)
	{
		const BackupFile *directory = &list->directories[i];

		/* the link comes before the first directory that is below it */
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
	BackupLayout layout;		/* first: it is one */
	const Backup *backup;
	char	   *path;			/* of the file that is open; owned */
	int			fd;
	uint64		offset;			/* where the next bytes go */
} PlainLayout;

/* path is for the message. */
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
	const char *below;
	int			directory = place_of(file, &below);

	plain->path = path_of(plain->backup, file->path);
	/* a worker that was lost may have read more */
	plain->fd = open_file(directory, below, file->is_whole ? O_TRUNC : 0,
						  plain->path);
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
	int			fd = open_file(base->fd, name, 0, path);

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
