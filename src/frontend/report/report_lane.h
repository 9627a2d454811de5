/*
 * report_lane.h
 *		A lane of the timeline: what one process did when.
 *
 * Spans narrower than LANE_MIN_PIECE, or more if there are many lanes, are
 * drawn with their neighbours in one piece, in the colour of the table that
 * takes most of it.  Any two neighbouring pieces are together at least as
 * wide as that, which limits their number.
 */
#ifndef REPORT_LANE_H
#define REPORT_LANE_H

#include "pqexpbuffer.h"

#include "report/report_data.h"

/* One or several things that were done at a time. */
typedef struct LaneSpan
{
	int64		start_us;
	int64		end_us;
	int			table;			/* in ReportData.tables; -1: none, or many */
	int			n;				/* things */
	uint64		raw_bytes;
	const ManifestFile *file;	/* what it is: a file, or */
	const char *name;			/* an index, if there is but one */
} LaneSpan;

typedef struct Lane
{
	const char *things;			/* what spans are of: "files" */
	int			y;
	int			height;
	double		min_width;		/* of a piece */
} Lane;

/* Lanes and what is in them are a bit apart. */
extern int	lane_piece_height(const Lane *lane);

/* How high lanes are, so many being there; and their least width. */
extern Lane lane_of(int n_lanes);

/* The background, and the words before it, which are safe. */
extern void lane_begin(PQExpBuffer page, const Lane *lane, const char *words);

/* What was done, in the order of time. */
extern void lane_append_spans(PQExpBuffer page, const ReportData *data,
							  const Lane *lane, const LaneSpan *spans,
							  int n_spans);

#endif							/* REPORT_LANE_H */
