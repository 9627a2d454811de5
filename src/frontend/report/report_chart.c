/*
 * report_chart.c
 *		What the charts have in common, and the curve of throughput.
 */
#include "base/fe_compat.h"

#include <math.h>

#include "report/report_chart.h"
#include "report/report_text.h"

#define TIME_TICKS 8
#define RATE_TICKS 4
#define CURVE_HEIGHT 170
#define CURVE_STEPS 160

double
chart_place(const ReportData *data, int64 time_us)
{
	double		share = (time_us - data->axis_start_us) / 1e6 /
		report_axis_seconds(data);

	return CHART_LEFT + Min(Max(share, 0), 1) * CHART_WIDTH;
}

void
chart_begin(PQExpBuffer page, const char *label, int height)
{
	appendPQExpBuffer(page, "<div class=\"chart\"><svg viewBox=\"0 -4 %d %d\" role=\"img\" aria-label=\"",
					  CHART_LEFT + CHART_WIDTH + CHART_RIGHT,
					  height + CHART_AXIS + 4);
	report_append_text(page, label);
	appendPQExpBufferStr(page, "\">\n");
}

void
chart_end(PQExpBuffer page)
{
	appendPQExpBufferStr(page, "</svg></div>\n");
}

double
chart_step(double whole, int n_steps)
{
	double		power = pow(10, floor(log10(whole / n_steps)));

	for (int i = 0; i < 3; i++)
	{
		static const double steps[] = {1, 2, 5};

		if (whole <= power * steps[i] * n_steps)
			return power * steps[i];
	}
	return power * 10;
}

/* The same for time, whose units are not all decimal. */
static double
time_step(double seconds)
{
	static const int steps[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
		1800, 3600, 7200, 10800, 21600, 43200, 86400
	};

	if (seconds > TIME_TICKS)
		for (int i = 0; i < (int) lengthof(steps); i++)
			if (seconds <= (double) steps[i] * TIME_TICKS)
				return steps[i];
	return seconds > 86400 ? 86400 * chart_step(seconds / 86400, TIME_TICKS) :
		chart_step(seconds, TIME_TICKS);
}

/* Times of one axis have one form. */
static void
append_tick(PQExpBuffer page, double seconds, double step)
{
	int			s = (int) (seconds + 0.5);

	if (step < 1 || (step < 60 && step * TIME_TICKS < 120))
		appendPQExpBuffer(page, "%g s", seconds);
	else if (step < 60)
		appendPQExpBuffer(page, "%d:%02d", s / 60, s % 60);
	else if (step * TIME_TICKS < 7200)
		appendPQExpBuffer(page, "%d min", s / 60);
	else
		appendPQExpBuffer(page, "%d:%02d h", s / 3600, s / 60 % 60);
}

void
chart_axis(PQExpBuffer page, const ReportData *data, int height)
{
	double		whole = Min(report_axis_seconds(data), 1e8);
	double		step = time_step(whole);

	for (int i = 0; i * step <= whole; i++)
	{
		double		x = CHART_LEFT + CHART_WIDTH * (i * step / whole);

		/* the last one must not stick out */
		appendPQExpBuffer(page, "<path class=\"grid\" d=\"M%.1f 0V%d\"/><text x=\"%.1f\" y=\"%d\" class=\"%s\">",
						  x, height + 4, x, height + 18,
						  x > CHART_LEFT + CHART_WIDTH - 20 ? "end" : "mid");
		append_tick(page, i * step, step);
		appendPQExpBufferStr(page, "</text>\n");
	}
}

/* ----------
 * Throughput
 * ----------
 */
typedef struct Curve
{
	double		raw[CURVE_STEPS];	/* bytes a second */
	double		stored[CURVE_STEPS];
	double		top;
} Curve;

static void
add_to_curve(Curve *curve, const ReportData *data, const ManifestFile *file)
{
	double		step = report_axis_seconds(data) / CURVE_STEPS;
	double		begin = (file->start_us - data->axis_start_us) / 1e6;
	double		length = Max(report_file_seconds(file), 1e-6);
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
chart_append_throughput(PQExpBuffer page, const ReportData *data)
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
