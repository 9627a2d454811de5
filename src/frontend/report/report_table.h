/*
 * report_table.h
 *		The tables of a report.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "pqexpbuffer.h"

#include "report/report_data.h"

/* Which colour is which table. */
extern void report_table_append_legend(PQExpBuffer page, const ReportData *data);

/*
 * The largest tables, with their rates of compression, and the sum of others.
 */
extern void report_table_append_tables(PQExpBuffer page, const ReportData *data);

/* What each worker did, and for how long. */
extern void report_table_append_workers(PQExpBuffer page, const ReportData *data);

/* The files that took longest. */
extern void report_table_append_slowest(PQExpBuffer page, const ReportData *data);

#endif							/* REPORT_TABLE_H */
