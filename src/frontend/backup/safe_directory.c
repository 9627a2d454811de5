/*
 * safe_directory.c
 *		Refuses directories in which other users could redirect root.
 */
#include "base/fe_compat.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/safe_directory.h"
#include "base/message.h"

/* As many links as Linux follows in a path (path_resolution(7)). */
#define MOST_LINKS 40

pg_noreturn static void
refuse(const char *path, const char *part, const struct stat *st)
{
	struct passwd *owner = getpwuid(st->st_uid);

	pg_log_error("directory \"%s\" is not safe for root", printable(path));
	if (st->st_uid != 0)
		pg_log_error_detail("User %s owns \"%s\", and could replace it with a link to another directory.",
							owner ? owner->pw_name : "with an unknown name",
							printable(part));
	else
		pg_log_error_detail("Other users can write to \"%s\", and could put links there.",
							printable(part));
	pg_log_error_hint("Run the program as the user who will own the cluster, or choose a directory to whose parents only root can write.");
	exit(1);
}

/* Where a link leads, with the rest of the path behind it; owned. */
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
 * Each part of an absolute path must be root's.  Other users may write to a
 * directory on the way only if it is sticky, as /tmp is: they cannot rename
 * what root has there.  Returns whether the whole path exists; then *last is
 * what it leads to.
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
		{
			char	   *followed = follow(part, end);

			is_found = check_parts(given, followed, n_links + 1, last);
			free(followed);
			free(part);
			return is_found;
		}
		free(part);
		if (!is_found)
			return false;
	}
	return true;
}

static bool
check(const char *path, struct stat *last)
{
	char	   *absolute = make_absolute_path(path);
	bool		result;

	if (absolute == NULL)
		exit(1);
	result = check_parts(path, absolute, 0, last);
	free(absolute);
	return result;
}

void
safe_directory_check(const char *path)
{
	struct stat last;

	if (geteuid() == 0)
		(void) check(path, &last);
}

bool
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
