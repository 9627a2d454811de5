/*
 * units.h
 *		Formats sizes, durations and counts for users, in messages, progress
 *		lines and reports.
 */
#ifndef UNITS_H
#define UNITS_H

#include "pqexpbuffer.h"

/*
 * The size that is enough for any text of these functions.  The texts of the
 * first five functions stay valid until the next eight texts, so that a
 * message can contain several.
 */
#define UNITS_BYTES 32

/*
 * Returns a size with three digits and its unit, in steps of 1024 as in
 * PostgreSQL: "512 bytes", "1.50 MB", "128 GB".
 */
extern const char *units_size(uint64 bytes);

/* Returns bytes per second: "1.50 MB/s". */
extern const char *units_rate(double bytes, double seconds);

/*
 * Returns seconds as minutes and seconds, "2:07", or with hours, "26:05:09".
 */
extern const char *units_duration(double seconds);

/*
 * Returns how long a step took: "45.2 s", and from a minute on as
 * units_duration().
 */
extern const char *units_elapsed(double seconds);

/* Returns a count with commas: "1,241,000". */
extern const char *units_count(uint64 number);

/*
 * Append an item to a list, with a comma between two of them.  An item is a
 * value with its unit or its noun, which does not depend on the other items:
 * "2 tables", "1.50 MB".
 */
extern void units_list_add(PQExpBuffer list, const char *item);

/*
 * The names of n things, of which names contains at most n_shown: "public.a,
 * public.b" or "public.a, public.b and 3 more".  Owned.
 */
extern char *units_names(const char *names, int n, int n_shown);

/* Append a printable name to such names. */
extern void units_names_add(PQExpBuffer names, const char *name);

#endif							/* UNITS_H */
