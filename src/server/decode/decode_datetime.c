/*-------------------------------------------------------------------------
 *
 * decode_datetime.c
 *	  Decoders of date, time, timestamp, both with zones, and interval.
 *
 * They read what the output functions write under DateStyle ISO and
 * IntervalStyle postgres, which means the same under each DateStyle: what
 * comes first and has four digits is the year
 * (src/backend/utils/adt/datetime.c: DecodeNumber).  Zones are offsets, so
 * that the session's zone does not matter.  Years before 1 and above 9999,
 * infinity, 24:00:00 and leap seconds are left to the input functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "bytes/read_digits.h"
#include "decode/decode_datetime.h"

#define DATE_LEN			10	/* yyyy-mm-dd */
#define CLOCK_LEN			8	/* hh:mm:ss */
#define MAX_FRACTION_DIGITS	6

/* Numbers of an interval with more digits could overflow. */
#define MAX_COUNT_DIGITS	6
#define MAX_HOUR_DIGITS		8

/*
 * Each read_...() reads at *p, advances it behind what it has read, and
 * returns false if that is not there.  There is padding behind the end.
 */

static inline bool
read_date(const char **p, const char *end, int32 *date)
{
	const char *text = *p;
	uint32		year;
	uint32		month;
	uint32		day;

	if (end - text < DATE_LEN ||
		!read_4_digits(text, &year) || text[4] != '-' ||
		!read_2_digits(text + 5, &month) || text[7] != '-' ||
		!read_2_digits(text + 8, &day))
		return false;
	if (year < 1 || month < 1 || month > MONTHS_PER_YEAR ||
		day < 1 || day > day_tab[isleap(year)][month - 1])
		return false;
	*date = date2j(year, month, day) - POSTGRES_EPOCH_JDATE;
	*p = text + DATE_LEN;
	return true;
}

/*
 * Read the fraction of a second, if there is any.  More digits than the
 * typmod has would be rounded.
 */
static inline bool
read_fraction(const char **p, const char *end, int32 typmod, int64 *usecs)
{
	static const int32 scales[MAX_FRACTION_DIGITS + 1] =
	{0, 100000, 10000, 1000, 100, 10, 1};
	const char *text = *p + 1;
	int32		fraction = 0;
	int			digits = 0;

	*usecs = 0;
	if (*p == end || **p != '.')
		return true;
	while (text < end && digits < MAX_FRACTION_DIGITS && is_digit(*text))
	{
		fraction = fraction * 10 + (*text++ - '0');
		digits++;
	}
	*usecs = fraction * scales[digits];
	*p = text;
	return digits > 0 && (typmod < 0 || digits <= typmod);
}

/* Read ":mm:ss" and a fraction. */
static inline bool
read_minutes(const char **p, const char *end, int32 typmod, int64 *usecs)
{
	const char *text = *p;
	uint32		minute;
	uint32		second;

	if (end - text < CLOCK_LEN - 2 ||
		text[0] != ':' || !read_2_digits(text + 1, &minute) ||
		text[3] != ':' || !read_2_digits(text + 4, &second) ||
		minute >= MINS_PER_HOUR || second >= SECS_PER_MINUTE)
		return false;
	*p = text + CLOCK_LEN - 2;
	if (!read_fraction(p, end, typmod, usecs))
		return false;
	*usecs += (minute * SECS_PER_MINUTE + second) * USECS_PER_SEC;
	return true;
}

static inline bool
read_clock(const char **p, const char *end, int32 typmod, int64 *usecs)
{
	uint32		hour;

	if (end - *p < CLOCK_LEN || !read_2_digits(*p, &hour) ||
		hour >= HOURS_PER_DAY)
		return false;
	*p += 2;
	if (!read_minutes(p, end, typmod, usecs))
		return false;
	*usecs += hour * USECS_PER_HOUR;
	return true;
}

/* Read "+hh", "+hh:mm" or "+hh:mm:ss", which ends the text. */
static inline bool
read_zone(const char *p, const char *end, int32 *seconds_east)
{
	Size		len = end - p;
	bool		west = *p == '-';
	uint32		hours;
	uint32		minutes = 0;
	uint32		seconds = 0;

	if ((len != 3 && len != 6 && len != 9) || (*p != '+' && !west) ||
		!read_2_digits(p + 1, &hours) ||
		(len > 3 && (p[3] != ':' || !read_2_digits(p + 4, &minutes))) ||
		(len > 6 && (p[6] != ':' || !read_2_digits(p + 7, &seconds))))
		return false;
	if (hours > MAX_TZDISP_HOUR || minutes >= MINS_PER_HOUR ||
		seconds >= SECS_PER_MINUTE)
		return false;
	*seconds_east = (hours * MINS_PER_HOUR + minutes) * SECS_PER_MINUTE + seconds;
	if (west)
		*seconds_east = -*seconds_east;
	return true;
}

static inline bool
read_timestamp(const char **p, const char *end, int32 typmod,
			   Timestamp *timestamp)
{
	int32		date;
	int64		usecs;

	if (!read_date(p, end, &date) || *p == end || **p != ' ')
		return false;
	(*p)++;
	if (!read_clock(p, end, typmod, &usecs))
		return false;
	*timestamp = date * USECS_PER_DAY + usecs;
	return true;
}

