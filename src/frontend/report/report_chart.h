/*
 * report_chart.h
 *		What the charts of a report have in common, as SVG.
 *
 * All have one time axis, from the first file's start to the last one's end,
 * or, of a copy, from its beginning to its end; one unit is one pixel on a
 * wide screen.
 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "pqexpbuffer.h"

#include "report/report_data.h"

#define CHART_LEFT 72			/* numbers of workers, values */
#define CHART_WIDTH 984
#define CHART_RIGHT 4
#define CHART_AXIS 26			/* times below */

/* The place of a moment, within the chart. */
extern double chart_place(const ReportData *data, int64 time_us);

/* Begin an image of this height, axis not counted; label tells what it is. */
extern void chart_begin(PQExpBuffer page, const char *label, int height);

/* Lines, and times since the beginning below them. */
extern void chart_axis(PQExpBuffer page, const ReportData *data, int height);

/* 1, 2 or 5 times a power of ten: at most so many of it make up the whole. */
extern double chart_step(double whole, int n_steps);

/* The end of what chart_begin() began. */
extern void chart_end(PQExpBuffer page);

#endif							/* REPORT_CHART_H */
