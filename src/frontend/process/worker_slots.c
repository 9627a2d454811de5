/*
 * worker_slots.c
 *		One budget of workers for several runs at a time.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "process/worker_slots.h"

/* How often to look for a slot of a build. */
#define BUILD_LOOK_US 20000

/* What all the processes see, and set. */
typedef struct SlotsShared
{
	volatile bool all_begun;
	volatile bool wants[FLEXIBLE_ARRAY_MEMBER]; /* by run */
} SlotsShared;

/* Pools have no argument for it: this is the process's. */
static struct
{
	char	   *directory;		/* NULL: there is no limit */
	int			n_slots;		/* of workers, whose files are the first */
	int			n_builds;
	int			n_runs;
	SlotsShared *shared;
	int			run;			/* whose leader this is; -1 = none */
	int			first;			/* the slot that it began with, until a worker
								 * has it; -1 */
	int		   *builds;			/* slots of builds that it has taken */
	int			n_own_builds;
}			slots = {.run = -1,.first = -1};

static char *
slot_path(int slot)
{
	return psprintf("%s/%d", slots.directory, slot);
}

/* An exit callback. */
static void
remove_files(void *arg)
{
	for (int i = 0; i < slots.n_slots + slots.n_builds; i++)
	{
		char	   *path = slot_path(i);

		(void) unlink(path);
		free(path);
	}
	if (rmdir(slots.directory) < 0)
		pg_log_warning("could not remove directory \"%s\": %m", slots.directory);
}

void
worker_slots_make(int n_slots, int n_builds, int n_runs)
{
	const char *parent = getenv("TMPDIR");

	slots.directory = psprintf("%s/pg_pardump.XXXXXX",
							   parent && *parent ? parent : "/tmp");
	if (mkdtemp(slots.directory) == NULL)
		pg_fatal("could not create directory \"%s\": %m", slots.directory);
	slots.n_slots = n_slots;
	slots.n_builds = n_builds;
	slots.n_runs = n_runs;
	slots.shared = shared_memory_new(1, offsetof(SlotsShared, wants) +
									 n_runs * sizeof(bool));
	cleanup_push(remove_files, &slots);
	for (int i = 0; i < n_slots + n_builds; i++)
	{
		char	   *path = slot_path(i);
		int			fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

		if (fd < 0)
			pg_fatal("could not create file \"%s\": %m", path);
		close(fd);
		free(path);
	}
}

void
worker_slots_end(void)
{
	cleanup_pop(remove_files, &slots);
	remove_files(&slots);
}

/* The first of these that nobody has; or -1. */
static int
lock_slot(int first, int n)
{
	for (int i = first; i < first + n; i++)
	{
		char	   *path = slot_path(i);
		int			fd = open(path, O_RDWR | O_CLOEXEC);

		if (fd < 0)
			pg_fatal("could not open file \"%s\": %m", path);
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		{
			free(path);
			return fd;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			pg_fatal("could not lock file \"%s\": %m", path);
		free(path);
		close(fd);
	}
	return -1;
}

/* Does one of the runs before this number want a slot? */
static bool
any_wants(int end)
{
	for (int i = 0; i < end; i++)
		if (i != slots.run && slots.shared->wants[i])
			return true;
	return false;
}

int
worker_slots_begin_run(int run, bool will_want)
{
	int			fd = any_wants(slots.n_runs) ? -1 : lock_slot(0, slots.n_slots);

	if (fd >= 0)
		slots.shared->wants[run] = will_want;
	return fd;
}

void
worker_slots_all_begun(void)
{
	slots.shared->all_begun = true;
}

void
worker_slots_end_run(int run)
{
	slots.shared->wants[run] = false;
}

void
worker_slots_enter(int run, int fd)
{
	slots.run = run;
	slots.first = fd;
}

bool
worker_slots_are_used(void)
{
	return slots.run >= 0;
}

int
worker_slots_take(void)
{
	int			fd = slots.first;

	slots.first = -1;
	if (fd < 0 && !any_wants(slots.run))
		fd = lock_slot(0, slots.n_slots);
	return fd;
}

int
worker_slots_take_build(void)
{
	return lock_slot(slots.n_slots, slots.n_builds);
}

int
worker_slots_begin_builds(int n)
{
	if (!worker_slots_are_used())
		return n;
	slots.builds = pg_malloc(n * sizeof(int));
	for (;;)
	{
		int			fd = worker_slots_take_build();

		if (fd >= 0)
			slots.builds[slots.n_own_builds++] = fd;
		if (slots.n_own_builds == n || (fd < 0 && slots.n_own_builds > 0))
			return slots.n_own_builds;
		interrupt_check();
		if (fd < 0)
			pg_usleep(BUILD_LOOK_US);
	}
}

void
worker_slots_end_builds(void)
{
	while (slots.n_own_builds > 0)
		close(slots.builds[--slots.n_own_builds]);
	free(slots.builds);
	slots.builds = NULL;
}

void
worker_slots_forget(void)
{
	if (slots.first >= 0)
		close(slots.first);
	slots.first = -1;
}

void
worker_slots_want(bool wanted)
{
	slots.shared->wants[slots.run] = wanted;
}

bool
worker_slots_are_wanted(void)
{
	return !slots.shared->all_begun || any_wants(slots.n_runs);
}
