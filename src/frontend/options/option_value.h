/*
 * option_value.h
 *		Numbers, sizes, rates and methods on the command line.
 *
 * What is wrong with one ends the program with a message; option is the
 * option's name in it.
 */
#ifndef OPTION_VALUE_H
#define OPTION_VALUE_H

#include "options/options.h"

/* A whole number within limits. */
extern int64 option_value_number(const char *arg, const char *option,
								 int64 min, int64 max);

/*
 * Bytes, with the units of PostgreSQL's settings: B, kB, MB, GB, TB.  So few
 * bytes that they are given without a unit are megabytes of which the unit
 * was forgotten.
 */
extern uint64 option_value_size(const char *arg, const char *option);

/*
 * Bytes a second, given as in pg_basebackup.c:parse_max_rate(): kilobytes, or
 * with a suffix k or M.
 */
extern uint64 option_value_rate(const char *arg, const char *option);

/* Of --toast-compression, which may be NULL. */
extern void option_value_check_toast(const char *method);

/*
 * Of --metrics and --metrics-label: a label has a name that Prometheus takes,
 * is no other one's, and needs a file.
 */
extern void option_value_check_metrics(const Options *options);

#endif							/* OPTION_VALUE_H */
