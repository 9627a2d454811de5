/*-------------------------------------------------------------------------
 *
 * datetime.c
 *	  Encoders and decoders of dates, times, timestamps and intervals.
 *
 * choose.c finds them by the types' functions.  They follow
 * src/backend/utils/adt/datetime.c, for ISO dates only, as pg_dump sets
 * DateStyle to ISO.  The first part of the file finds the time zone offsets
 * that timestamptz needs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "bytes/digits.h"
#include "types/family.h"

/* ----------
 * Caches the offsets of the session's time zone from UTC.
 *
 * timestamptz_out() calls pg_localtime() for each value, which searches the
 * table of the zone.  Here time is divided into spans of 2^41 microseconds,
 * about 25 days.  In almost every span a zone changes its offset at most
 * once, so a span is described by the offsets before and after one instant.
 * Spans are stored in a table, whose index is the lowest bits of their
 * number, and are filled in when they are first needed.  A zone that never
 * changes its offset needs no spans.
 *
 * All offsets are results of pg_localtime(), because timestamptz_out() uses
 * them.  pg_next_dst_boundary() only says where these results may change.
 * It has a gap: exactly at the last transition in a zone's table it finds no
 * next boundary, although there are more if the table repeats
 * (src/timezone/localtime.c).  For a span that is not proved to have at most
 * one change, pg_localtime() is called for each value.
 * ----------
 */

/* Longest text of an offset: +hh:mm:ss. */
#define ZONE_TEXT_ROOM		12

typedef struct ZoneOffset
{
	int32		seconds;		/* east of UTC */
	uint8		n_chars;
	char		chars[ZONE_TEXT_ROOM];	/* as timestamptz_out() writes it in
										 * DateStyle ISO, no zero byte */
} ZoneOffset;

#define SPAN_SHIFT			41
#define SPAN_USECS			(INT64CONST(1) << SPAN_SHIFT)

/* 71 years of spans; a power of two */
#define N_SPANS				1024

#define UNIX_TO_POSTGRES_SECS \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (pg_time_t) SECS_PER_DAY)

typedef struct ZoneSpan
{
	int64		number;			/* timestamp >> SPAN_SHIFT, or NO_SPAN */
	TimestampTz change;			/* "after" is the offset from here on */
	bool		simple;			/* if not, neither offset is set */
	ZoneOffset	before;
	ZoneOffset	after;
} ZoneSpan;

#define NO_SPAN				PG_INT64_MAX

/* The cached offsets of the zone "known_zone". */
static const pg_tz *known_zone = NULL;
static bool zone_is_fixed;		/* if so, only fixed_offset is set */
static ZoneOffset fixed_offset;
static ZoneSpan spans[N_SPANS];

/*
 * Write an offset of less than 100 hours and return the end of the text,
 * which has at most ZONE_TEXT_ROOM bytes.  The text is that of
 * EncodeTimezone() for ISO dates.
 */
static char *
put_zone_offset(char *p, int32 seconds_east)
{
	uint32		seconds = abs(seconds_east);
	uint32		minutes = seconds / SECS_PER_MINUTE;
	uint32		hours = minutes / MINS_PER_HOUR;

	seconds %= SECS_PER_MINUTE;
	minutes %= MINS_PER_HOUR;

	*p++ = seconds_east >= 0 ? '+' : '-';
	p = put_2_digits(p, hours);
	if (minutes != 0 || seconds != 0)
	{
		*p++ = ':';
		p = put_2_digits(p, minutes);
	}
	if (seconds != 0)
	{
		*p++ = ':';
		p = put_2_digits(p, seconds);
	}
	return p;
}

static void
zone_offset_set(ZoneOffset *offset, long int seconds)
{
	offset->seconds = seconds;
	offset->n_chars = put_zone_offset(offset->chars, seconds) - offset->chars;
}

/* Return the second that contains a timestamp, as in timestamp2tm(). */
static pg_time_t
unix_second(TimestampTz timestamp)
{
	int64		second = timestamp / USECS_PER_SEC;

	if (timestamp % USECS_PER_SEC < 0)
		second--;
	return second + UNIX_TO_POSTGRES_SECS;
}

