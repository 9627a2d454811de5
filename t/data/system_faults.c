/*
 * system_faults.c
 *		A library that is preloaded into a program and makes a system call
 *		fail.
 *
 * $SYSTEM_FAULT contains the name of the call, a space, and the end of its
 * path ("fsync toc.dat.tmp").  For fork (or vfork), pipe and mmap of shared
 * memory, the number of the call follows instead ("fork 3").  Other faults:
 *
 * "statvfs END": the call reports a file system with one free block.
 *
 * "noproc END": there is no /proc/self/fd, so the program makes links with the
 * names of files; before it links a file with this end of its path, another
 * file takes the file's name.
 *
 * "vanish END": when this file is flushed, its directory is renamed: ".gone"
 * is appended.
 *
 * "outrun END": a read from this file returns only when there is more to
 * read.  The path of a pipe ends with "]".
 *
 * Before and after each call of mkdir, open, opendir and stat whose path ends
 * with $SYSTEM_MOMENT, the shell runs $SYSTEM_COMMAND, with for example
 * "before mkdir" in $moment.
 *
 * While the file $SYSTEM_CLOCK exists, the monotonic clock is two minutes
 * ahead.
 *
 * Each flush and each rename is appended to $SYSTEM_LOG.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define REAL(type, call) ((type) dlsym(RTLD_NEXT, call))

static int
ends_with(const char *path, const char *end)
{
	return strlen(path) >= strlen(end) &&
		strcmp(path + strlen(path) - strlen(end), end) == 0;
}

static int
fails(const char *call, const char *path)
{
	const char *fault = getenv("SYSTEM_FAULT");
	size_t		len = strlen(call);

	if (!fault || strncmp(fault, call, len) != 0 || fault[len] != ' ' ||
		!ends_with(path, fault + len + 1))
		return 0;
	errno = EIO;
	return 1;
}

static int
fails_count(const char *call, int count)
{
	char		number[16];

	snprintf(number, sizeof(number), " %d", count);
	return fails(call, number + 1);
}

static const char *
path_of(int fd)
{
	static char path[4096];
	char		link[64];
	ssize_t		len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	return path;
}

static void
log_call(const char *call, const char *path)
{
	FILE	   *log = getenv("SYSTEM_LOG") ? fopen(getenv("SYSTEM_LOG"), "a") : NULL;

	if (log == NULL)
		return;
	fprintf(log, "%s %s\n", call, path);
	fclose(log);
}

static void
vanish(const char *path)
{
	char		directory[4096];
	char		gone[4200];

	if (!fails("vanish", path))
		return;
	snprintf(directory, sizeof(directory), "%s", path);
	*strrchr(directory, '/') = '\0';
	snprintf(gone, sizeof(gone), "%s.gone", directory);
	if (rename(directory, gone) != 0)
		perror("rename");
}

int
fsync(int fd)
{
	vanish(path_of(fd));
	if (fails("fsync", path_of(fd)))
		return -1;
	log_call("fsync", path_of(fd));
	return REAL(int (*) (int), "fsync") (fd);
}

int
syncfs(int fd)
{
	if (fails("syncfs", path_of(fd)))
		return -1;
	return REAL(int (*) (int), "syncfs") (fd);
}

/* The file is closed even if the call is to fail, as by the kernel. */
int
close(int fd)
{
	int			failed = fails("close", path_of(fd));
	int			rc = REAL(int (*) (int), "close") (fd);

	if (failed)
		errno = EIO;
	return failed ? -1 : rc;
}

ssize_t
read(int fd, void *buf, size_t len)
{
	ssize_t		rc;

	if (fails("read", path_of(fd)))
		return -1;
	rc = REAL(ssize_t (*) (int, void *, size_t), "read") (fd, buf, len);
	if (rc > 0 && fails("outrun", path_of(fd)))
		poll(&(struct pollfd) {.fd = fd,.events = POLLIN}, 1, -1);
	return rc;
}

int
unlinkat(int dir, const char *path, int flags)
{
	if (fails("unlinkat", path))
		return -1;
	return REAL(int (*) (int, const char *, int), "unlinkat") (dir, path, flags);
}

/* Is this a path of a descriptor, which fails with "noproc"? */
static int
needs_proc(const char *path)
{
	const char *fault = getenv("SYSTEM_FAULT");

	if (!fault || strncmp(fault, "noproc ", 7) != 0 ||
		strncmp(path, "/proc/self/fd/", 14) != 0)
		return 0;
	errno = ENOENT;
	return 1;
}

int
access(const char *path, int mode)
{
	return needs_proc(path) ? -1 :
		REAL(int (*) (const char *, int), "access") (path, mode);
}

/* Rename the file, and create an empty one with its name. */
static void
take_name(int dir, const char *name)
{
	if (renameat(dir, name, dir, ".moved") < 0)
		abort();
	close(openat(dir, name, O_CREAT | O_EXCL | O_WRONLY, 0600));
}

