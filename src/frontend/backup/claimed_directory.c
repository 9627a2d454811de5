/*
 * claimed_directory.c
 *		Directories that a base backup goes to.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "common/file_utils.h"

#include "backup/claimed_directory.h"
#include "backup/safe_directory.h"
#include "base/interrupt.h"
#include "base/message.h"

struct ClaimedDirectory
{
	const ClaimedDirectory *next;	/* that was claimed before it */
	char	   *path;
	int			fd;
	bool		found;			/* it was there, and empty */
	mode_t		found_mode;
	bool		is_kept;		/* --no-clean */
};

/*
 * The backup's own directory, which has the manifest: it is claimed first,
 * and so is the last to be removed.
 */
static const ClaimedDirectory *base;

/* All claimed directories, the last one first. */
static const ClaimedDirectory *newest;

/* From the beginning, even if it was read before; NULL if that fails. */
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

	/* first: what is left if we are killed now is not a backup */
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
 * Open the directory, or make it if there is none.  A link in a place that
 * the user has named is followed, as pg_basebackup does, but not one in the
 * place of a directory that was made a moment ago.
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
 * Nothing is changed in the directory, or removed from it, before it is known
 * to be the right one.
 */
const ClaimedDirectory *
claimed_directory_new(const char *path, const char *hint, bool keep,
					  bool is_plain)
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
	claimed->next = newest;
	newest = claimed;
	if (base == NULL)
		base = claimed;
	cleanup_push(remove_directory, claimed);
	if (claimed->found && fchmod(claimed->fd, pg_dir_create_mode) < 0)
		pg_fatal("could not change permissions of directory \"%s\": %m",
				 printable(path));
	return claimed;
}

int
claimed_directory_fd(const ClaimedDirectory *claimed)
{
	return claimed->fd;
}

void
claimed_directory_check(void)
{
	struct stat st;
	struct stat opened;

	for (const ClaimedDirectory *claimed = newest; claimed;
		 claimed = claimed->next)
	{
		if (stat(claimed->path, &st) < 0 || fstat(claimed->fd, &opened) < 0)
			pg_fatal("could not access directory \"%s\": %m",
					 printable(claimed->path));
		if (st.st_dev != opened.st_dev || st.st_ino != opened.st_ino)
			was_replaced(claimed);
	}
}

static void
flush_file(const char *name)
{
	int			fd = openat(base->fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		pg_fatal("could not open file \"%s/%s\": %m", printable(base->path), name);
	if (fsync(fd) < 0)
		pg_fatal("could not fsync file \"%s/%s\": %m", printable(base->path), name);
	close(fd);
}

void
claimed_directory_rename(const char *from, const char *to, bool flush)
{
	if (flush)
		flush_file(from);
	if (renameat(base->fd, from, base->fd, to) < 0)
		pg_fatal("could not rename file \"%s/%s\" to \"%s\": %m",
				 printable(base->path), from, to);
	if (flush && fsync(base->fd) < 0)
		pg_fatal("could not fsync file \"%s\": %m", printable(base->path));
}