/*
 * Get the offset at "when".  Returns false if the local time is not exactly
 * UTC plus the offset, as in zones with leap seconds, or if the offset has
 * 100 hours or more.
 */
static bool
look_up_offset(pg_time_t when, long int *offset)
{
	struct pg_tm *local = pg_localtime(&when, session_timezone);
	int64		second_of_day;

	if (local == NULL)
		return false;
	*offset = local->tm_gmtoff;
	second_of_day = (when + local->tm_gmtoff) % SECS_PER_DAY;
	if (second_of_day < 0)
		second_of_day += SECS_PER_DAY;
	return *offset > -100 * SECS_PER_HOUR && *offset < 100 * SECS_PER_HOUR &&
		local->tm_sec < SECS_PER_MINUTE &&
		(local->tm_hour * MINS_PER_HOUR + local->tm_min) * SECS_PER_MINUTE +
		local->tm_sec == second_of_day;
}

/*
 * Find the first boundary in (from, last].  Returns 1 and sets *boundary if
 * there is one, 0 if there is none, and -1 if that is not certain.
 */
static int
find_boundary(pg_time_t from, pg_time_t last, pg_time_t *boundary)
{
	pg_time_t	next = from + 1;
	pg_time_t	next_boundary;
	long int	offset;
	int			is_dst;
	int			found;
	int			next_found;

	found = pg_next_dst_boundary(&from, &offset, &is_dst, boundary,
								 &offset, &is_dst, session_timezone);
	if (found > 0)
		return *boundary <= last ? 1 : 0;

	/* If a call for the next second finds one, the first was in the gap. */
	next_found = pg_next_dst_boundary(&next, &offset, &is_dst, &next_boundary,
									  &offset, &is_dst, session_timezone);
	if (found < 0 || next_found < 0 || (next_found > 0 && next_boundary <= last))
		return -1;
	return 0;
}

/* Set *offset and return true if it is the same in all of [first, last]. */
static bool
set_if_constant(ZoneOffset *offset, pg_time_t first, pg_time_t last)
{
	pg_time_t	boundary;
	long int	first_offset;
	long int	last_offset;

	if (find_boundary(first, last, &boundary) != 0 ||
		!look_up_offset(first, &first_offset) ||
		!look_up_offset(last, &last_offset) ||
		first_offset != last_offset)
		return false;
	zone_offset_set(offset, first_offset);
	return true;
}

/*
 * Find out how the offset changes within a span.  Without a boundary, the
 * offset must be the same at both ends.  With a boundary, the parts before
 * and after it must each have a constant offset, so a second boundary makes
 * the span one that is not simple.
 */
static void
zone_span_fill(ZoneSpan *span, int64 number)
{
	TimestampTz start = number * SPAN_USECS;
	pg_time_t	first = unix_second(start);
	pg_time_t	last = unix_second(start + (SPAN_USECS - 1));
	pg_time_t	boundary;

	span->number = number;
	switch (find_boundary(first, last, &boundary))
	{
		case 0:
			span->change = PG_INT64_MAX;
			span->simple = set_if_constant(&span->before, first, last);
			break;
		case 1:
			span->change = (boundary - UNIX_TO_POSTGRES_SECS) * USECS_PER_SEC;
			span->simple = set_if_constant(&span->before, first, boundary - 1) &&
				set_if_constant(&span->after, boundary, last);
			break;
		default:
			span->simple = false;
			break;
	}
}

/*
 * Forget the offsets of another zone.  The server keeps zones for the life of
 * the process, so each zone has its own address.
 */
static void
zone_begin(void)
{
	pg_time_t	last = unix_second(END_TIMESTAMP - 1);
	long int	offset;
	long int	last_offset;

	/*
	 * A zone with one offset may still have leap seconds.  They add up, so if
	 * there are any, the last timestamp shows them.
	 */
	zone_is_fixed = pg_get_timezone_offset(session_timezone, &offset) &&
		look_up_offset(last, &last_offset) && last_offset == offset;
	if (zone_is_fixed)
		zone_offset_set(&fixed_offset, offset);

	for (int i = 0; i < N_SPANS; i++)
		spans[i].number = NO_SPAN;
	known_zone = session_timezone;
}

