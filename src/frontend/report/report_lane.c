/*
 * report_lane.c
 *		A lane of the timeline: what one process did when.
 */
#include "base/fe_compat.h"

#include "base/printable.h"
#include "report/report_chart.h"
#include "report/report_lane.h"
#include "report/report_text.h"

#define LANE_MIN_PIECE 1.5
#define MAX_PIECES 6000

/* About the width of a letter in a label, and the room beside it. */
#define LETTER 6.3
#define LABEL_MARGIN 7

typedef struct Piece
{
	double		begin;			/* places */
	double		end;
	LaneSpan	first;			/* of its spans */
	int			n;				/* things in all of them */
	bool		narrow;			/* of narrow spans only */
	bool		mixed;			/* of several tables */
	int			table;			/* that takes most of it, and its width */
	double		table_width;
	uint64		raw_bytes;
	int64		end_us;
} Piece;

int
lane_piece_height(const Lane *lane)
{
	return lane->height - (lane->height > 20 ? 4 : 2);
}

Lane
lane_of(int n_lanes)
{
	Lane		lane = {
		.height = n_lanes <= 16 ? 26 : n_lanes <= 48 ? 16 : 9,
		.min_width = Max(LANE_MIN_PIECE,
						 2.0 * CHART_WIDTH * n_lanes / MAX_PIECES),
	};

	return lane;
}

static int
color_of(const ReportData *data, int table)
{
	return table < 0 ? REPORT_COLORS : data->tables[table].color;
}

/* ----------
 * From spans to pieces
 * ----------
 */
static void
begin_piece(Piece *piece, const LaneSpan *span, double begin, double end,
			bool narrow)
{
	memset(piece, 0, sizeof(Piece));
	piece->begin = begin;
	piece->end = end;
	piece->first = *span;
	piece->n = span->n;
	piece->narrow = narrow;
	piece->table = span->table;
	piece->table_width = end - begin;
	piece->raw_bytes = span->raw_bytes;
	piece->end_us = span->end_us;
}

static void
extend_piece(Piece *piece, const LaneSpan *span, double begin, double end)
{
	if (span->table != piece->table)
		piece->mixed = true;
	/* the majority of a sequence, by one candidate (Boyer and Moore) */
	if (span->table == piece->table)
		piece->table_width += end - begin;
	else if ((piece->table_width -= end - begin) < 0)
	{
		piece->table = span->table;
		piece->table_width = -piece->table_width;
	}
	piece->end = Max(piece->end, end);
	piece->n += span->n;
	piece->raw_bytes += span->raw_bytes;
	piece->end_us = Max(piece->end_us, span->end_us);
}

/* Returns how many pieces there are, at most as many as spans. */
static int
make_pieces(Piece *pieces, const ReportData *data, const Lane *lane,
			const LaneSpan *spans, int n_spans)
{
	int			n = 0;

	for (int i = 0; i < n_spans; i++)
	{
		const LaneSpan *span = &spans[i];
		double		begin = chart_place(data, span->start_us);
		double		end = chart_place(data, span->end_us);
		bool		narrow = end - begin < lane->min_width;
		Piece	   *last = n > 0 ? &pieces[n - 1] : NULL;

		if (last && narrow && begin - last->end < lane->min_width &&
			(last->end - last->begin < lane->min_width ||
			 (last->narrow && !last->mixed && last->table == span->table)))
			extend_piece(last, span, begin, end);
		else
			begin_piece(&pieces[n++], span, begin, end, narrow);
	}
	return n;
}

/* ----------
 * Drawing
 * ----------
 */
static void
append_file(PQExpBuffer page, const ReportData *data, const ManifestFile *file)
{
	char		text[REPORT_TEXT_BYTES];

	if (file->kind == MANIFEST_ROWS)
		appendPQExpBuffer(page, ", blocks: %s", report_data_blocks(file, text));
	appendPQExpBufferStr(page, data->is_copy ? "\n" : "\nfile ");
	report_append_text(page, file->path);
	if (file->kind == MANIFEST_ROWS)
		appendPQExpBuffer(page, ": %s", report_count(file->rows, data->row_word, text));
}

