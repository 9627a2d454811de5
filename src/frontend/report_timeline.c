/*
 * report_timeline.c
 *		What each worker of a dump did when: one lane a worker, one piece a
 *		file, coloured by its table.
 *
 * Files narrower than MIN_PIECE, or more if there are many lanes, are drawn
 * with their neighbours in one piece, in the colour of the table that takes
 * most of it.  Any two neighbouring pieces are together at least as wide as
 * that, which limits their number.
 */
#include "fe_compat.h"

#include "printable.h"
#include "report_chart.h"
#include "report_text.h"

#define MIN_PIECE 1.5
#define MAX_PIECES 6000

/* About the width of a letter in a label, and the room beside it. */
#define LETTER 6.3
#define LABEL_MARGIN 7

typedef struct Piece
{
	double		begin;			/* places */
	double		end;
	const ReportFile *first;	/* of its files */
	int			n_files;
	bool		narrow;			/* of narrow files only */
	bool		mixed;			/* of several tables */
	int			table;			/* that takes most of it, and its width */
	double		table_width;
	uint64		raw_bytes;
	int64		start_us;
	int64		end_us;
} Piece;

typedef struct Lane
{
	Piece	   *pieces;
	int			n_pieces;
	int			y;
	int			height;
} Lane;

/* Lanes and what is in them are a bit apart. */
static int
piece_height(const Lane *lane)
{
	return lane->height - (lane->height > 20 ? 4 : 2);
}

static int
lane_height(const ReportData *data)
{
	return data->n_workers <= 16 ? 26 : data->n_workers <= 48 ? 16 : 9;
}

/* ----------
 * From files to pieces
 * ----------
 */
static void
begin_piece(Piece *piece, const ReportFile *file, double begin, double end,
			bool narrow)
{
	memset(piece, 0, sizeof(Piece));
	piece->begin = begin;
	piece->end = end;
	piece->first = file;
	piece->n_files = 1;
	piece->narrow = narrow;
	piece->table = file->table;
	piece->table_width = end - begin;
	piece->raw_bytes = file->file->raw_bytes;
	piece->start_us = file->file->start_us;
	piece->end_us = file->file->end_us;
}

static void
extend_piece(Piece *piece, const ReportFile *file, double begin, double end)
{
	if (file->table != piece->table)
		piece->mixed = true;
	/* the majority of a sequence, by one candidate (Boyer and Moore) */
	if (file->table == piece->table)
		piece->table_width += end - begin;
	else if ((piece->table_width -= end - begin) < 0)
	{
		piece->table = file->table;
		piece->table_width = -piece->table_width;
	}
	piece->end = Max(piece->end, end);
	piece->n_files++;
	piece->raw_bytes += file->file->raw_bytes;
	piece->end_us = Max(piece->end_us, file->file->end_us);
}

/* The worker's files are the next in data->files from *next on. */
static void
fill_lane(Lane *lane, const ReportData *data, int worker, int *next)
{
	double		min_width = Max(MIN_PIECE, 2.0 * CHART_WIDTH *
								data->n_workers / MAX_PIECES);

	lane->n_pieces = 0;
	for (; *next < data->n_files &&
		 data->files[*next].file->worker == worker; ++*next)
	{
		const ReportFile *file = &data->files[*next];
		double		begin = chart_place(data, file->file->start_us);
		double		end = chart_place(data, file->file->end_us);
		bool		narrow = end - begin < min_width;
		Piece	   *last = lane->n_pieces > 0 ?
			&lane->pieces[lane->n_pieces - 1] : NULL;

		if (report_file_seconds(file->file) == 0 && file->file->start_us == 0)
			continue;			/* its times are not known */
		if (last && narrow && begin - last->end < min_width &&
			(last->end - last->begin < min_width ||
			 (last->narrow && !last->mixed && last->table == file->table)))
			extend_piece(last, file, begin, end);
		else
			begin_piece(&lane->pieces[lane->n_pieces++], file, begin, end,
						narrow);
	}
}

/* ----------
 * Drawing
 * ----------
 */
