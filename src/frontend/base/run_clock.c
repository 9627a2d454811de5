/*
 * run_clock.c
 *		How long this program has been running.
 */
#include "base/fe_compat.h"

#include <time.h>

#include "archive/file_result.h"
#include "base/run_clock.h"

/* Of the process, which has one beginning. */
static struct timespec started;
static int64 started_us;

void
run_clock_start(void)
{
	clock_gettime(CLOCK_MONOTONIC, &started);
	started_us = now_us();
}

int64
run_clock_start_us(void)
{
	return started_us;
}

double
run_clock_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - started.tv_sec) +
		(now.tv_nsec - started.tv_nsec) / 1e9;
}