/* Get the offset at a timestamp whose span is not simple. */
static const ZoneOffset *
zone_offset_alone(TimestampTz timestamp)
{
	static ZoneOffset single;
	long int	offset;

	if (!look_up_offset(unix_second(timestamp), &offset))
		return NULL;
	zone_offset_set(&single, offset);
	return &single;
}

/*
 * Return the offset of session_timezone at a valid timestamp, or NULL if the
 * local time is not UTC plus an offset (in a zone with leap seconds).  The
 * result is borrowed and valid until the next call.
 */
static const ZoneOffset *
zone_offset_at(TimestampTz timestamp)
{
	int64		number = timestamp >> SPAN_SHIFT;
	ZoneSpan   *span = &spans[number & (N_SPANS - 1)];

	/* SET TimeZone may be executed between two FETCH from a cursor */
	if (unlikely(known_zone != session_timezone))
		zone_begin();
	if (zone_is_fixed)
		return &fixed_offset;
	if (unlikely(span->number != number))
		zone_span_fill(span, number);
	if (unlikely(!span->simple))
		return zone_offset_alone(timestamp);
	return timestamp < span->change ? &span->before : &span->after;
}

/* ----------
 * Encoders of date, time, timetz, timestamp, timestamptz and interval.
 *
 * They write the texts that src/backend/utils/adt/datetime.c writes with
 * DateStyle ISO (EncodeDateOnly, EncodeTimeOnly, EncodeDateTime) and
 * IntervalStyle postgres (EncodeInterval).  With other styles, they pass
 * values to the output functions.  ISO dates do not depend on the order of
 * day and month in DateStyle.
 * ----------
 */

/* Room for the longest text, "-178956970 years ..." of an interval. */
#define DATETIME_TEXT_ROOM	(MAXDATELEN + DIGITS_SLACK)

StaticAssertDecl(DATETIME_TEXT_ROOM <= VALUE_ROOM,
				 "a date's and time's text must fit in VALUE_ROOM");

/*
 * The days from the first of March of the year 4801 BC, where a cycle of 400
 * years begins, to Julian day 0; and the years from there to the year 0.
 */
#define CYCLE_START_DAYS	32044
#define CYCLE_START_YEARS	4800

#define DAYS_PER_CYCLE		146097	/* 400 years */

/*
 * Write the date of a Julian day as year-month-day.  "*bc" becomes whether
 * the caller has to write " BC" at the end of the text.
 *
 * The algorithm is that of C. Neri and L. Schneider, "Euclidean affine
 * functions and their application to calendar algorithms", 2022.  Its years
 * begin in March, so that a leap day is the last day of its year, and it
 * multiplies instead of dividing.
 */
static inline char *
put_julian_day(char *p, uint32 julian_day, bool *bc)
{
	uint64		n1 = 4 * ((uint64) julian_day + CYCLE_START_DAYS) + 3;
	uint32		century = (uint32) (n1 / DAYS_PER_CYCLE);
	uint32		n2 = (uint32) (n1 % DAYS_PER_CYCLE) | 3;
	uint64		p2 = UINT64CONST(2939745) * n2;
	uint32		year_of_century = (uint32) (p2 >> 32);
	uint32		day_of_year = (uint32) p2 / 2939745 / 4;
	uint32		n3 = 2141 * day_of_year + 197913;
	uint32		month = n3 >> 16;
	uint32		day = (n3 & 0xFFFF) / 2141 + 1;
	int32		year = (int32) (100 * century + year_of_century) -
		CYCLE_START_YEARS;

	if (day_of_year >= 306)
	{
		month -= 12;
		year++;
	}

	*bc = year <= 0;
	if (unlikely(year <= 0))
		year = 1 - year;
	if (likely(year < 10000))
		p = put_4_digits(p, year);
	else
		p = put_uint64(p, year);
	*p++ = '-';
	p = put_2_digits(p, month);
	*p++ = '-';
	return put_2_digits(p, day);
}

