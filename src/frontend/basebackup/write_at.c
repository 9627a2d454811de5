/*
 * write_at.c
 *		Writes bytes at a place of a file that others write to as well.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "basebackup/write_at.h"

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
