/*
 * traffic.c
 *		The budget of --max-rate.
 */
#include "base/fe_compat.h"

#include <time.h>

#include "base/clock.h"
#include "base/shared_memory.h"
#include "session/traffic.h"

/* Bytes that a worker takes from the budget at once, to keep that cheap. */
#define SHARE_BYTES 16384

/* Calls of libpq have no argument for it: this is the process's. */
typedef struct TrafficState
{
	uint64		max_rate;		/* 0 = no limit */
	volatile uint64 *free_at;	/* ns, when the budget is no longer overdrawn;
								 * in shared memory */
	size_t		untaken;		/* bytes that came and were not accounted */
} TrafficState;

static TrafficState state;

void
traffic_set_max_rate(uint64 max_rate)
{
	state.max_rate = max_rate;
	/* concurrent runs have one budget, which their parent has made */
	if (max_rate != 0 && state.free_at == NULL)
		state.free_at = shared_memory_new(1, sizeof(uint64));
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
	/* in floating point, as the product has more than 64 bits */
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

		/* a signal may end it early: the loop looks how much is left */
		(void) nanosleep(&nap, NULL);
	}
}
