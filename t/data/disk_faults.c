/*
 * disk_faults.c
 *		Preloaded into a program: what it flushes and renames is appended to
 *		$DISK_LOG, and what $DISK_FAULT names ("fsync toc.dat.tmp": the call, and
 *		how the path ends) fails with EIO, as on a disk that is dying.  Calls: fsync,
 *		syncfs, close, rename, read, unlinkat.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is it to fail?  Notes it if not. */
static int
fails(const char *call, const char *path)
{
	const char *fault = getenv("DISK_FAULT");
	size_t		len = strlen(call);
	const char *end;

	if (fault && strncmp(fault, call, len) == 0 && fault[len] == ' ')
	{
		end = fault + len + 1;
		if (strlen(path) >= strlen(end) &&
			strcmp(path + strlen(path) - strlen(end), end) == 0)
		{
			errno = EIO;
			return 1;
		}
	}
	if (getenv("DISK_LOG") && (call[0] == 'f' || strcmp(call, "rename") == 0))
	{
		FILE	   *log = fopen(getenv("DISK_LOG"), "a");

		fprintf(log, "%s %s\n", call, path);
		fclose(log);
	}
	return 0;
}

static int
fails_fd(const char *call, int fd)
{
	char		link[64];
	char		path[4096] = {0};

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, path, sizeof(path) - 1) > 0 && fails(call, path);
}

static int
call_fd(const char *call, int fd)
{
	int			fail = fails_fd(call, fd);

	/* a file that cannot be closed is closed nevertheless */
	if (fail && strcmp(call, "close") != 0)
		return -1;
	if (((int (*) (int)) dlsym(RTLD_NEXT, call)) (fd) < 0)
		return -1;
	if (fail)
		errno = EIO;
	return fail ? -1 : 0;
}

int
fsync(int fd)
{
	return call_fd("fsync", fd);
}

int
syncfs(int fd)
{
	return call_fd("syncfs", fd);
}

int
close(int fd)
{
	return call_fd("close", fd);
}

ssize_t
read(int fd, void *buf, size_t len)
{
	if (fails_fd("read", fd))
		return -1;
	return ((ssize_t (*) (int, void *, size_t)) dlsym(RTLD_NEXT, "read")) (fd, buf, len);
}

int
unlinkat(int dir, const char *path, int flags)
{
	if (fails("unlinkat", path))
		return -1;
	return ((int (*) (int, const char *, int)) dlsym(RTLD_NEXT, "unlinkat")) (dir, path, flags);
}

int
rename(const char *from, const char *to)
{
	if (fails("rename", to))
		return -1;
	return ((int (*) (const char *, const char *)) dlsym(RTLD_NEXT, "rename")) (from, to);
}
