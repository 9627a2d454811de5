/*
 * report_chart.c
 *		What the charts of a report have in common, as SVG.
 */
#include "base/fe_compat.h"

#include <math.h>

#include "report/report_chart.h"
#include "report/report_text.h"

#define TIME_TICKS 8

double
chart_place(const ReportData *data, int64 time_us)
{
	double		share = (time_us - data->axis_start_us) / 1e6 /
		report_data_axis_seconds(data);

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
	double		whole = Min(report_data_axis_seconds(data), 1e8);
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
