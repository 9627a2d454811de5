/*
 * report_text.c
 *		Text, numbers and times on a page of HTML.
 */
#include "base/fe_compat.h"

#include <time.h>

#include "mb/pg_wchar.h"

#include "base/printable.h"
#include "report/report_text.h"

void
report_append_text(PQExpBuffer page, const char *text)
{
	const char *pos = printable(text);
	size_t		left = strlen(pos);

	while (left > 0)
	{
		unsigned char c = (unsigned char) *pos;
		int			len = pg_encoding_verifymbchar(PG_UTF8, pos,
												   (int) Min(left, MAX_MULTIBYTE_CHAR_LEN));

		if (len <= 0 || strchr("&<>\"'", c))
		{
			/*
			 * as numbers; 0x80 to 0x9F, taken for Windows-1252, are harmless
			 */
			appendPQExpBuffer(page, "&#%d;", c);
			len = 1;
		}
		else
			appendBinaryPQExpBuffer(page, pos, len);
		pos += len;
		left -= len;
	}
}

void
report_append_name(PQExpBuffer page, const char *name)
{
	appendPQExpBufferStr(page, "<bdi>");
	report_append_text(page, name);
	appendPQExpBufferStr(page, "</bdi>");
}

const char *
report_number(uint64 number, char buf[REPORT_TEXT_BYTES])
{
	char		digits[REPORT_TEXT_BYTES];
	int			len = snprintf(digits, sizeof(digits), UINT64_FORMAT, number);
	char	   *out = buf;

	for (int i = 0; i < len; i++)
	{
		if (i > 0 && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}

const char *
report_short_number(uint64 number, char buf[REPORT_TEXT_BYTES])
{
	double		value = number / 1e6;
	bool		billions = value >= 999.5;

	if (number < 10000000)
		return report_number(number, buf);
	if (billions)
		value /= 1000;
	snprintf(buf, REPORT_TEXT_BYTES, "%.*f %s",
			 value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value,
			 billions ? "billion" : "million");
	return buf;
}

const char *
report_count(uint64 number, const char *noun, char buf[REPORT_TEXT_BYTES])
{
	char		digits[REPORT_TEXT_BYTES];

	snprintf(buf, REPORT_TEXT_BYTES, "%s %s%s", report_number(number, digits),
			 noun, units_plural(number));
	return buf;
}

const char *
report_seconds(double seconds, char buf[REPORT_TEXT_BYTES])
{
	/* of times that a manifest only claims */
	double		s = Min(Max(seconds, 0), 1e9);
	int			whole = (int) (s + 0.5);

	if (s < 9.995)
		snprintf(buf, REPORT_TEXT_BYTES, "%.2f s", s);
	else if (s < 59.95)
		snprintf(buf, REPORT_TEXT_BYTES, "%.1f s", s);
	else if (whole < 3600)
		snprintf(buf, REPORT_TEXT_BYTES, "%d min %02d s", whole / 60, whole % 60);
	else
		snprintf(buf, REPORT_TEXT_BYTES, "%d h %02d min", whole / 3600,
				 whole % 3600 / 60);
	return buf;
}

const char *
report_rate(double bytes, double seconds, char buf[REPORT_TEXT_BYTES])
{
	double		rate = Min(bytes / Max(seconds, 1e-6), 1e18);
	char		size[UNITS_BYTES];

	snprintf(buf, REPORT_TEXT_BYTES, "%s/s", units_size((uint64) rate, size));
	return buf;
}

const char *
report_percent(double part, double whole, char buf[REPORT_TEXT_BYTES])
{
	double		percent = whole > 0 ? Min(100 * part / whole, 1e6) : 0;

	snprintf(buf, REPORT_TEXT_BYTES, "%.*f %%",
			 percent > 0 && percent < 9.95 ? 1 : 0, percent);
	return buf;
}

const char *
report_ratio(uint64 before, uint64 after, char buf[REPORT_TEXT_BYTES])
{
	double		ratio = before / (double) Max(after, 1);

	snprintf(buf, REPORT_TEXT_BYTES, "%.*f : 1",
			 ratio < 0.995 ? 2 : ratio < 99.95 ? 1 : 0, ratio);
	return buf;
}

const char *
report_time(int64 time_us, char buf[REPORT_TEXT_BYTES])
{
	time_t		seconds = (time_t) (time_us / 1000000);
	struct tm	tm;

	gmtime_r(&seconds, &tm);
	strftime(buf, REPORT_TEXT_BYTES, "%Y-%m-%d %H:%M:%S UTC", &tm);
	return buf;
}
