/*
 * clock.h
 *		Two clocks, the elapsed time of the run, and the delays between
 *		retries.
 *
 * Times that are shown, stored, or compared with stored times are wall clock
 * times, which an administrator may change meanwhile.  Durations are measured
 * with a monotonic clock, which is never set; only differences of its values
 * have a meaning.  All processes of a machine have the same two clocks.
 */
#ifndef CLOCK_H
#define CLOCK_H

/* Returns the wall clock time in microseconds since 1970. */
extern int64 clock_wall_us(void);

/* Returns the time of the monotonic clock. */
extern int64 clock_monotonic_ns(void);
extern int64 clock_monotonic_ms(void);

/* ----------
 * The elapsed time of the run.
 *
 * Progress, summary, report and event log all count the time of a run from
 * run_clock_start(), the first call in main(), so that their times agree.
 * ----------
 */

/* Start counting, in this process and those that it forks later. */
extern void run_clock_start(void);

/* Returns the start of the run, as wall clock time (clock_wall_us()). */
extern int64 run_clock_start_us(void);

/* Returns the seconds since the start of the run, by the monotonic clock. */
extern double run_clock_seconds(void);

/* ----------
 * Retries with growing delays.
 * ----------
 */

/* The retries of one operation; all zeros means no failure so far. */
typedef struct Retry
{
	int			n;				/* number, including the next one */
	int64		at;				/* when it is due (clock_monotonic_ms()); 0 =
								 * no retry */
} Retry;

/*
 * Schedule the next retry after a failure.  Returns the milliseconds until it
 * is due: half a second first, then twice as long each time, at most a
 * minute.  The caller limits the number of retries.
 */
extern int	retry_later(Retry *retry);

/* Is a retry scheduled, and is it due? */
extern bool retry_is_due(const Retry *retry);

#endif							/* CLOCK_H */
