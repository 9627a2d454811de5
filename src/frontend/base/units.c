/*
 * units.c
 *		Implements units.h: formats sizes, durations and counts for users.
 */
#include "base/fe_compat.h"

#include "base/units.h"

/*
 * The longest duration that is printed.  An estimate beyond this means that
 * nothing moves.
 */
#define LONGEST_SECONDS 3.6e9

/*
 * Returns one of several static buffers in turn, so that a message can
 * contain several of these texts.
 */
static char *
next_text(void)
{
	static char texts[8][UNITS_BYTES];
	static int	next;

	return texts[next++ % lengthof(texts)];
}

const char *
units_size(uint64 bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
	char	   *buf = next_text();
	double		value = bytes / 1024.0;
	int			unit = 0;

	if (bytes < 1024)
	{
		snprintf(buf, UNITS_BYTES, "%d bytes", (int) bytes);
		return buf;
	}

	/*
	 * Values from 1000 to 1023 are printed as "0.98" of the next unit, to
	 * have three digits.
	 */
	for (; value >= 999.5; value /= 1024)
		unit++;
	snprintf(buf, UNITS_BYTES, "%.*f %s",
			 value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
	return buf;
}

const char *
units_rate(double bytes, double seconds)
{
	char	   *buf = next_text();

	snprintf(buf, UNITS_BYTES, "%s/s",
			 units_size((uint64) (Max(bytes, 0) / Max(seconds, 0.001))));
	return buf;
}

const char *
units_duration(double seconds)
{
	char	   *buf = next_text();
	uint64		s = (uint64) (Min(Max(seconds, 0), LONGEST_SECONDS) + 0.5);

	if (s >= 3600)
		snprintf(buf, UNITS_BYTES, "%d:%02d:%02d", (int) (s / 3600),
				 (int) (s / 60 % 60), (int) (s % 60));
	else
		snprintf(buf, UNITS_BYTES, "%d:%02d", (int) (s / 60), (int) (s % 60));
	return buf;
}

const char *
units_elapsed(double seconds)
{
	char	   *buf;

	/* It must not be printed as "60.0 s". */
	if (seconds >= 59.95)
		return units_duration(seconds);
	buf = next_text();
	snprintf(buf, UNITS_BYTES, "%.1f s", Max(seconds, 0));
	return buf;
}

const char *
units_count(uint64 number)
{
	char	   *buf = next_text();
	char		digits[UNITS_BYTES];
	int			len = snprintf(digits, sizeof(digits), UINT64_FORMAT, number);
	int			n = 0;

	for (int i = 0; i < len; i++)
	{
		if (i > 0 && (len - i) % 3 == 0)
			buf[n++] = ',';
		buf[n++] = digits[i];
	}
	buf[n] = '\0';
	return buf;
}

char *
units_names(const char *names, int n, int n_shown)
{
	return n <= n_shown ? pg_strdup(names) :
		psprintf("%s and %d more", names, n - n_shown);
}

void
units_list_add(PQExpBuffer list, const char *item)
{
	appendPQExpBuffer(list, "%s%s", list->len > 0 ? ", " : "", item);
}

void
units_names_add(PQExpBuffer names, const char *name)
{
	units_list_add(names, printable(name));
}
