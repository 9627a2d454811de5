/*
 * retry.h
 *		When to try again: later each time.
 */
#ifndef RETRY_H
#define RETRY_H

#include "base/fe_compat.h"

/* Retries of one thing; all zero while it goes well. */
typedef struct Retry
{
	int			n;				/* how many, the next one included */
	int64		at;				/* when that is due, by clock_monotonic_ms();
								 * 0 = none is */
} Retry;

/*
 * It has failed: note the next retry.  Returns the milliseconds until it is
 * due, half a second at first, then twice as long each time, a minute at
 * most.  How many there may be is for the caller to know.
 */
extern int	retry_later(Retry *retry);

/* One is noted, and it is time for it. */
extern bool retry_is_due(const Retry *retry);

#endif							/* RETRY_H */