/* Write " BC" at the end of a date, if put_julian_day() requires it. */
static inline char *
put_bc(char *p, bool bc)
{
	if (unlikely(bc))
	{
		memcpy(p, " BC", 3);
		p += 3;
	}
	return p;
}

/*
 * Write ":mm:ss" and the fraction of a second, if there is one.  "seconds" is
 * less than an hour.
 */
static inline char *
put_minutes(char *p, uint32 seconds, uint32 microseconds)
{
	uint32		minutes = seconds / SECS_PER_MINUTE;

	*p++ = ':';
	p = put_2_digits(p, minutes);
	*p++ = ':';
	p = put_2_digits(p, seconds - minutes * SECS_PER_MINUTE);
	if (microseconds != 0)
	{
		*p++ = '.';
		p = put_fraction_8(p, 100 * microseconds);
	}
	return p;
}

/* Write hours, minutes and seconds of a time below 100 hours. */
static inline char *
put_clock(char *p, uint64 usecs)
{
	uint32		seconds = (uint32) (usecs / USECS_PER_SEC);
	uint32		fraction = (uint32) (usecs - seconds * (uint64) USECS_PER_SEC);
	uint32		hours = seconds / SECS_PER_HOUR;

	p = put_2_digits(p, hours);
	return put_minutes(p, seconds - hours * SECS_PER_HOUR, fraction);
}

/* Write a date and a time, which must not be before Julian day 0. */
static inline char *
put_timestamp(char *p, Timestamp timestamp, bool *bc)
{
	/* MIN_TIMESTAMP is the start of Julian day 0, so usecs is not negative */
	uint64		usecs = (uint64) timestamp - (uint64) MIN_TIMESTAMP;
	uint32		julian_day = (uint32) (usecs / USECS_PER_DAY);

	p = put_julian_day(p, julian_day, bc);
	*p++ = ' ';
	return put_clock(p, usecs - julian_day * (uint64) USECS_PER_DAY);
}

static char *
encode_date(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	DateADT		date = DatumGetDateADT(value);
	bool		bc;

	/* infinite dates are not valid ones either */
	if (unlikely(DateStyle != USE_ISO_DATES || !IS_VALID_DATE(date)))
		return encode_by_type_function(encoder, value, out, to);
	to = put_julian_day(to, (uint32) date + POSTGRES_EPOCH_JDATE, &bc);
	return put_bc(to, bc);
}

/* The text of a time without a date does not depend on DateStyle. */
static char *
encode_time(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	TimeADT		time = DatumGetTimeADT(value);

	if (unlikely(time < 0 || time > USECS_PER_DAY))
		return encode_by_type_function(encoder, value, out, to);
	return put_clock(to, time);
}

static char *
encode_timetz(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const TimeTzADT *timetz = DatumGetTimeTzADTP(value);

	/* only a damaged value has an offset of more than two digits */
	if (unlikely(timetz->time < 0 || timetz->time > USECS_PER_DAY ||
				 timetz->zone <= -100 * SECS_PER_HOUR ||
				 timetz->zone >= 100 * SECS_PER_HOUR))
		return encode_by_type_function(encoder, value, out, to);

	to = put_clock(to, timetz->time);
	/* the stored value counts seconds west of UTC */
	return put_zone_offset(to, -timetz->zone);
}

static char *
encode_timestamp(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
				 char *to)
{
	Timestamp	timestamp = DatumGetTimestamp(value);
	bool		bc;

	/* infinite timestamps are not valid ones either */
	if (unlikely(DateStyle != USE_ISO_DATES || !IS_VALID_TIMESTAMP(timestamp)))
		return encode_by_type_function(encoder, value, out, to);
	to = put_timestamp(to, timestamp, &bc);
	return put_bc(to, bc);
}

/*
 * Write the local time, which is UTC plus the zone's offset, and the offset.
 * timestamp2tm() has the same result, but calls pg_localtime() for each
 * value.
 */
