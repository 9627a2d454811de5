/*
 * metrics.h
 *		--metrics: a file of numbers about the last run, for monitoring.
 *
 * It is in the text format of Prometheus, version 0.0.4, as the collector
 * "textfile" of node_exporter reads it.  It is replaced as a whole at the end
 * of every run, be that a success or not, but not if the program is killed by
 * SIGKILL: what alerts are made of is the time of the last success.
 */
#ifndef METRICS_H
#define METRICS_H

#include "status/run.h"

/*
 * If a file is asked for: note what an earlier run has left there, and write
 * it should this one fail.  To be called before whatever else registers with
 * the exit stack, so that all is undone by then.  run, which may be filled in
 * later, must live as long as the process.  Exits with a message if the file
 * could not be made.
 */
extern void metrics_begin(const Options *options, const Run *run);

/*
 * The run has come to its end, after cleanup_forget_all().  Should the file
 * not be written, a warning tells of it: what has been done is done.
 */
extern void metrics_end(bool success);

#endif							/* METRICS_H */
