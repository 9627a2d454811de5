/*
 * report_timeline.c
 *		What each worker of a dump did when: one lane a worker, one piece a
 *		file, coloured by its table.
 *
 * Of a copy, a lane above tells its stages, to the end of the run, and lanes
 * below what the index jobs did.
 */
#include "base/fe_compat.h"

#include "archive/manifest_name.h"
#include "report/report_chart.h"
#include "report/report_lane.h"
#include "report/report_text.h"
#include "report/report_timeline.h"

/* About the width of a letter, and the room beside a word. */
#define LETTER 6.3
#define WORD_MARGIN 4

/*
 * Fills in the spans of lane number no, in the order of time, and returns how
 * many they are.  Lanes are asked for one after the other: *next, 0 in the
 * beginning, is where what belongs to this one begins.
 */
typedef int (*CollectSpans) (LaneSpan *spans, const ReportData *data, int no,
							 int *next);

/* ----------
 * Workers
 * ----------
 */

/* A CollectSpans: the worker's files are the next from *next on. */
static int
collect_files(LaneSpan *spans, const ReportData *data, int worker, int *next)
{
	int			n = 0;

	for (; *next < data->n_files &&
		 data->files[*next].file->worker == worker; ++*next)
	{
		const ReportFile *file = &data->files[*next];
		LaneSpan	span = {
			.start_us = file->file->start_us,
			.end_us = file->file->end_us,
			.table = file->table,
			.n = 1,
			.raw_bytes = file->file->raw_bytes,
			.file = file->file,
		};

		/* or its times are not known */
		if (report_data_file_seconds(file->file) > 0 || file->file->start_us > 0)
			spans[n++] = span;
	}
	return n;
}

/* ----------
 * Indexes
 * ----------
 */
static int
n_index_lanes(const ReportData *data)
{
	const ReportCopy *copy = data->copy;

	if (copy == NULL || copy->n_builds == 0)
		return 0;
	return Min(copy->builds[copy->n_builds - 1].index_job + 1, REPORT_MAX_LANES);
}

/*
 * A CollectSpans: the index job's indexes are the next from *next on; a span
 * are those of one run.
 */
static int
collect_builds(LaneSpan *spans, const ReportData *data, int index_job,
			   int *next)
{
	const ReportCopy *copy = data->copy;
	int			n = 0;

	for (; *next < copy->n_builds &&
		 copy->builds[*next].index_job == index_job; ++*next)
	{
		const ReportBuild *build = &copy->builds[*next];
		char	   *table = manifest_name_table(build->schema, build->table);
		LaneSpan	span = {
			.start_us = build->start_us,
			.end_us = build->end_us,
			.table = report_data_find(data, table),
			.n = 1,
			.name = build->name,
		};

		free(table);
		if (n > 0 && spans[n - 1].start_us == span.start_us)
		{
			spans[n - 1].n++;
			if (spans[n - 1].table != span.table)
				spans[n - 1].table = -1;
		}
		else
			spans[n++] = span;
	}
	return n;
}

/* ----------
 * Lanes
 * ----------
 */

/* High lanes have words before them, and of low ones every fifth a number. */
static void
begin_numbered(PQExpBuffer page, const Lane *lane, const char *noun, int no)
{
	char		words[REPORT_TEXT_BYTES] = "";

	if (lane->height > 12)
		snprintf(words, sizeof(words), "%s %d", noun, no);
	else if (no % 5 == 0)
		snprintf(words, sizeof(words), "%d", no);
	lane_begin(page, lane, words);
}

/* Lanes of one kind, which noun names; at most so many spans each. */
static void
append_lanes(PQExpBuffer page, const ReportData *data, Lane *lane,
			 const char *noun, int n_lanes, CollectSpans collect, int max_spans)
{
	LaneSpan   *spans = pg_malloc((max_spans + 1) * sizeof(LaneSpan));
	int			next = 0;

	for (int i = 0; i < n_lanes; i++)
	{
		int			n = collect(spans, data, i, &next);

		begin_numbered(page, lane, noun, i);
		lane_append_spans(page, data, lane, spans, n);
		lane->y += lane->height;
	}
	free(spans);
}

/* ----------
 * Stages
 * ----------
 */
static void
append_stage(PQExpBuffer page, const ReportData *data, const Lane *lane,
			 const ReportStage *stage, int64 end_us)
{
	double		begin = chart_place(data, stage->start_us);
	double		width = Max(chart_place(data, end_us) - begin, 0.6);
	char		text[REPORT_TEXT_BYTES];

	appendPQExpBuffer(page, "<rect class=\"raw\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><title>%s\n%s",
					  begin, lane->y, width > 3 ? width - 0.8 : width,
					  lane_piece_height(lane), stage->name,
					  report_seconds((end_us - stage->start_us) / 1e6, text));
	appendPQExpBuffer(page, ", from %s on</title></rect>\n",
					  report_seconds((stage->start_us - data->axis_start_us) / 1e6,
									 text));
	if (strlen(stage->name) * LETTER + 2 * WORD_MARGIN <= width)
		appendPQExpBuffer(page, "<text class=\"ink\" x=\"%.1f\" y=\"%d\">%s</text>\n",
						  begin + WORD_MARGIN,
						  lane->y + lane_piece_height(lane) / 2 + 4, stage->name);
}

static void
append_stages(PQExpBuffer page, const ReportData *data, Lane *lane)
{
	const ReportCopy *copy = data->copy;
	Lane		high = lane_of(1);

	high.y = lane->y;
	lane_begin(page, &high, "stages");
	for (int i = 0; i < copy->n_stages; i++)
		append_stage(page, data, &high, &copy->stages[i],
					 i + 1 < copy->n_stages ? copy->stages[i + 1].start_us :
					 copy->end_us);
	lane->y += high.height;
}

void
timeline_append(PQExpBuffer page, const ReportData *data)
{
	int			n_lanes = data->n_workers + n_index_lanes(data);
	Lane		lane = lane_of(n_lanes);
	int			height = n_lanes * lane.height +
		(data->copy ? lane_of(1).height : 0);

	chart_begin(page, "What each worker did over the time; the tables below tell the same",
				height);
	chart_axis(page, data, height);
	if (data->copy)
		append_stages(page, data, &lane);
	lane.things = data->is_copy ? "pieces" : "files";
	append_lanes(page, data, &lane, "worker", data->n_workers,
				 collect_files, data->n_files);
	lane.things = "indexes";
	if (data->copy)
		append_lanes(page, data, &lane, "indexes", n_index_lanes(data),
					 collect_builds, data->copy->n_builds);
	chart_end(page);
}
