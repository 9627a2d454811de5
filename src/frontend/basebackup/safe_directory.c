/*
 * safe_directory.c
 *		Claims the directories of a backup, and refuses those in which other
 *		users could redirect root.
 *
 * A directory is checked before it is opened, and again when it is open: a
 * path can change between both.  From then on it is used through the open
 * descriptor.  If the program fails, an exit callback removes what it has
 * created, in reverse order, the manifest first, so that nothing looks like a
 * backup.
 */
#include "base/fe_compat.h"

#include <pwd.h>

#include "common/file_perm.h"
#include "common/file_utils.h"

#include "base/interrupt.h"
#include "basebackup/safe_directory.h"
#include "stream/regular_file.h"

/* Linux follows this many links in a path (path_resolution(7)). */
#define MOST_LINKS 40

pg_noreturn static void
refuse(const char *path, const char *part, const struct stat *st)
{
	struct passwd *owner = getpwuid(st->st_uid);

	pg_log_error("directory \"%s\" is not safe for root", printable(path));
	if (st->st_uid != 0 && owner)
		pg_log_error_detail("User \"%s\" owns \"%s\", and could replace it with a link to another directory.",
							owner->pw_name, printable(part));
	else if (st->st_uid != 0)
		pg_log_error_detail("User ID %u owns \"%s\", and could replace it with a link to another directory.",
							st->st_uid, printable(part));
	else
		pg_log_error_detail("Other users can write to \"%s\", and could put links there.",
							printable(part));
	pg_fatal_hint("Run the program as the user who will own the cluster, or choose a directory whose parent directories can be written only by root.");
}

/* The target of a link, followed by the rest of the path; owned. */
static char *
follow(const char *link, const char *rest)
{
	char		target[MAXPGPATH];
	ssize_t		n = readlink(link, target, sizeof(target));

	if (n < 0)
		pg_fatal("could not read symbolic link \"%s\": %m", printable(link));
	if (n >= sizeof(target))
		pg_fatal("symbolic link \"%s\" target is too long", printable(link));
	target[n] = '\0';
	if (target[0] == '/')
		return psprintf("%s/%s", target, rest);
	return psprintf("%.*s/%s/%s", (int) (strrchr(link, '/') - link), link,
					target, rest);
}

/*
 * Check an absolute path: each part must belong to root.  Other users may
 * only write to directories that are sticky, such as /tmp, because there they
 * cannot rename what root has created.  Links are followed, up to a limit,
 * and checked in the same way.  Returns whether the path exists; if so, *last
 * describes what it leads to.
 */
static bool
check_parts(const char *given, const char *path, int n_links,
			struct stat *last)
{
	const char *end = path + strspn(path, "/");

	if (n_links > MOST_LINKS)
		pg_fatal("too many symbolic links in path \"%s\"", printable(given));
	if (lstat("/", last) < 0)
		pg_fatal("could not stat file \"%s\": %m", "/");
	while (*end)
	{
		char	   *part;
		bool		is_found;

		end += strcspn(end, "/");
		part = pnstrdup(path, end - path);
		end += strspn(end, "/");
		is_found = lstat(part, last) == 0;
		if (!is_found && errno != ENOENT)
			pg_fatal("could not stat file \"%s\": %m", printable(part));
		if (is_found && (last->st_uid != 0 ||
						 (S_ISDIR(last->st_mode) &&
						  (last->st_mode & (S_IWGRP | S_IWOTH)) &&
						  (*end == '\0' || !(last->st_mode & S_ISVTX)))))
			refuse(given, part, last);
		if (is_found && S_ISLNK(last->st_mode))
			return check_parts(given, follow(part, end), n_links + 1, last);
		if (!is_found)
			return false;
	}
	return true;
}

/*
 * If root runs the program, exit with a message unless the directory, which
 * need not exist, and all directories above it belong to root, and no other
 * user can write to them, except to sticky directories above it.  The names
 * and contents in a backup come from a server or an archive, and root would
 * write them to the target of another user's link.
 */
static bool
check(const char *path, struct stat *last)
{
	char	   *absolute = make_absolute_path(path);

	if (absolute == NULL)
		exit(1);
	return check_parts(path, absolute, 0, last);
}

/*
 * Check an open directory in the same way: does its path still lead to it?
 * In a sticky directory, another user may have created a link after the first
 * check, and removed it after the directory was opened.  Once this function
 * has returned true, only root can change where the path leads.  It always
 * returns true if another user runs the program.
 */
static bool
safe_directory_is(const char *path, int fd)
{
	struct stat last;
	struct stat opened;

	if (geteuid() != 0)
		return true;
	if (fstat(fd, &opened) < 0)
		pg_fatal("could not stat file \"%s\": %m", printable(path));
	return check(path, &last) &&
		last.st_dev == opened.st_dev && last.st_ino == opened.st_ino;
}

/* ----------
 * The directories of a base backup.
 * ----------
 */

