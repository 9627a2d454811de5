/*
 * test_retry.c
 *		Later each time, but not later than a minute.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/retry.h"
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
	is_number(retry_longest_ms(0), 500, "the first wait");
	is_number(retry_longest_ms(499), 500, "during the first wait");
	is_number(retry_longest_ms(500), 1000, "the wait after it");
	is_number(retry_longest_ms(31499), 16000, "in the middle of another one");
	is_number(retry_longest_ms(31500), 32000, "and after that");
	is_number(retry_longest_ms(63500), 60000, "the longest");
	is_number(retry_longest_ms(INT64CONST(1) << 40), 60000, "after a very long time");
	is_number(retry_all_ms(0), 0, "no retries, no waits");
	is_number(retry_all_ms(5), 15500, "the waits of five");
	is_number(retry_all_ms(9), 183500, "of nine, of which two are the longest");
	ok(!retry_is_due(&retry), "one that was noted just now is not due");
	ok(retry_is_due(&old), "one whose time has come is");
	old.n = 1000;
	is_number(retry_later(&old), 60000, "after many");
}
