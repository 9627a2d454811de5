/*
 * delay.c
 *		Preloaded into a program, delays some of its calls that connect, read,
 *		write or wait, as a slow network and a busy machine do.
 *
 * Only calls on sockets and pipes are delayed; a signal ends a delay.  The
 * call itself is made in any case, and errno is left as it was.  All that is
 * done in a call is safe in a signal handler.
 *
 * The delays of a process depend on DELAY_SEED, on the program's name and on
 * the forks that led to the process, not on process IDs: DELAY_PROCESS passes
 * those forks on to the programs that a process executes.
 *
 * DELAY_SEED			the seed, 0 if not set
 * DELAY_ONE_IN			delay one call in this number of calls, 20 if not set
 * DELAY_MAX_MS			the longest delay, 50 if not set
 * DELAY_PROGRAMS		names of the programs to delay, separated by blanks
 * DELAY_COUNTS		a file to count delays in: for each of these programs,
 *						one uint64 for each of the calls below
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROCESS "DELAY_PROCESS"
#define PROCESS_DIGITS 16

/* The order is that of DELAY_COUNTS. */
enum
{
	CONNECT, READ, RECV, WRITE, SEND, POLL, PPOLL, SELECT, EPOLL_WAIT, N_CALLS
};

static const char *const names[N_CALLS] = {
	"connect", "read", "recv", "write", "send", "poll", "ppoll", "select",
	"epoll_wait"
};
static void *next[N_CALLS];

#define NEXT(call, number) ((__typeof__(&call)) next_call(number))

static uint64_t one_in;			/* 0: nothing is delayed in this program */
static uint64_t max_ns;
static uint64_t key;			/* of this process */
static uint64_t calls;			/* calls made by this process */
static uint64_t forks;
static uint64_t *counts;

/* What precedes our constructor is single-threaded, and no signal handler. */
static void *
next_call(int number)
{
	if (next[number] == NULL)
		next[number] = dlsym(RTLD_NEXT, names[number]);
	return next[number];
}

/* splitmix64: each bit of the result depends on each bit of x. */
static uint64_t
mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static uint64_t
number_of(const char *variable, uint64_t otherwise)
{
	const char *value = getenv(variable);

	return value && *value ? strtoull(value, NULL, 10) : otherwise;
}

/* The place of this program in the list of names, or -1. */
static int
program_place(const char *list)
{
	const char *name = program_invocation_short_name;
	size_t		len = strlen(name);
	int			place = 0;

	while (*list)
	{
		size_t		word = strcspn(list, " ");

		if (word == len && memcmp(list, name, len) == 0)
			return place;
		list += word;
		list += strspn(list, " ");
		place++;
	}
	return -1;
}

/* Before fork(): the count tells children of one parent apart. */
static void
count_fork(void)
{
	forks++;
}

/*
 * In a child: delays of its own.  The variable is changed in place, which
 * allocates nothing.
 */
static void
begin_child(void)
{
	char	   *process = getenv(PROCESS);

	key = mix(key ^ forks);
	calls = 0;
	forks = 0;
	if (process == NULL || strlen(process) != PROCESS_DIGITS)
		return;
	for (int i = 0; i < PROCESS_DIGITS; i++)
		process[i] = "0123456789abcdef"[(key >> (4 * i)) & 15];
}

static void
open_counts(const char *path, int place)
{
	size_t		row = N_CALLS * sizeof(uint64_t);
	int			fd = open(path, O_RDWR | O_CLOEXEC);
	void	   *all;

	if (fd < 0)
		return;					/* run.sh finds no count, which it reports */
	all = mmap(NULL, (place + 1) * row, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (all != MAP_FAILED)
		counts = (uint64_t *) ((char *) all + place * row);
}

static void __attribute__((constructor))
begin(void)
{
	const char *programs = getenv("DELAY_PROGRAMS");
	const char *process = getenv(PROCESS);
	int			place = programs ? program_place(programs) : -1;

	for (int i = 0; i < N_CALLS; i++)
		(void) next_call(i);
	key = mix(number_of("DELAY_SEED", 0));
	for (const char *c = program_invocation_short_name; *c; c++)
		key = mix(key ^ (unsigned char) *c);
	for (const char *c = process; c && *c; c++)
		key = mix(key ^ (unsigned char) *c);
	if (process == NULL)
		setenv(PROCESS, "0000000000000000", 1);
	pthread_atfork(count_fork, NULL, begin_child);
	if (place < 0)
		return;
	if (getenv("DELAY_COUNTS"))
		open_counts(getenv("DELAY_COUNTS"), place);
	max_ns = number_of("DELAY_MAX_MS", 50) * 1000000;
	one_in = number_of("DELAY_ONE_IN", 20);
}

/* Is it a socket or a pipe? */
static int
is_stream(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 &&
		(S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode));
}

/* Delay this call, or not; fd is -1 for those that wait for several. */
static void
delay(int number, int fd)
{
	int			saved_errno = errno;
	uint64_t	random;
	struct timespec time;

	if (one_in == 0)
		return;
	random = mix(key ^ mix(__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED)));
	if ((random >> 32) % one_in == 0 && (fd < 0 || is_stream(fd)))
	{
		uint64_t	ns = mix(random) % (max_ns + 1);

		if (counts)
			__atomic_fetch_add(&counts[number], 1, __ATOMIC_RELAXED);
		time.tv_sec = ns / 1000000000;
		time.tv_nsec = ns % 1000000000;
		(void) nanosleep(&time, NULL);
	}
	errno = saved_errno;
}

int
connect(int fd, const struct sockaddr *address, socklen_t len)
{
	delay(CONNECT, fd);
	return NEXT(connect, CONNECT) (fd, address, len);
}

ssize_t
read(int fd, void *buf, size_t len)
{
	delay(READ, fd);
	return NEXT(read, READ) (fd, buf, len);
}

ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	delay(RECV, fd);
	return NEXT(recv, RECV) (fd, buf, len, flags);
}

ssize_t
write(int fd, const void *buf, size_t len)
{
	delay(WRITE, fd);
	return NEXT(write, WRITE) (fd, buf, len);
}

ssize_t
send(int fd, const void *buf, size_t len, int flags)
{
	delay(SEND, fd);
	return NEXT(send, SEND) (fd, buf, len, flags);
}

int
poll(struct pollfd *fds, nfds_t n, int timeout)
{
	delay(POLL, -1);
	return NEXT(poll, POLL) (fds, n, timeout);
}

int
ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	delay(PPOLL, -1);
	return NEXT(ppoll, PPOLL) (fds, n, timeout, mask);
}

int
select(int n, fd_set *reads, fd_set *writes, fd_set *errors, struct timeval *timeout)
{
	delay(SELECT, -1);
	return NEXT(select, SELECT) (n, reads, writes, errors, timeout);
}

int
epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	delay(EPOLL_WAIT, -1);
	return NEXT(epoll_wait, EPOLL_WAIT) (fd, events, n, timeout);
}

/* What glibc's headers make of some of these calls where sizes are known. */
ssize_t		__read_chk(int fd, void *buf, size_t len, size_t size);
ssize_t		__recv_chk(int fd, void *buf, size_t len, size_t size, int flags);
int			__poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);

ssize_t
__read_chk(int fd, void *buf, size_t len, size_t size)
{
	if (len > size)
		abort();
	return read(fd, buf, len);
}

ssize_t
__recv_chk(int fd, void *buf, size_t len, size_t size, int flags)
{
	if (len > size)
		abort();
	return recv(fd, buf, len, flags);
}

int
__poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	if (n > size / sizeof(*fds))
		abort();
	return poll(fds, n, timeout);
}
