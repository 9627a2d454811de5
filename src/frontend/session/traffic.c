/*
 * traffic.c
 *		The budget of --max-rate, and the count of waits.
 */
#include "base/fe_compat.h"

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shared_memory.h"
#include "process/worker_process.h"
#include "session/traffic.h"

/* Bytes that a worker takes from the budget at once, to keep that cheap. */
#define SHARE_BYTES 16384

/* How long a moment is for traffic_wait_input(). */
#define MOMENT_MS 200

/* Calls of libpq have no argument for it: this is the process's. */
typedef struct TrafficState
{
	uint64		max_rate;		/* 0 = no limit */
	volatile uint64 *free_at;	/* ns, when the budget is no longer overdrawn;
								 * in shared memory */
	size_t		untaken;		/* bytes that came and were not accounted */
	WaitCount  *waits;
	void		(*watch) (PGconn *conn, bool came);
} TrafficState;

static WaitCount nobody_looks;
static TrafficState state = {.waits = &nobody_looks};

void
traffic_set_max_rate(uint64 max_rate)
{
	state.max_rate = max_rate;
	if (max_rate != 0)
		state.free_at = shared_memory_new(1, sizeof(uint64));
}

/* Safe in a handler, which may have interrupted anything. */
static void
handle_stall(int signo)
{
	worker_process_lost_in_handler("the server has sent nothing for --stall-timeout, though its session has nothing else to do");
}

void
traffic_begin_worker(WaitCount *waits)
{
	state.waits = waits;
	state.watch = NULL;
	*waits = 0;
	signal(SIGUSR1, handle_stall);
}

void
traffic_set_watch(void (*watch) (PGconn *conn, bool came))
{
	state.watch = watch;
}

void
traffic_wait_begins(void)
{
	*state.waits |= 1;
}

/* The next wait has another number. */
void
traffic_wait_ends(void)
{
	*state.waits = (*state.waits | 1) + 1;
}

bool
traffic_wait_input(PGconn *conn)
{
	struct pollfd fd = {.fd = PQsocket(conn),.events = POLLIN};
	bool		result;

	if (PQflush(conn) > 0)
		fd.events |= POLLOUT;
	traffic_wait_begins();
	result = poll(&fd, 1, MOMENT_MS) > 0;
	if (result)
		traffic_wait_ends();
	return result;
}

/*
 * Each worker books the time that its bytes take at the given rate after all
 * that is booked already, and sleeps until then: a queue without a lock.
 */
void
traffic_take(size_t bytes)
{
	uint64		cost;
	uint64		before;
	uint64		begin;
	uint64		now;

	state.untaken += bytes;
	if (state.max_rate == 0 || state.untaken < SHARE_BYTES)
		return;
	cost = (uint64) ((double) state.untaken * 1e9 / state.max_rate);
	state.untaken = 0;
	do
	{
		before = *state.free_at;
		begin = Max(before, (uint64) clock_monotonic_ns());
	} while (!__sync_bool_compare_and_swap(state.free_at, before, begin + cost));
	while ((now = clock_monotonic_ns()) < begin + cost)
	{
		uint64		left = begin + cost - now;
		struct timespec nap = {left / 1000000000, left % 1000000000};

		(void) nanosleep(&nap, NULL);
	}
}

/*
 * PQgetCopyData() itself would wait until the whole message is here, which
 * takes long for a large one on a slow network, where nothing is wrong.
 */
int
traffic_get_copy_data(PGconn *conn, char **message)
{
	int			len;

	while ((len = PQgetCopyData(conn, message, 1)) == 0)
	{
		bool		came = traffic_wait_input(conn);

		if (state.watch)
			state.watch(conn, came);
		if (!PQconsumeInput(conn))
			return -2;
	}
	traffic_wait_ends();
	if (len > 0)
		traffic_take(len);
	return len;
}
