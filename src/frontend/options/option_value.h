/*
 * option_value.h
 *		Values on the command line: what they say, and what they may be.
 *
 * What is wrong with one ends the program with a message; option is the
 * option's name in it, where several have such values.
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

/* Of --toast-compression, and of --manifest-checksums; either may be NULL. */
extern void option_value_check_toast(const char *method);
extern void option_value_check_checksums(const char *algorithm);

/*
 * Of --slot: the names that the server takes (slot.c:
 * ReplicationSlotValidateName), so that statements need no quotes.
 */
extern void option_value_check_slot(const char *name);

/* Of --subscription-conninfo. */
extern void option_value_check_conninfo(const char *conninfo);

/* Of --pipe: every file must have a name of its own. */
extern void option_value_check_pipe(const char *pattern);

/*
 * Of --metrics and --metrics-label: a label has a name that Prometheus takes
 * and no other label has, and needs a file.
 */
extern void option_value_check_metrics(const Options *options);

/* Of --password-command or the like; command may be NULL. */
extern void option_value_check_password_command(const Options *options,
												const char *command,
												const char *option);

#endif							/* OPTION_VALUE_H */
