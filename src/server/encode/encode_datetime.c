/*-------------------------------------------------------------------------
 *
 * encode_datetime.c
 *	  Encoders of date, time, timestamp, both with zones, and interval.
 *
 * They write what src/backend/utils/adt/datetime.c does under DateStyle ISO
 * (EncodeDateOnly, EncodeTimeOnly, EncodeDateTime) and IntervalStyle postgres
 * (EncodeInterval); under other styles there is no fast encoder.  These
 * formats do not depend on the order of day and month.
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

#include "bytes/digits.h"
#include "encode/encode_datetime.h"
#include "encode/zone_offset.h"

/* Room for the longest text, "-178956970 years ..." of an interval. */
#define DATETIME_TEXT_ROOM	(MAXDATELEN + DIGITS_SLACK)

StaticAssertDecl(DATETIME_TEXT_ROOM <= VALUE_ROOM,
				 "a date's and time's text must fit in VALUE_ROOM");

/*
 * Julian day 0 to the first of March of the year 4801 BC, where a cycle of
 * 400 years begins; and the years back from there.
 */
#define CYCLE_START_DAYS	32044
#define CYCLE_START_YEARS	4800

#define DAYS_PER_CYCLE		146097	/* 400 years */

/*
 * Write year-month-day of a Julian day; "*bc" tells whether " BC" has to
 * follow somewhere.
 *
 * Algorithm: C. Neri and L. Schneider, "Euclidean affine functions and their
 * application to calendar algorithms", 2022.  Years begin in March there, so
 * that a leap day is the last of its year; divisions became multiplications.
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
		p = put_uint32(p, year);
	*p++ = '-';
	p = put_2_digits(p, month);
	*p++ = '-';
	return put_2_digits(p, day);
}

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

/* Write ":mm:ss" and the fraction of a second; less than an hour. */
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
		p = put_fraction_6(p, microseconds);
	}
	return p;
}

/* Write hours, minutes, seconds; less than 100 hours. */
static inline char *
put_clock(char *p, uint64 usecs)
{
	uint32		seconds = (uint32) (usecs / USECS_PER_SEC);
	uint32		fraction = (uint32) (usecs - seconds * (uint64) USECS_PER_SEC);
	uint32		hours = seconds / SECS_PER_HOUR;

	p = put_2_digits(p, hours);
	return put_minutes(p, seconds - hours * SECS_PER_HOUR, fraction);
}

/* Write a date and time from Julian day 0 on. */
static inline char *
put_timestamp(char *p, Timestamp timestamp, bool *bc)
{
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

	/* infinity among them */
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

	if (unlikely(timetz->time < 0 || timetz->time > USECS_PER_DAY ||
				 timetz->zone <= -100 * SECS_PER_HOUR ||
				 timetz->zone >= 100 * SECS_PER_HOUR))
		return encode_by_type_function(encoder, value, out, to);

	to = put_clock(to, timetz->time);
	/* The type counts seconds west of UTC. */
	return put_zone_offset(to, -timetz->zone);
}

static char *
encode_timestamp(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
				 char *to)
{
	Timestamp	timestamp = DatumGetTimestamp(value);
	bool		bc;

	/* infinity among them */
	if (unlikely(DateStyle != USE_ISO_DATES || !IS_VALID_TIMESTAMP(timestamp)))
		return encode_by_type_function(encoder, value, out, to);
	to = put_timestamp(to, timestamp, &bc);
	return put_bc(to, bc);
}

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

	/* The first hours of time may be local time before Julian day 0. */
	if (unlikely(offset == NULL || local < MIN_TIMESTAMP))
		return encode_by_type_function(encoder, value, out, to);

	to = put_timestamp(to, local, &bc);
	memcpy(to, offset->chars, ZONE_TEXT_ROOM);
	to += offset->n_chars;
	return put_bc(to, bc);
}

/*
 * Write a field of an interval unless it is zero.  "*is_first" and
 * "*after_negative" are about the fields before it: a negative field makes
 * the next one carry a sign even if it is positive.
 */
static inline char *
put_interval_field(char *p, int32 count, const char *unit, Size unit_len,
				   bool *is_first, bool *after_negative)
{
	if (count == 0)
		return p;
	if (!*is_first)
		*p++ = ' ';
	if (*after_negative && count > 0)
		*p++ = '+';
	p = put_int32(p, count);
	*p++ = ' ';
	memcpy(p, unit, unit_len);
	p += unit_len;
	if (count != 1)
		*p++ = 's';
	*is_first = false;
	*after_negative = count < 0;
	return p;
}

/* Write hours, minutes, seconds of an interval; hours may be many. */
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

static char *
encode_interval(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
				char *to)
{
	const Interval *interval = DatumGetIntervalP(value);
	bool		is_first = true;
	bool		after_negative = false;

	/* Infinite since 17, a number of months before. */
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

EncodeFunction
datetime_encoder(Oid type_function)
{
	switch (type_function)
	{
		case F_DATE_OUT:
			return encode_date;
		case F_TIME_OUT:
			return encode_time;
		case F_TIMETZ_OUT:
			return encode_timetz;
		case F_TIMESTAMP_OUT:
			return encode_timestamp;
		case F_TIMESTAMPTZ_OUT:
			return encode_timestamptz;
		case F_INTERVAL_OUT:
			return encode_interval;
		default:
			return NULL;
	}
}
