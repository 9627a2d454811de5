/*
 * run_clock.c
 *		How long this program has been running.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/run_clock.h"

/* Of the process, which has one beginning. */
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
