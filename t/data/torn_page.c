/*
 * torn_page.c
 *		Preloaded into a server, has a page torn where a piece of a file is read:
 *		one read of several pages gets other bytes in that one, as if it were being
 *		written, and one of it alone what is in the file.
 *
 * The file $TORN_PAGE says which: how the file's path ends, the page's offset, and
 * "always" if one of it alone is to be torn as well, each behind a space.  Each
 * read of the page is told in $TORN_PAGE.log, as "torn" or "whole".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 8192
#define TORN_AT 5000

typedef ssize_t (*Pread) (int, void *, size_t, off_t);

/* Is this the file? */
static int
is_of(int fd, const char *end)
{
	char		link[64];
	char		path[4096];
	ssize_t		len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path));
	return len >= (ssize_t) strlen(end) &&
		memcmp(path + len - strlen(end), end, strlen(end)) == 0;
}

static void
tell(const char *what)
{
	char		path[4096];
	FILE	   *log;

	snprintf(path, sizeof(path), "%s.log", getenv("TORN_PAGE"));
	log = fopen(path, "a");
	if (log == NULL)
		abort();
	fprintf(log, "%s\n", what);
	fclose(log);
}

static ssize_t
read_torn(Pread real, int fd, char *buf, size_t len, off_t offset)
{
	ssize_t		got = real(fd, buf, len, offset);
	FILE	   *file = getenv("TORN_PAGE") ? fopen(getenv("TORN_PAGE"), "r") : NULL;
	char		end[1024];
	char		mode[16] = "";
	long		page;
	int			n;

	if (file == NULL)
		return got;
	n = fscanf(file, "%1023s %ld %15s", end, &page, mode);
	fclose(file);
	if (n < 2 || got < PAGE_BYTES || page < offset ||
		page + PAGE_BYTES > offset + got || !is_of(fd, end))
		return got;
	if (got == PAGE_BYTES && strcmp(mode, "always") != 0)
		tell("whole");
	else
	{
		tell("torn");
		memset(buf + (page - offset) + TORN_AT, 'T', 100);
	}
	return got;
}

ssize_t
pread(int fd, void *buf, size_t len, off_t offset)
{
	return read_torn((Pread) dlsym(RTLD_NEXT, "pread"), fd, buf, len, offset);
}

ssize_t
pread64(int fd, void *buf, size_t len, off_t offset)
{
	return read_torn((Pread) dlsym(RTLD_NEXT, "pread64"), fd, buf, len, offset);
}
