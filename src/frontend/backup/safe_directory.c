/*
 * safe_directory.c
 *		Refuses directories in which other users could redirect root.
 */
#include "base/fe_compat.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/printable.h"
#include "backup/safe_directory.h"

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
follow(const char *path, size_t len, const char *rest)
{
	char	   *link = pnstrdup(path, len);
	char		target[MAXPGPATH];
	ssize_t		n = readlink(link, target, sizeof(target) - 1);
	char	   *result;

	if (n < 0)
		pg_fatal("could not read symbolic link \"%s\": %m", printable(link));
	target[n] = '\0';
	if (target[0] == '/')
		result = psprintf("%s%s", target, rest);
	else
	{
		while (len > 0 && path[len - 1] != '/')
			len--;
		result = psprintf("%.*s%s%s", (int) len, path, target, rest);
	}
	free(link);
	return result;
}

/*
 * Each part of an absolute path must be root's.  Other users may write to a
 * directory on the way only if it is sticky, as /tmp is: they cannot rename
 * what root has there.
 */
static void
check_parts(const char *given, const char *path, int n_links)
{
	const char *end = path;

	if (n_links > MOST_LINKS)
		pg_fatal("too many symbolic links in path \"%s\"", printable(given));
	while (*end)
	{
		struct stat st;
		char	   *part;

		end += strspn(end, "/");
		end += strcspn(end, "/");
		part = pnstrdup(path, end - path);
		if (lstat(part, &st) < 0)
		{
			if (errno != ENOENT)
				pg_fatal("could not stat file \"%s\": %m", printable(part));
			free(part);
			return;
		}
		if (st.st_uid != 0 ||
			(S_ISDIR(st.st_mode) && (st.st_mode & (S_IWGRP | S_IWOTH)) &&
			 (*end == '\0' || !(st.st_mode & S_ISVTX))))
			refuse(given, part, &st);
		free(part);
		if (S_ISLNK(st.st_mode))
		{
			char	   *followed = follow(path, end - path, end);

			check_parts(given, followed, n_links + 1);
			free(followed);
			return;
		}
	}
}

void
safe_directory_check(const char *path)
{
	char	   *absolute;

	if (geteuid() != 0)
		return;
	absolute = make_absolute_path(path);
	if (absolute == NULL)
		exit(1);
	check_parts(path, absolute, 0);
	free(absolute);
}
