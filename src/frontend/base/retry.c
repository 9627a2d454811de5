/*
 * retry.c
 *		When to try again: later each time.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/retry.h"

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
