/*
 * regular_file.c
 *		Implements regular_file.h: opens and reads files in places where other
 *		users may write, and lists directories.
 */
#include "base/fe_compat.h"

#include "stream/regular_file.h"

int
regular_file_open(int dir, const char *name, const char **problem)
{
	struct stat st;
	int			fd = openat(dir, name,
							O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
	{
		int			reason = errno;

		*problem = reason == ENOENT ?
			psprintf("file \"%s\" does not exist", printable(name)) :
			reason == ELOOP ?
			psprintf("file \"%s\" is a symbolic link", printable(name)) :
			psprintf("could not open file \"%s\": %s", printable(name),
					 strerror(reason));
		errno = reason;
		return -1;
	}

	/*
	 * Check the type of the open file.  If the path were checked before,
	 * another user could replace the file in between.
	 */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	*problem = psprintf("\"%s\" is not a regular file", printable(name));
	/* for callers, only ENOENT means that the file does not exist */
	errno = EINVAL;
	return -1;
}

int
regular_file_open_own(const char *path, const char **problem)
{
	struct stat st;
	int			fd = regular_file_open(AT_FDCWD, path, problem);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		(st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return fd;
	*problem = st.st_uid != geteuid() ?
		psprintf("file \"%s\" is owned by another user", printable(path)) :
		psprintf("file \"%s\" is writable by its group or others",
				 printable(path));
	close(fd);
	errno = EPERM;
	return -1;
}

char *
regular_file_read_text(int fd, size_t *len)
{
	size_t		space = 64 * 1024;
	char	   *text = pg_malloc(space);
	ssize_t		got;

	*len = 0;
	while ((got = read(fd, text + *len, space - *len - 1)) != 0)
	{
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
		{
			int			reason = errno;

			free(text);
			errno = reason;
			return NULL;
		}
		/* a hole in a sparse file is read as zeros, and may be huge */
		if (memchr(text + *len, '\0', got))
			break;
		*len += got;
		if (*len == space - 1)
		{
			space *= 2;
			text = pg_realloc(text, space);
		}
	}
	text[*len] = '\0';
	return text;
}

char *
directory_make_private(void)
{
	const char *parent = getenv("TMPDIR");
	char	   *path = psprintf("%s/pg_pardump.XXXXXX",
								parent && *parent ? parent : "/tmp");

	if (mkdtemp(path) == NULL)
		pg_fatal("could not create directory \"%s\": %m", path);
	return path;
}

DIR *
directory_list(int fd)
{
	/* open it again, because duplicates of a descriptor share its position */
	int			again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR		   *listing = again < 0 ? NULL : fdopendir(again);

	if (listing == NULL && again >= 0)
		close(again);
	return listing;
}

const char *
directory_next(DIR *listing)
{
	struct dirent *entry;

	while (errno = 0, (entry = readdir(listing)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	return NULL;
}
