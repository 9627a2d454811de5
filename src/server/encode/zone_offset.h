/*-------------------------------------------------------------------------
 *
 * zone_offset.h
 *	  Offsets of the session's time zone from UTC, remembered.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ZONE_OFFSET_H
#define PARDUMP_ZONE_OFFSET_H

#include "datatype/timestamp.h"

/* Longest text of an offset: +hh:mm:ss. */
#define ZONE_TEXT_ROOM		12

typedef struct ZoneOffset
{
	int32		seconds;		/* east of UTC */
	uint8		n_chars;
	char		chars[ZONE_TEXT_ROOM];	/* as timestamptz_out() writes it in
										 * DateStyle ISO, no zero byte */
} ZoneOffset;

/*
 * The offset of session_timezone at a valid timestamp, or NULL where it is
 * not simply added (a zone with leap seconds).  Borrowed, valid up to the
 * next call.
 */
extern const ZoneOffset *zone_offset_at(TimestampTz timestamp);

/*
 * Write an offset of less than 100 hours as EncodeTimezone() in
 * src/backend/utils/adt/datetime.c does for ISO dates, and return the end of
 * the text, which takes at most ZONE_TEXT_ROOM bytes.
 */
extern char *put_zone_offset(char *p, int32 seconds_east);

#endif							/* PARDUMP_ZONE_OFFSET_H */
