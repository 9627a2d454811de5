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

#include "base/fe_compat.h"

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

#endif							/* CLOCK_H */