static char *
encode_timestamptz(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
				   char *to)
{
	TimestampTz timestamp = DatumGetTimestampTz(value);
	const ZoneOffset *offset = NULL;
	Timestamp	local = 0;
	bool		bc;

	if (likely(DateStyle == USE_ISO_DATES && IS_VALID_TIMESTAMP(timestamp)))
		offset = zone_offset_at(timestamp);
	if (likely(offset != NULL))
		local = timestamp + offset->seconds * USECS_PER_SEC;

	/* the local time of the first hours may be before Julian day 0 */
	if (unlikely(offset == NULL || local < MIN_TIMESTAMP))
		return encode_by_type_function(encoder, value, out, to);

	to = put_timestamp(to, local, &bc);

	/*
	 * A copy of constant size takes two instructions.  Bytes beyond n_chars
	 * are overwritten by what follows.
	 */
	memcpy(to, offset->chars, ZONE_TEXT_ROOM);
	to += offset->n_chars;
	return put_bc(to, bc);
}

/*
 * Write a field of an interval unless it is zero.  "*is_first" says that no
 * field has been written before, and "*after_negative" that the last one was
 * negative: the next field then has a sign even if it is positive.
 */
static inline char *
put_interval_field(char *p, int32 count, const char *unit, Size unit_len,
				   bool *is_first, bool *after_negative)
{
	/* no zeros are written, unless all of the interval is zero */
	if (count == 0)
		return p;
	if (!*is_first)
		*p++ = ' ';
	if (*after_negative && count > 0)
		*p++ = '+';
	p = put_int64(p, count);
	*p++ = ' ';
	memcpy(p, unit, unit_len);
	p += unit_len;
	/* the unit of -1 is a plural, too: AddPostgresIntPart() in datetime.c */
	if (count != 1)
		*p++ = 's';
	*is_first = false;
	*after_negative = count < 0;
	return p;
}

/* Write hours, minutes and seconds of an interval, with all of its hours. */
static inline char *
put_interval_time(char *p, int64 usecs, bool after_negative)
{
	uint64		magnitude = (uint64) usecs;
	uint64		hours;

	if (usecs < 0)
	{
		magnitude = (uint64) 0 - magnitude;
		*p++ = '-';
	}
	else if (after_negative)
		*p++ = '+';

	hours = magnitude / USECS_PER_HOUR;
	if (likely(hours < 100))
		return put_clock(p, magnitude);
	p = put_uint64(p, hours);
	magnitude -= hours * USECS_PER_HOUR;
	return put_minutes(p, (uint32) (magnitude / USECS_PER_SEC),
					   (uint32) (magnitude % USECS_PER_SEC));
}

/*
 * Write an interval as EncodeInterval() does for IntervalStyle postgres, for
 * example "1 year 2 mons -3 days +04:05:06".  A field of zero is left out; an
 * interval of zero is "00:00:00".  Months and years have the same sign, as
 * they are stored as one number.
 */
static char *
encode_interval(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
				char *to)
{
	const Interval *interval = DatumGetIntervalP(value);
	bool		is_first = true;
	bool		after_negative = false;

	/* these months are part of infinite intervals since 17, but not before */
	if (unlikely(IntervalStyle != INTSTYLE_POSTGRES ||
				 interval->month == PG_INT32_MIN ||
				 interval->month == PG_INT32_MAX))
		return encode_by_type_function(encoder, value, out, to);

	to = put_interval_field(to, interval->month / MONTHS_PER_YEAR, "year", 4,
							&is_first, &after_negative);
	to = put_interval_field(to, interval->month % MONTHS_PER_YEAR, "mon", 3,
							&is_first, &after_negative);
	to = put_interval_field(to, interval->day, "day", 3,
							&is_first, &after_negative);
	if (is_first || interval->time != 0)
	{
		if (!is_first)
			*to++ = ' ';
		to = put_interval_time(to, interval->time, after_negative);
	}
	return to;
}

const EncoderRow datetime_encoders[] = {
	{F_DATE_OUT, encode_date},
	{F_TIME_OUT, encode_time,.never_quoted = true},
	{F_TIMETZ_OUT, encode_timetz},
	{F_TIMESTAMP_OUT, encode_timestamp},
	{F_TIMESTAMPTZ_OUT, encode_timestamptz},
	{F_INTERVAL_OUT, encode_interval},
	{InvalidOid}
};

