/*
 * clock.h
 *		The time, in its two meanings.
 *
 * What is told, stored, or compared with what was is the time of day, which
 * an administrator may set meanwhile.  Durations are measured by a clock that
 * is never set; only differences of its values have a meaning.  All processes
 * of a machine have the same two clocks.
 */
#ifndef CLOCK_H
#define CLOCK_H

/* The time of day: microseconds since 1970. */
extern int64 clock_wall_us(void);

/* The clock that is never set. */
extern int64 clock_monotonic_ns(void);
extern int64 clock_monotonic_ms(void);

/* ----------
 * How long this program has been running: the one meaning of "time".
 *
 * What progress, summary, report and log call the time of a run is counted
 * from here, the first thing that main() does, to the moment in which it is
 * told.
 * ----------
 */

/* The run begins; processes that are forked later count from here, too. */
extern void run_clock_start(void);

/* The same moment, as of clock_wall_us(). */
extern int64 run_clock_start_us(void);

/* Seconds since then, by a clock that is never set. */
extern double run_clock_seconds(void);

/* ----------
 * When to try again: later each time.
 * ----------
 */

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

#endif							/* CLOCK_H */
