/*
 * report.h
 *		--report: a page that shows how a dump went, drawn from its manifest,
 *		or a direct copy, drawn from what would be its manifest.
 */
#ifndef REPORT_H
#define REPORT_H

#include "archive/manifest.h"
#include "report/report_input.h"

typedef struct Report Report;

/*
 * Begin the page, by a temporary file beside it, mode 0600, that is removed
 * if the program fails.  Exits with a message if it could not be written
 * there, or if path is in the archive's directory, where it would be no file
 * of the archive's; directory may be NULL.  NULL if path is NULL.
 */
extern Report *report_begin(const char *path, const char *directory);

/*
 * Write the page, give it its name, and free the report.  It is one file of
 * HTML that needs nothing else, not even a network, and some 3 MB at most.
 * manifest may be NULL if there is none, verify if that was not asked for,
 * copy if it is none.  Exits with a message on errors.  NULL for a report is
 * passed over.
 */
extern void report_end(Report *report, const Manifest *manifest,
					   const ReportVerify *verify, const ReportCopy *copy);

#endif							/* REPORT_H */
