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

#endif							/* CLOCK_H */
