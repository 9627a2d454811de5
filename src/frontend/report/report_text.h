/*
 * report_text.h
 *		Text, numbers and times on a page of HTML.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "base/units.h"

/* Room for any text of these functions. */
#define REPORT_TEXT_BYTES 64

/*
 * Append any text, be it meant to do harm: nothing in it is taken for HTML,
 * between tags or in an attribute.  What is not valid UTF-8 becomes the
 * characters of its bytes' numbers (LATIN1); controls are as printable() has
 * them.
 */
extern void report_append_text(PQExpBuffer page, const char *text);

/* The same within <bdi>: its direction changes nothing around it. */
extern void report_append_name(PQExpBuffer page, const char *name);

/* "1,234,567"; returns buf. */
extern const char *report_number(uint64 number, char buf[REPORT_TEXT_BYTES]);

/* "1,234,567", "12.3 million", "8.30 billion"; returns buf. */
extern const char *report_short_number(uint64 number,
									   char buf[REPORT_TEXT_BYTES]);

/* "1 file", "1,234 files"; returns buf. */
extern const char *report_count(uint64 number, const char *noun,
								char buf[REPORT_TEXT_BYTES]);

/* "0.42 s", "12.3 s", "6 min 34 s", "3 h 05 min"; returns buf. */
extern const char *report_seconds(double seconds,
								  char buf[REPORT_TEXT_BYTES]);

/* Bytes a second, "34.5 MB/s"; returns buf. */
extern const char *report_rate(double bytes, double seconds,
							   char buf[REPORT_TEXT_BYTES]);

/* A share as "3.2 %"; returns buf. */
extern const char *report_percent(double part, double whole,
								  char buf[REPORT_TEXT_BYTES]);

/* How much smaller something became, "2.8 : 1"; returns buf. */
extern const char *report_ratio(uint64 before, uint64 after,
								char buf[REPORT_TEXT_BYTES]);

/* Microseconds since 1970 as "2026-11-21 07:56:38 UTC"; returns buf. */
extern const char *report_time(int64 time_us, char buf[REPORT_TEXT_BYTES]);

#endif							/* REPORT_TEXT_H */
