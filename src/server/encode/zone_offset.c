/*-------------------------------------------------------------------------
 *
 * zone_offset.c
 *	  Offsets of the session's time zone from UTC, remembered.
 *
 * Time is cut in spans of 2^41 microseconds, 25 days.  In each of them a zone
 * changes its offset once at most, but for freaks, so a span is described by
 * the offsets before and after one instant.  Spans are found in a table that
 * is indexed by the lowest bits of their number, and made when they are first
 * asked for.  A zone that never changes its offset needs no spans.
 *
 * What pg_localtime() answers counts, because timestamptz_out() uses it.
 * pg_next_dst_boundary() only says where answers may change, and is not
 * trusted where it may be blind: it knows no boundary after the last
 * transition of the zone's table, exactly at that second, although there are
 * some when the table is to be repeated (src/timezone/localtime.c).  A span
 * that is not proved simple is asked for value by value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pgtime.h"
#include "utils/datetime.h"

#include "bytes/digits.h"
#include "encode/zone_offset.h"

#define SPAN_SHIFT			41
#define SPAN_USECS			(INT64CONST(1) << SPAN_SHIFT)

/* 71 years of spans; a power of two */
#define N_SPANS				1024

#define UNIX_TO_POSTGRES_SECS \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (pg_time_t) SECS_PER_DAY)

typedef struct ZoneSpan
{
	int64		number;			/* timestamp >> SPAN_SHIFT, or NO_SPAN */
	TimestampTz change;			/* "after" counts from here on */
	bool		simple;			/* else neither offset is set */
	ZoneOffset	before;
	ZoneOffset	after;
} ZoneSpan;

#define NO_SPAN				PG_INT64_MAX

/* What is known of the zone "known_zone". */
static const pg_tz *known_zone = NULL;
static bool zone_is_fixed;		/* then only fixed_offset is set */
static ZoneOffset fixed_offset;
static ZoneSpan spans[N_SPANS];

char *
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

/* As timestamp2tm() rounds: the second that a timestamp falls in. */
static pg_time_t
unix_second(TimestampTz timestamp)
{
	int64		second = timestamp / USECS_PER_SEC;

	if (timestamp % USECS_PER_SEC < 0)
		second--;
	return second + UNIX_TO_POSTGRES_SECS;
}

/*
 * Ask for the offset at "when".  False if local time is not just UTC plus
 * offset, as with leap seconds, or if the offset cannot be written.
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
 * there is one, 0 if there is none, -1 if that cannot be told.
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

	/* One that only the next second knows of means that "from" was blind. */
	next_found = pg_next_dst_boundary(&next, &offset, &is_dst, &next_boundary,
									  &offset, &is_dst, session_timezone);
	if (found < 0 || next_found < 0 || (next_found > 0 && next_boundary <= last))
		return -1;
	return 0;
}

/* Is the offset the same over all of [first, last]?  Then set it. */
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
 * Forget the zone before.  Zones are kept for the life of the process, so
 * their address tells them apart.
 */
static void
zone_begin(void)
{
	pg_time_t	last = unix_second(END_TIMESTAMP - 1);
	long int	offset;
	long int	last_offset;

	/* Leap seconds, the other thing that may change, add up to the end. */
	zone_is_fixed = pg_get_timezone_offset(session_timezone, &offset) &&
		look_up_offset(last, &last_offset) && last_offset == offset;
	if (zone_is_fixed)
		zone_offset_set(&fixed_offset, offset);

	for (int i = 0; i < N_SPANS; i++)
		spans[i].number = NO_SPAN;
	known_zone = session_timezone;
}

/* A timestamp in a span that is not simple. */
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

const ZoneOffset *
zone_offset_at(TimestampTz timestamp)
{
	int64		number = timestamp >> SPAN_SHIFT;
	ZoneSpan   *span = &spans[number & (N_SPANS - 1)];

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