static void
append_what(PQExpBuffer page, const ReportData *data, const Piece *piece)
{
	const ManifestFile *file = piece->first->file;
	char		text[REPORT_TEXT_BYTES];

	report_append_text(page, data->tables[piece->table].name);
	if (piece->n_files > 1)
		appendPQExpBuffer(page, "%s: %s", piece->mixed ? " and others" : "",
						  report_count(piece->n_files, data->piece, text));
	else
	{
		if (file->kind == MANIFEST_ROWS)
			appendPQExpBuffer(page, ", blocks: %s", report_blocks(file, text));
		appendPQExpBufferStr(page, data->is_copy ? "\n" : "\nfile ");
		report_append_text(page, file->path);
		if (file->kind == MANIFEST_ROWS)
			appendPQExpBuffer(page, ": %s",
							  report_count(file->rows, "row", text));
	}
}

/* What it was, when it is pointed at. */
static void
append_piece(PQExpBuffer page, const ReportData *data, const Lane *lane,
			 const Piece *piece)
{
	double		width = Max(piece->end - piece->begin, 0.6);
	double		seconds = (piece->end_us - piece->start_us) / 1e6;
	char		size[UNITS_BYTES];
	char		time[REPORT_TEXT_BYTES];
	char		rate[REPORT_TEXT_BYTES];
	char		start[REPORT_TEXT_BYTES];

	/* a seam between files where there is room for one */
	appendPQExpBuffer(page, "<rect class=\"c%d\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><title>",
					  data->tables[piece->table].color, piece->begin,
					  lane->y, width > 3 ? width - 0.8 : width,
					  piece_height(lane));
	append_what(page, data, piece);
	appendPQExpBuffer(page, "\n%s in %s, %s, from %s on</title></rect>\n",
					  units_size(piece->raw_bytes, size),
					  report_seconds(seconds, time),
					  report_rate(piece->raw_bytes, seconds, rate),
					  report_seconds((piece->start_us - data->start_us) / 1e6,
									 start));
}

/* The name of a table in its colour, where it fits. */
static void
append_labels(PQExpBuffer page, const ReportData *data, const Lane *lane)
{
	for (int i = 0; i < lane->n_pieces;)
	{
		const Piece *piece = &lane->pieces[i];
		const ReportTable *table = &data->tables[piece->table];
		const char *name = printable(table->name);
		double		end = piece->end;
		double		width = 2 * LABEL_MARGIN;

		for (i++; i < lane->n_pieces; i++)
		{
			const Piece *next = &lane->pieces[i];

			if (next->table != piece->table || next->begin - end > 1)
				break;
			end = next->end;
		}
		for (const char *c = name; *c; c++)
			width += !IS_HIGHBIT_SET(*c) ? LETTER :
				(*c & 0x40) ? 2 * LETTER : 0;	/* a letter begins so */
		if (width > end - piece->begin)
			continue;
		appendPQExpBuffer(page, "<text class=\"name t%d\" x=\"%.1f\" y=\"%d\">",
						  table->color, piece->begin + LABEL_MARGIN,
						  lane->y + piece_height(lane) / 2 + 4);
		report_append_text(page, name);
		appendPQExpBufferStr(page, "</text>\n");
	}
}

static void
append_lane(PQExpBuffer page, const ReportData *data, const Lane *lane,
			int worker)
{
	appendPQExpBuffer(page, "<rect class=\"lane\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
					  CHART_LEFT, lane->y, CHART_WIDTH, piece_height(lane));
	if (lane->height > 12 || worker % 5 == 0)
		appendPQExpBuffer(page, "<text x=\"%d\" y=\"%d\" class=\"end\">%s%d</text>\n",
						  CHART_LEFT - 8, lane->y + piece_height(lane) / 2 + 4,
						  lane->height > 12 ? "worker " : "", worker);
	for (int i = 0; i < lane->n_pieces; i++)
		append_piece(page, data, lane, &lane->pieces[i]);
	if (lane->height > 20)
		append_labels(page, data, lane);
}

void
chart_append_timeline(PQExpBuffer page, const ReportData *data)
{
	Lane		lane = {.height = lane_height(data)};
	int			height = data->n_workers * lane.height;
	int			next = 0;

	lane.pieces = pg_malloc((data->n_files + 1) * sizeof(Piece));
	chart_begin(page, "What each worker did over the time; the tables below tell the same",
				height);
	chart_axis(page, data, height);
	for (int i = 0; i < data->n_workers; i++)
	{
		lane.y = i * lane.height;
		fill_lane(&lane, data, i, &next);
		append_lane(page, data, &lane, i);
	}
	chart_end(page);
	free(lane.pieces);
}