static bool
decode_date(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	int32		date;

	if (len != DATE_LEN || !read_date(&text, text + len, &date))
		return false;
	*value = DateADTGetDatum(date);
	return true;
}

static bool
decode_time(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	const char *end = text + len;
	TimeADT		time;

	if (!read_clock(&text, end, decoder->typmod, &time) || text != end)
		return false;
	*value = TimeADTGetDatum(time);
	return true;
}

static bool
decode_timetz(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	const char *end = text + len;
	TimeADT		time;
	int32		seconds_east;
	TimeTzADT  *timetz;

	if (!read_clock(&text, end, decoder->typmod, &time) ||
		!read_zone(text, end, &seconds_east))
		return false;
	timetz = value_alloc(decoder, sizeof(TimeTzADT));
	timetz->time = time;
	timetz->zone = -seconds_east;	/* the type counts them west of UTC */
	*value = TimeTzADTPGetDatum(timetz);
	return true;
}

static bool
decode_timestamp(ColumnDecoder *decoder, const char *text, Size len,
				 Datum *value)
{
	const char *end = text + len;
	Timestamp	timestamp;

	if (!read_timestamp(&text, end, decoder->typmod, &timestamp) ||
		text != end)
		return false;
	*value = TimestampGetDatum(timestamp);
	return true;
}

static bool
decode_timestamptz(ColumnDecoder *decoder, const char *text, Size len,
				   Datum *value)
{
	const char *end = text + len;
	Timestamp	local;
	int32		seconds_east;

	if (!read_timestamp(&text, end, decoder->typmod, &local) ||
		!read_zone(text, end, &seconds_east))
		return false;
	*value = TimestampTzGetDatum(local - seconds_east * USECS_PER_SEC);
	return true;
}

/* Read a minus or a plus, if there is any. */
static inline bool
read_sign(const char **p)
{
	bool		negative = **p == '-';

	if (negative || **p == '+')
		(*p)++;
	return negative;
}

/* Read 1 to max_digits digits, up to the first byte that is none. */
static inline bool
read_count(const char **p, const char *end, int max_digits, int64 *count)
{
	const char *start = *p;

	*count = 0;
	while (*p < end && is_digit(**p) && *p - start < max_digits)
		*count = *count * 10 + (*(*p)++ - '0');
	return *p > start;
}

/*
 * Read a field of an interval, "-5 days", and the space behind it if another
 * one follows.  If there is another unit at *p, count it as 0.
 */
static inline bool
read_interval_field(const char **p, const char *end, const char *unit,
					Size unit_len, int64 *count)
{
	const char *text = *p;
	bool		negative = read_sign(&text);

	if (!read_count(&text, end, MAX_COUNT_DIGITS, count) ||
		end - text < 1 + (int) unit_len ||
		*text != ' ' || memcmp(text + 1, unit, unit_len) != 0)
	{
		*count = 0;
		return true;
	}
	text += 1 + unit_len;
	if (text < end && *text == 's')
		text++;
	if (text < end && (*text++ != ' ' || text == end))
		return false;
	if (negative)
		*count = -*count;
	*p = text;
	return true;
}

/* Read hours, minutes and seconds, which end the text. */
static inline bool
read_interval_time(const char *p, const char *end, int64 *usecs)
{
	bool		negative = read_sign(&p);
	int64		hours;

	if (!read_count(&p, end, MAX_HOUR_DIGITS, &hours) ||
		!read_minutes(&p, end, -1, usecs) || p != end)
		return false;
	*usecs += hours * USECS_PER_HOUR;
	if (negative)
		*usecs = -*usecs;
	return true;
}

static bool
decode_interval(ColumnDecoder *decoder, const char *text, Size len,
				Datum *value)
{
	const char *end = text + len;
	int64		years;
	int64		months;
	int64		days;
	int64		usecs = 0;
	Interval   *interval;

	/* there a sign counts for the fields behind it, too */
	if (IntervalStyle == INTSTYLE_SQL_STANDARD)
		return false;
	if (len == 0 ||
		!read_interval_field(&text, end, "year", 4, &years) ||
		!read_interval_field(&text, end, "mon", 3, &months) ||
		!read_interval_field(&text, end, "day", 3, &days) ||
		(text < end && !read_interval_time(text, end, &usecs)))
		return false;
	interval = value_alloc(decoder, sizeof(Interval));
	interval->time = usecs;
	interval->day = (int32) days;
	interval->month = (int32) (years * MONTHS_PER_YEAR + months);
	*value = IntervalPGetDatum(interval);
	return true;
}

DecodeFunction
datetime_decoder(Oid input_function, ColumnDecoder *decoder)
{
	switch (input_function)
	{
		case F_DATE_IN:
			return decode_date;
		case F_TIME_IN:
			return decode_time;
		case F_TIMETZ_IN:
			return decode_timetz;
		case F_TIMESTAMP_IN:
			return decode_timestamp;
		case F_TIMESTAMPTZ_IN:
			return decode_timestamptz;
		case F_INTERVAL_IN:
			return decoder->typmod < 0 ? decode_interval : NULL;
		default:
			return NULL;
	}
}
