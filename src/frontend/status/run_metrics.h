/*
 * run_metrics.h
 *		Writes what --metrics reports of a dump, a copy or a restore.
 */
#ifndef RUN_METRICS_H
#define RUN_METRICS_H

#include "status/run.h"

/*
 * As metrics_begin(), for such a run, which may be filled in later and must
 * live as long as the process.
 */
extern void run_metrics_begin(const Options *options, const Run *run);

/* What the label "command" says of the run that these options ask for. */
extern const char *run_metrics_command(const Options *options);

#endif							/* RUN_METRICS_H */