struct ClaimedDirectory
{
	const ClaimedDirectory *next;	/* the one that was claimed before */
	char	   *path;
	int			fd;
	bool		found;			/* it existed, and was empty */
	mode_t		found_mode;
	bool		is_kept;		/* --no-clean */
};

/*
 * The backup's own directory, which contains the manifest.  It is claimed
 * first, and so is removed last.
 */
static const ClaimedDirectory *base;

/* All claimed directories, the last one first. */
static const ClaimedDirectory *newest;

/*
 * Remove everything in an open directory, without following links.  Returns
 * false if something is left.
 */
static bool
remove_contents(int fd)
{
	DIR		   *listing = directory_list(fd);
	const char *name;
	bool		done = listing != NULL;

	while (listing && (name = directory_next(listing)) != NULL)
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
 * Remove an open directory by its name in its parent directory, to which its
 * path may not lead any more.
 */
static bool
remove_empty(const ClaimedDirectory *claimed)
{
	const char *slash = strrchr(claimed->path, '/');
	char	   *name = psprintf("../%s", slash ? slash + 1 : claimed->path);

	return unlinkat(claimed->fd, name, AT_REMOVEDIR) == 0;
}

/*
 * An exit callback, which removes a directory's contents, or the directory
 * itself.
 */
static void
safe_directory_remove_directory(void *arg)
{
	const ClaimedDirectory *claimed = arg;

	/*
	 * The manifest comes first: if this process is killed now, the rest does
	 * not look like a backup.
	 */
	(void) unlinkat(base->fd, "backup_manifest", 0);
	if (claimed->is_kept)
	{
		pg_log_info("directory \"%s\" not removed at user's request",
					printable(claimed->path));
		return;
	}
	pg_log_info(claimed->found ? "removing contents of directory \"%s\"" :
				"removing directory \"%s\"", printable(claimed->path));
	if (!remove_contents(claimed->fd) ||
		!(claimed->found ? fchmod(claimed->fd, claimed->found_mode) == 0 :
		  remove_empty(claimed)))
	{
		pg_log_error(claimed->found ?
					 "could not remove contents of directory \"%s\"" :
					 "could not remove directory \"%s\"",
					 printable(claimed->path));
		pg_log_error_hint("Remove the files of the incomplete backup.");
	}
}

pg_noreturn static void
was_replaced(const ClaimedDirectory *claimed, const char *found)
{
	pg_log_error("directory \"%s\" was replaced or filled by another process",
				 printable(claimed->path));
	pg_log_error_detail("%s", found);
	pg_fatal_hint(DIRECTORY_REPLACED_HINT);
}

/*
 * Open the directory, or create it.  A link that the user has named is
 * followed, as pg_basebackup does, but not a link that replaces a directory
 * just created.
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
		was_replaced(claimed, psprintf("It is now owned by user ID %u.", st.st_uid));
	claimed->found_mode = st.st_mode & 07777;
}

/*
 * The directory must be empty.  If this program has just created it and it is
 * not empty, another user has replaced it.
 */
static void
check_empty(const ClaimedDirectory *claimed, const char *hint)
{
	DIR		   *listing = directory_list(claimed->fd);
	const char *name = listing ? directory_next(listing) : NULL;

	if (name == NULL && errno != 0)
		pg_fatal("could not read directory \"%s\": %m",
				 printable(claimed->path));
	if (name && !claimed->found)
		was_replaced(claimed, DIRECTORY_HAS_FILES);
	if (name)
	{
		pg_log_error("directory \"%s\" exists but is not empty",
					 printable(claimed->path));
		if (faccessat(claimed->fd, "PG_VERSION", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			pg_log_error_detail("It contains the data directory of a server.");
		pg_log_error_hint("%s", hint ? hint :
						  "Specify another directory.  Remove this one only if its contents are not needed.");
		exit(1);
	}
	closedir(listing);
}

/*
 * Nothing in the directory is changed or removed before the checks have shown
 * that it is the right one.
 */
const ClaimedDirectory *
claimed_directory_new(const char *path, const char *hint, bool keep,
					  bool is_plain)
{
	ClaimedDirectory *claimed = pg_malloc0(sizeof(ClaimedDirectory));
	struct stat last;

	claimed->path = pg_strdup(path);
	canonicalize_path(claimed->path);
	claimed->is_kept = keep;
	if (is_plain && geteuid() == 0)
		(void) check(claimed->path, &last);
	open_directory(claimed);
	check_empty(claimed, hint);
	if (is_plain && !safe_directory_is(claimed->path, claimed->fd))
		was_replaced(claimed, DIRECTORY_IS_ANOTHER);
	claimed->next = newest;
	newest = claimed;
	if (base == NULL)
		base = claimed;
	cleanup_push(safe_directory_remove_directory, claimed);
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

/*
 * Check whether the paths still lead to the open directories, because files
 * are flushed by path at the end.
 */
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
			was_replaced(claimed, DIRECTORY_IS_ANOTHER);
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
		pg_fatal("could not fsync directory \"%s\": %m", printable(base->path));
}
