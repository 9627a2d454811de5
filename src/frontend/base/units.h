/*
 * units.h
 *		Sizes, times and counts as people read them.
 */
#ifndef UNITS_H
#define UNITS_H

#include "pqexpbuffer.h"

/*
 * Room for any text of these functions.  Those of the first three last until
 * eight more were made: a message can have several.
 */
#define UNITS_BYTES 32

/*
 * Bytes with three digits and the unit, in steps of 1024 as PostgreSQL counts
 * them: "512 bytes", "1.50 MB", "128 GB".
 */
extern const char *units_size(uint64 bytes);

/* Seconds as minutes and seconds, "2:07", or with hours, "26:05:09". */
extern const char *units_duration(double seconds);

/* A count with commas: "1,241,000". */
extern const char *units_count(uint64 number);

/* What a noun ends in after this number: "s", or nothing after 1. */
extern const char *units_plural(uint64 number);

/*
 * The detail of a message about n things, of which at most n_shown are named:
 * a format, with %s for the names.
 */
extern const char *units_names_format(int n, int n_shown);

/* Add a name to those, as it is shown, after a comma if it is not the first. */
extern void units_names_add(PQExpBuffer names, const char *name);

#endif							/* UNITS_H */