/* ----------
 * Decoders of date, time, timetz, timestamp, timestamptz and interval.
 *
 * They read the texts that the output functions write with DateStyle ISO and
 * IntervalStyle postgres.  Such a date means the same under each DateStyle: a
 * first field of four digits is always the year
 * (src/backend/utils/adt/datetime.c: DecodeNumber).  Zones are offsets, so
 * the session's zone does not matter.  Years before 1 and above 9999,
 * infinity, 24:00:00 and leap seconds are left to the input functions.
 * ----------
 */

#define DATE_LEN			10	/* yyyy-mm-dd */
#define CLOCK_LEN			8	/* hh:mm:ss */
#define MAX_FRACTION_DIGITS	6

/* An interval's numbers of more digits are declined, as they may overflow. */
#define MAX_COUNT_DIGITS	6
#define MAX_HOUR_DIGITS		8

/*
 * Each read_...() reads at *p and moves it to the place after the text that
 * it has read.  It returns false if the expected text is not there.  As the
 * text is followed by FIELD_PADDING, a few bytes after "end" can be read.
 */

/*
 * Read "yyyy-mm-dd".  If the month does not have such a day, the date is left
 * to date_in(), which raises the error.  date2j() is the server's function.
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
 * Read the fraction of a second, if there is one.  Returns false if it has
 * more digits than the typmod allows, as the input function would round it.
 */
static inline bool
read_fraction(const char **p, const char *end, int32 typmod, int64 *usecs)
{
	static const int32 scales[MAX_FRACTION_DIGITS + 1] =
	{0, 100000, 10000, 1000, 100, 10, 1};
	const char *start = *p + 1;
	int			digits;

	*usecs = 0;
	if (*p == end || **p != '.')
		return true;
	*p = start;
	if (!read_digits(p, end, MAX_FRACTION_DIGITS, usecs))
		return false;
	digits = *p - start;
	*usecs *= scales[digits];
	return typmod < 0 || digits <= typmod;
}

/* Read ":mm:ss" and the fraction of a second, if there is one. */
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

/* Read "hh:mm:ss" and the fraction of a second, if there is one. */
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

/* Read "+hh", "+hh:mm" or "+hh:mm:ss", after which the text must end. */
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

/* Read a date, a space and a time. */
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
	/* a year of four digits is far from the limits of the type */
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
	timetz->zone = -seconds_east;	/* stored as seconds west of UTC */
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

/* Read a minus or a plus, if there is one; returns true for a minus. */
static inline bool
read_sign(const char **p)
{
	bool		negative = **p == '-';

	if (negative || **p == '+')
		(*p)++;
	return negative;
}

/*
 * Read a field of an interval, such as "-5 days", and the space after it if
 * another field follows.  If the field at *p has another unit, *p is not
 * moved, and *count becomes 0.
 */
static inline bool
read_interval_field(const char **p, const char *end, const char *unit,
					Size unit_len, int64 *count)
{
	const char *text = *p;
	bool		negative = read_sign(&text);

	if (!read_digits(&text, end, MAX_COUNT_DIGITS, count) ||
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

/* Read hours, minutes and seconds, after which the text must end. */
static inline bool
read_interval_time(const char *p, const char *end, int64 *usecs)
{
	bool		negative = read_sign(&p);
	int64		hours;

	if (!read_digits(&p, end, MAX_HOUR_DIGITS, &hours) ||
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

	/* in this style a sign may apply to the fields after it, too */
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

const DecoderRow datetime_decoders[] = {
	{F_DATE_IN, decode_date},
	{F_TIME_IN, decode_time},
	{F_TIMETZ_IN, decode_timetz},
	{F_TIMESTAMP_IN, decode_timestamp},
	{F_TIMESTAMPTZ_IN, decode_timestamptz},
	/* a typmod may truncate or round fields, so interval_in() reads these */
	{F_INTERVAL_IN, NULL, decode_interval},
	{InvalidOid}
};
