/*
 * run_clock.h
 *		How long this program has been running: the one meaning of "time".
 *
 * What progress, summary, report and log call the time of a run is counted
 * from here, the first thing that main() does, to the moment in which it is
 * told.
 */
#ifndef RUN_CLOCK_H
#define RUN_CLOCK_H

#include "base/fe_compat.h"

/* The run begins; processes that are forked later count from here, too. */
extern void run_clock_start(void);

/* The same moment, as of clock_wall_us(). */
extern int64 run_clock_start_us(void);

/* Seconds since then, by a clock that is never set. */
extern double run_clock_seconds(void);

#endif							/* RUN_CLOCK_H */
