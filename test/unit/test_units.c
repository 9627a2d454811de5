/*
 * test_units.c
 *		Sizes and times as people read them, where one unit ends and the next
 *		begins.
 */
#include "base/fe_compat.h"

#include "base/units.h"
#include "unit_test.h"

void
test_units(void)
{
	static const struct
	{
		uint64		bytes;
		const char *text;
	}			sizes[] = {
		{0, "0 bytes"},
		{1023, "1023 bytes"},
		{1024, "1.00 kB"},
		{1024 * 10 - 6, "9.99 kB"},
		{1024 * 10 - 5, "10.0 kB"},
		{1024 * 100 - 1, "100 kB"},
		{1024 * 999, "999 kB"},
		{1024 * 1000, "0.98 MB"},
		{1536 * 1024, "1.50 MB"},
		{(uint64) 128 << 30, "128 GB"},
		{PG_UINT64_MAX, "16.0 EB"},
	};
	static const struct
	{
		double		seconds;
		const char *text;
	}			times[] = {
		{-1, "0:00"},
		{0.49, "0:00"},
		{59.5, "1:00"},
		{127, "2:07"},
		{3599.4, "59:59"},
		{3599.5, "1:00:00"},
		{93909, "26:05:09"},
		{1e300, "1000000:00:00"},
	};

	for (int i = 0; i < (int) lengthof(sizes); i++)
		is_text(units_size(sizes[i].bytes), sizes[i].text, sizes[i].text);
	for (int i = 0; i < (int) lengthof(times); i++)
		is_text(units_duration(times[i].seconds), times[i].text, times[i].text);
	is_text(units_rate(3 * 1024 * 1024, 2), "1.50 MB/s", "rate");
	is_text(units_rate(1024, 0), "0.98 MB/s", "rate of a run that took no time");
	is_text(units_rate(-1, 1), "0 bytes/s", "rate of bytes that are read again");
	is_text(units_elapsed(0), "0.0 s", "elapsed: nothing");
	is_text(units_elapsed(59.94), "59.9 s", "elapsed: less than a minute");
	is_text(units_elapsed(59.95), "1:00", "elapsed: a minute");
	is_text(units_elapsed(28931.4), "8:02:11", "elapsed: hours");
	is_text(units_count(0), "0", "count of 0");
	is_text(units_count(999), "999", "count without a comma");
	is_text(units_count(1241000), "1,241,000", "count with commas");
	is_text(units_count(PG_UINT64_MAX), "18,446,744,073,709,551,615",
			"the largest count");
	is_text(units_names("a, b", 2, 2), "a, b", "all names");
	is_text(units_names("a, b", 5, 2), "a, b and 3 more", "some names");
}
