/*
 * report_throughput.h
 *		The curve of throughput.
 */
#ifndef REPORT_THROUGHPUT_H
#define REPORT_THROUGHPUT_H

#include "pqexpbuffer.h"

#include "report/report_data.h"

/*
 * Bytes a second before and after compression, as if those of each file had
 * come evenly.  Returns the highest rate before it.
 */
extern double throughput_append(PQExpBuffer page,
								const ReportData *data);

#endif							/* REPORT_THROUGHPUT_H */
