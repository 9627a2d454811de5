/*
 * clock.c
 *		Implements clock.h: the two clocks, the elapsed time of the run, and
 *		the delays between retries.
 */
#include "base/fe_compat.h"

#include <sys/time.h>
#include <time.h>

#include "base/clock.h"

int64
clock_wall_us(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return (int64) now.tv_sec * 1000000 + now.tv_usec;
}

int64
clock_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64) now.tv_sec * 1000000000 + now.tv_nsec;
}

int64
clock_monotonic_ms(void)
{
	return clock_monotonic_ns() / 1000000;
}

/* ----------
 * The elapsed time of the run.
 * ----------
 */

/* When the run started, by both clocks. */
static int64 started_ns;
static int64 started_us;

void
run_clock_start(void)
{
	started_ns = clock_monotonic_ns();
	started_us = clock_wall_us();
}

int64
run_clock_start_us(void)
{
	return started_us;
}

double
run_clock_seconds(void)
{
	return (clock_monotonic_ns() - started_ns) / 1e9;
}

/*
 * The delay doubles each time.  So a worker finds a server that restarts, or
 * a standby that is promoted, after a second or two.  If a server is down for
 * an hour, hundreds of workers do not try to connect all the time.
 */
#define FIRST_DELAY_MS 500
#define MAX_DELAY_MS (60 * 1000)

int
retry_later(Retry *retry)
{
	int			delay_ms = FIRST_DELAY_MS;

	for (int i = 0; i < retry->n && delay_ms < MAX_DELAY_MS; i++)
		delay_ms = Min(delay_ms * 2, MAX_DELAY_MS);
	retry->n++;
	retry->at = clock_monotonic_ms() + delay_ms;
	return delay_ms;
}

bool
retry_is_due(const Retry *retry)
{
	return retry->at != 0 && clock_monotonic_ms() >= retry->at;
}
