/*
 * report_timeline.h
 *		What each process did when.
 */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include "pqexpbuffer.h"

#include "report/report_data.h"

/*
 * What each worker did when; of a copy its stages, and what the sessions did
 * that built indexes, too.  However many files there are, there are no more
 * than some thousand pieces: those too narrow to be seen are drawn together.
 */
extern void timeline_append(PQExpBuffer page, const ReportData *data);

#endif							/* REPORT_TIMELINE_H */
