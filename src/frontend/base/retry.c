/*
 * retry.c
 *		When to try again: later each time.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/retry.h"

#define FIRST_DELAY_MS 500
#define MAX_DELAY_MS (60 * 1000)

static int
delay_after(int delay_ms)
{
	return Min(delay_ms * 2, MAX_DELAY_MS);
}

int
retry_later(Retry *retry)
{
	int			delay_ms = FIRST_DELAY_MS;

	for (int i = 0; i < retry->n && delay_ms < MAX_DELAY_MS; i++)
		delay_ms = delay_after(delay_ms);
	retry->n++;
	retry->at = clock_monotonic_ms() + delay_ms;
	return delay_ms;
}

/* A retry takes time itself, and so delays come no sooner than this. */
int
retry_longest_ms(int64 retrying_ms)
{
	int			delay_ms = FIRST_DELAY_MS;
	int64		waited_ms = 0;

	while (delay_ms < MAX_DELAY_MS && waited_ms + delay_ms <= retrying_ms)
	{
		waited_ms += delay_ms;
		delay_ms = delay_after(delay_ms);
	}
	return delay_ms;
}

int64
retry_all_ms(int n)
{
	int			delay_ms = FIRST_DELAY_MS;
	int64		all_ms = 0;

	for (int i = 0; i < n; i++)
	{
		all_ms += delay_ms;
		delay_ms = delay_after(delay_ms);
	}
	return all_ms;
}

bool
retry_is_due(const Retry *retry)
{
	return retry->at != 0 && clock_monotonic_ms() >= retry->at;
}