static void
append_what(PQExpBuffer page, const ReportData *data, const Lane *lane,
			const Piece *piece)
{
	char		text[REPORT_TEXT_BYTES];

	if (piece->n == 1 && piece->first.name)
	{
		report_append_text(page, piece->first.name);
		appendPQExpBufferStr(page, "\nan index of ");
	}
	if (piece->table >= 0)
		report_append_text(page, data->tables[piece->table].name);
	else
		appendPQExpBuffer(page, piece->n > 1 ? "several %ss" : "a %s",
						  data->table_word);
	if (piece->n > 1)
		appendPQExpBuffer(page, "%s: %s %s", piece->mixed ? " and others" : "",
						  report_number(piece->n, text), lane->things);
	else if (piece->first.file)
		append_file(page, data, piece->first.file);
}

/* What it was, when it is pointed at. */
static void
append_piece(PQExpBuffer page, const ReportData *data, const Lane *lane,
			 const Piece *piece)
{
	double		width = Max(piece->end - piece->begin, 0.6);
	double		seconds = (piece->end_us - piece->first.start_us) / 1e6;
	char		text[REPORT_TEXT_BYTES];

	/* a seam between files where there is room for one */
	appendPQExpBuffer(page, "<rect class=\"c%d\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><title>",
					  color_of(data, piece->table), piece->begin,
					  lane->y, width > 3 ? width - 0.8 : width,
					  lane_piece_height(lane));
	append_what(page, data, lane, piece);
	appendPQExpBufferStr(page, "\n");
	if (piece->first.file)
	{
		appendPQExpBuffer(page, "%s in ", units_size(piece->raw_bytes, text));
		appendPQExpBuffer(page, "%s, ", report_seconds(seconds, text));
		appendPQExpBufferStr(page, report_rate(piece->raw_bytes, seconds, text));
	}
	else
		appendPQExpBufferStr(page, report_seconds(seconds, text));
	appendPQExpBuffer(page, ", from %s on</title></rect>\n",
					  report_seconds((piece->first.start_us -
									  data->axis_start_us) / 1e6, text));
}

/* The name of a table in its colour, where it fits. */
static void
append_labels(PQExpBuffer page, const ReportData *data, const Lane *lane,
			  const Piece *pieces, int n_pieces)
{
	for (int i = 0; i < n_pieces;)
	{
		const Piece *piece = &pieces[i];
		const char *name = piece->table < 0 ? "" :
			printable(data->tables[piece->table].name);
		double		end = piece->end;
		double		width = 2 * LABEL_MARGIN;

		for (i++; i < n_pieces; i++)
		{
			const Piece *next = &pieces[i];

			if (next->table != piece->table || next->begin - end > 1)
				break;
			end = next->end;
		}
		for (const char *c = name; *c; c++)
			width += !IS_HIGHBIT_SET(*c) ? LETTER :
				(*c & 0x40) ? 2 * LETTER : 0;	/* a letter begins so */
		if (*name == '\0' || width > end - piece->begin)
			continue;
		appendPQExpBuffer(page, "<text class=\"name t%d\" x=\"%.1f\" y=\"%d\">",
						  color_of(data, piece->table),
						  piece->begin + LABEL_MARGIN,
						  lane->y + lane_piece_height(lane) / 2 + 4);
		report_append_text(page, name);
		appendPQExpBufferStr(page, "</text>\n");
	}
}

void
lane_begin(PQExpBuffer page, const Lane *lane, const char *words)
{
	appendPQExpBuffer(page, "<rect class=\"lane\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
					  CHART_LEFT, lane->y, CHART_WIDTH, lane_piece_height(lane));
	if (*words)
		appendPQExpBuffer(page, "<text x=\"%d\" y=\"%d\" class=\"end\">%s</text>\n",
						  CHART_LEFT - 8, lane->y + lane_piece_height(lane) / 2 + 4,
						  words);
}

void
lane_append_spans(PQExpBuffer page, const ReportData *data, const Lane *lane,
				  const LaneSpan *spans, int n_spans)
{
	Piece	   *pieces = pg_malloc((n_spans + 1) * sizeof(Piece));
	int			n_pieces = make_pieces(pieces, data, lane, spans, n_spans);

	for (int i = 0; i < n_pieces; i++)
		append_piece(page, data, lane, &pieces[i]);
	if (lane->height > 20)
		append_labels(page, data, lane, pieces, n_pieces);
	free(pieces);
}