/* Fails as if the file had the largest possible number of names. */
int
linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	if (fails("linkat", to))
	{
		errno = EMLINK;
		return -1;
	}
	if (needs_proc(from))
		return -1;
	if (fails("noproc", to))
		take_name(from_dir, from);
	return REAL(int (*) (int, const char *, int, const char *, int), "linkat")
		(from_dir, from, to_dir, to, flags);
}

int
rename(const char *from, const char *to)
{
	if (fails("rename", to))
		return -1;
	log_call("rename", to);
	return REAL(int (*) (const char *, const char *), "rename") (from, to);
}

/* The path is composed from the open directory and the name. */
int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	char		path[8192];

	snprintf(path, sizeof(path), "%s/%s", path_of(to_dir), to);
	if (fails("rename", path))
		return -1;
	log_call("rename", path);
	return REAL(int (*) (int, const char *, int, const char *), "renameat")
		(from_dir, from, to_dir, to);
}

pid_t
fork(void)
{
	static int	count;

	if (fails_count("fork", ++count))
		return -1;
	return REAL(pid_t (*) (void), "fork") ();
}

/*
 * The child of the real function would return from here, and thereby change
 * the stack of its parent.
 */
pid_t
vfork(void)
{
	return fork();
}

int
pipe(int fds[2])
{
	static int	count;

	if (fails_count("pipe", ++count))
		return -1;
	return REAL(int (*) (int *), "pipe") (fds);
}

void *
mmap(void *address, size_t len, int protection, int flags, int fd, off_t offset)
{
	static int	count;

	if ((flags & MAP_SHARED) && fd < 0 && fails_count("mmap", ++count))
		return MAP_FAILED;
	return REAL(void *(*) (void *, size_t, int, int, int, off_t), "mmap")
		(address, len, protection, flags, fd, offset);
}

/*
 * Run the command.  $SYSTEM_MOMENT is not set meanwhile, so that the command's
 * processes run no commands.
 */
static void
moment(const char *when, const char *call, const char *path)
{
	const char *end = getenv("SYSTEM_MOMENT");
	char	   *name;
	char		text[64];
	int			error = errno;

	if (end == NULL || !ends_with(path, end))
		return;
	name = strdup(end);
	unsetenv("SYSTEM_MOMENT");
	snprintf(text, sizeof(text), "%s %s", when, call);
	setenv("moment", text, 1);
	if (system(getenv("SYSTEM_COMMAND")) != 0)
		abort();
	setenv("SYSTEM_MOMENT", name, 1);
	free(name);
	errno = error;
}

int
mkdir(const char *path, mode_t mode)
{
	int			rc;

	moment("before", "mkdir", path);
	rc = REAL(int (*) (const char *, mode_t), "mkdir") (path, mode);
	moment("after", "mkdir", path);
	return rc;
}

int
stat(const char *path, struct stat *st)
{
	int			rc;

	moment("before", "stat", path);
	rc = REAL(int (*) (const char *, struct stat *), "stat") (path, st);
	moment("after", "stat", path);
	return rc;
}

static int
open_with(const char *path, int flags, mode_t mode)
{
	int			fd;

	moment("before", "open", path);
	fd = REAL(int (*) (const char *, int, ...), "open") (path, flags, mode);
	moment("after", "open", path);
	return fd;
}

int
open(const char *path, int flags, ...)
{
	mode_t		mode = 0;
	va_list		args;

	va_start(args, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(args, mode_t);
	va_end(args);
	return open_with(path, flags, mode);
}

/* With _FORTIFY_SOURCE, open() becomes a call of this function. */
int
__open_2(const char *path, int flags)
{
	return open_with(path, flags, 0);
}

DIR *
opendir(const char *path)
{
	DIR		   *directory;

	moment("before", "opendir", path);
	directory = REAL(DIR *(*) (const char *), "opendir") (path);
	moment("after", "opendir", path);
	return directory;
}

int
statvfs(const char *path, struct statvfs *st)
{
	int			rc = REAL(int (*) (const char *, struct statvfs *), "statvfs") (path, st);

	if (fails("statvfs", path))
		st->f_bavail = 1;
	return rc;
}

int
statvfs64(const char *path, struct statvfs64 *st)
{
	int			rc = REAL(int (*) (const char *, struct statvfs64 *), "statvfs64") (path, st);

	if (fails("statvfs", path))
		st->f_bavail = 1;
	return rc;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	const char *ahead = getenv("SYSTEM_CLOCK");
	int			rc = REAL(int (*) (clockid_t, struct timespec *), "clock_gettime") (clock, now);

	if (clock == CLOCK_MONOTONIC && ahead &&
		REAL(int (*) (const char *, int), "access") (ahead, F_OK) == 0)
		now->tv_sec += 120;
	return rc;
}
