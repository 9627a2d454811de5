/*
 * test_retry.c
 *		Later each time, but not later than a minute.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "unit_test.h"

void
test_retry(void)
{
	static const int delays[] = {500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
	Retry		retry = {0};
	Retry		old = {.n = 1,.at = clock_monotonic_ms() - 1};

	ok(!retry_is_due(&retry), "none is due while all goes well");
	for (int i = 0; i < (int) lengthof(delays); i++)
		is_number(retry_later(&retry), delays[i], psprintf("delay %d", i + 1));
	is_number(retry.n, lengthof(delays), "retries are counted");
	ok(!retry_is_due(&retry), "one that was noted just now is not due");
	ok(retry_is_due(&old), "one whose time has come is");
	old.n = 1000;
	is_number(retry_later(&old), 60000, "after many");
}
