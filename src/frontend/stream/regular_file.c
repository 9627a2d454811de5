/*
 * regular_file.c
 *		Opens and reads a file that others may have put where it is.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

		*problem = reason == ENOENT ? "is missing" :
			psprintf("could not be opened: %s", strerror(reason));
		errno = reason;
		return -1;
	}

	/*
	 * The file is looked at when it is open.  To look at the path before
	 * would leave a moment in which another user could replace it.
	 */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	/* callers take ENOENT alone for a file that is not there */
	errno = EINVAL;
	*problem = "is not a regular file";
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
		/* a hole in a sparse file reads as zeros, however large it is */
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

bool
write_at(int fd, const void *data, size_t len, uint64 offset)
{
	const char *pos = data;

	while (len > 0)
	{
		ssize_t		written = pwrite(fd, pos, len, (off_t) offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
		{
			/* a short write that sets no errno is a full disk */
			if (written == 0)
				errno = ENOSPC;
			return false;
		}
		pos += written;
		len -= written;
		offset += written;
	}
	return true;
}
