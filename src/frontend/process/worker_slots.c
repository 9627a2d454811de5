/*
 * worker_slots.c
 *		Limits the number of workers of several concurrent runs together.
 *
 * A slot is a byte of a file in memory, and its owner holds a lock on that
 * byte.  The kernel releases the lock of a process that is killed, so a slot
 * cannot be lost, as it could if processes used a counter.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>

#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "process/worker_slots.h"

/* How often to check for a slot for a build. */
#define BUILD_LOOK_US 20000

/* State that all processes read and write. */
typedef struct SlotsShared
{
	volatile bool all_begun;
	volatile bool wants[FLEXIBLE_ARRAY_MEMBER]; /* by run */
} SlotsShared;

/* The state of the process, because pools have no argument for it. */
static struct
{
	int			file;			/* its bytes, which are never written, are the
								 * slots */
	int			n_slots;		/* slots of workers, the first bytes; 0 = no
								 * limit */
	int			n_builds;
	int			n_runs;
	SlotsShared *shared;
	int			run;			/* the run whose leader this is; -1 = none */
	int			first;			/* the slot with which it began, until a
								 * worker has it; -1 */
	int		   *builds;			/* slots for builds that it has taken */
	int			n_own_builds;
}			slots = {.file = -1,.run = -1,.first = -1};

void
worker_slots_make(int n_slots, int n_builds, int n_runs)
{
	slots.file = memfd_create("pg_pardump slots", MFD_CLOEXEC);
	if (slots.file < 0)
		pg_fatal("could not create in-memory file: %m");
	slots.n_slots = n_slots;
	slots.n_builds = n_builds;
	slots.n_runs = n_runs;
	slots.shared = shared_memory_new(1, offsetof(SlotsShared, wants) +
									 n_runs * sizeof(bool));
}

void
worker_slots_end(void)
{
	close(slots.file);
	slots.file = -1;
	slots.n_slots = 0;
}

/* Lock the first free slot of these; -1 if there is none. */
static int
lock_slot(int first, int n)
{
	char	   *path = psprintf("/proc/self/fd/%d", slots.file);
	int			fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		pg_fatal("could not open file \"%s\": %m", path);
	free(path);

	/*
	 * The lock belongs to the open file description.  That is why the file
	 * was opened again by its name in /proc: a descriptor that dup() makes
	 * would share all locks.
	 */
	for (int i = first; i < first + n; i++)
	{
		struct flock lock = {
			.l_type = F_WRLCK,.l_whence = SEEK_SET,.l_start = i,.l_len = 1
		};

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
			return fd;
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			pg_fatal("could not lock in-memory file: %m");
	}
	close(fd);
	return -1;
}

/* Does a run before this number want a slot? */
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
	/* Active runs get free slots first, so that they end first. */
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
	/* Runs that began earlier get slots first, so that they end first. */
	if (fd < 0 && !any_wants(slots.run))
		fd = lock_slot(0, slots.n_slots);
	return fd;
}

int
worker_slots_take_build(void)
{
	return lock_slot(slots.n_slots, slots.n_builds);
}

/*
 * Wait for one slot, because without any the indexes would never be built.
 * Take others only if they are free, because other runs need them, too.
 */
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
