/*
 * report_page.h
 *		What stands where on the page of --report.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "pqexpbuffer.h"

#include "archive/manifest.h"
#include "report/report_input.h"

/*
 * Append the whole page, as report_end() describes it.  Whether there was
 * memory for it, the caller looks.
 */
extern void report_page_append(PQExpBuffer page, const Manifest *manifest,
							   const ReportVerify *verify, const ReportCopy *copy);

#endif							/* REPORT_PAGE_H */
