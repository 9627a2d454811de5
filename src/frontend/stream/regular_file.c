/*
 * regular_file.c
 *		Opens a file that others may have put where it is.
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
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	errno = EINVAL;
	*problem = "is not a regular file";
	return -1;
}
