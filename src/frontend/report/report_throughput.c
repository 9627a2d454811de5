/*
 * report_throughput.c
 *		The curve of throughput.
 */
#include "base/fe_compat.h"

#include <math.h>

#include "report/report_chart.h"
#include "report/report_throughput.h"

#define RATE_TICKS 4
#define CURVE_HEIGHT 170
#define CURVE_STEPS 160

typedef struct Curve
{
	double		raw[CURVE_STEPS];	/* bytes a second */
	double		stored[CURVE_STEPS];
	double		top;
} Curve;

static void
add_to_curve(Curve *curve, const ReportData *data, const ManifestFile *file)
{
	double		step = report_data_axis_seconds(data) / CURVE_STEPS;
	double		begin = (file->start_us - data->axis_start_us) / 1e6;
	double		length = Max(report_data_file_seconds(file), 1e-6);
	int			first = Min((int) (begin / step), CURVE_STEPS - 1);

	for (int i = first; i < CURVE_STEPS; i++)
	{
		double		inside = Min(begin + length, (i + 1) * step) -
			Max(begin, i * step);

		/* what came at the very end of the last step */
		if (i == first && inside <= 0)
			inside = length;
		if (inside <= 0)
			break;
		curve->raw[i] += file->raw_bytes * (inside / length) / step;
		curve->stored[i] += file->stored_bytes * (inside / length) / step;
	}
}

static void
make_curve(Curve *curve, const ReportData *data)
{
	memset(curve, 0, sizeof(Curve));
	for (int i = 0; i < data->n_files; i++)
		if (data->files[i].file->start_us >= data->start_us &&
			data->files[i].file->end_us >= data->files[i].file->start_us)
			add_to_curve(curve, data, data->files[i].file);
	for (int i = 0; i < CURVE_STEPS; i++)
		curve->top = Max(curve->top, Max(curve->raw[i], curve->stored[i]));
}

static double
rate_place(double rate, double top)
{
	return CURVE_HEIGHT - rate / top * (CURVE_HEIGHT - 8);
}

/* Lines and rates; returns the rate at the upper edge. */
static double
append_rates(PQExpBuffer page, double top)
{
	double		unit = 1024;
	double		step;

	while (top / unit >= 1000)
		unit *= 1024;
	step = chart_step(Max(top, 1024) / unit, RATE_TICKS) * unit;
	top = ceil(Max(top, 1024) / step) * step;
	for (int i = 0; i * step <= top * 1.001; i++)
	{
		double		y = rate_place(i * step, top);
		char		text[UNITS_BYTES];

		appendPQExpBuffer(page, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>",
						  CHART_LEFT, y, CHART_LEFT + CHART_WIDTH);
		if (i > 0)
			appendPQExpBuffer(page, "<text x=\"%d\" y=\"%.1f\" class=\"end\">%s/s</text>\n",
							  CHART_LEFT - 8, y + 4,
							  units_size((uint64) Min(i * step, 1e18), text));
	}
	return top;
}

static void
append_curve(PQExpBuffer page, const double *rates, double top,
			 const char *class, bool closed)
{
	appendPQExpBuffer(page, "<path class=\"%s\" d=\"M%d %d", class, CHART_LEFT,
					  CURVE_HEIGHT);
	for (int i = 0; i < CURVE_STEPS; i++)
		appendPQExpBuffer(page, "%c%.1f H%.1f", 'V', rate_place(rates[i], top),
						  CHART_LEFT + (double) CHART_WIDTH * (i + 1) / CURVE_STEPS);
	appendPQExpBuffer(page, "V%d%s\"/>\n", CURVE_HEIGHT, closed ? "Z" : "");
}

double
throughput_append(PQExpBuffer page, const ReportData *data)
{
	Curve	   *curve = pg_malloc(sizeof(Curve));
	double		highest;
	double		top;

	make_curve(curve, data);
	highest = curve->top;
	chart_begin(page, data->is_copy ? "Bytes a second over the time" :
				"Bytes a second over the time, before and after compression",
				CURVE_HEIGHT);
	top = append_rates(page, curve->top);
	chart_axis(page, data, CURVE_HEIGHT);
	append_curve(page, curve->raw, top, "raw", true);
	if (!data->is_copy)
		append_curve(page, curve->stored, top, "stored", true);
	chart_end(page);
	free(curve);
	return highest;
}
