/*
 * report_table.c
 *		Implements report_table.h: prints the tables of a page as HTML and as
 *		JSON, and escapes the texts in them.
 */
#include "base/fe_compat.h"

#include <time.h>

#include "mb/pg_wchar.h"

#include "base/buffer.h"
#include "base/json.h"
#include "base/units.h"
#include "report/report_table.h"

#define COLUMN(title, form, member) {title, form, offsetof(ReportRow, member)}

/* A column that no chart needs. */
#define COLUMN_ONLY_SHOWN(title, form, member) \
	{title, form, offsetof(ReportRow, member), true}

typedef enum ReportForm
{
	FORM_TEXT,
	FORM_NUMBER,				/* "1,234,567" */
	FORM_SIZE,					/* "34.5 MB" */
	FORM_RATE,					/* "34.5 MB/s" */
	FORM_SECONDS				/* "0.42 s", "6 min 34 s", "3 h 05 min" */
} ReportForm;

typedef struct ReportColumn
{
	const char *title;
	ReportForm	form;
	size_t		offset;
	bool		only_shown;		/* not in the JSON */
} ReportColumn;

/* The columns, in the order of ReportRow and of the arrays in JSON. */
static ReportColumn columns[] = {
	COLUMN("Name", FORM_TEXT, name),
	COLUMN("Table", FORM_TEXT, table),
	COLUMN("Piece", FORM_TEXT, piece),
	COLUMN("Blocks", FORM_TEXT, blocks),
	COLUMN("Notes", FORM_TEXT, notes),
	COLUMN("Worker", FORM_NUMBER, worker),
	COLUMN("Start", FORM_SECONDS, start),
	COLUMN("Ended after", FORM_SECONDS, end),
	COLUMN_ONLY_SHOWN("Time", FORM_SECONDS, time),
	COLUMN("Work", FORM_SECONDS, seconds),
	COLUMN("Pieces", FORM_NUMBER, pieces),
	COLUMN("Files", FORM_NUMBER, files),
	COLUMN("Reused", FORM_NUMBER, reused),
	COLUMN_ONLY_SHOWN("Tables", FORM_NUMBER, tables),
	COLUMN("Rows", FORM_NUMBER, rows),
	COLUMN("Data", FORM_SIZE, raw_bytes),
	COLUMN("Stored", FORM_SIZE, stored_bytes),
	COLUMN("On the wire", FORM_SIZE, wire_bytes),
	COLUMN("Reused data", FORM_SIZE, reused_bytes),
	COLUMN("Rate", FORM_RATE, rate),
};

#define N_COLUMNS ((int) lengthof(columns))

void
report_table_name_chunks(bool is_dump)
{
	for (int i = 0; i < N_COLUMNS; i++)
	{
		if (columns[i].offset == offsetof(ReportRow, piece))
			columns[i].title = is_dump ? "File" : "Chunk";
		if (columns[i].offset == offsetof(ReportRow, pieces) ||
			columns[i].offset == offsetof(ReportRow, files))
			columns[i].title = "Chunks";
	}
}

/*
 * Append a text of unknown origin so that none of its characters can end the
 * text, neither between tags nor in an attribute.  A byte that is not valid
 * UTF-8 becomes the character with its number (LATIN1).  Control characters
 * are escaped as by printable().
 */
void
report_table_text(PQExpBuffer page, const char *text)
{
	const char *pos = printable(text);
	size_t		left = strlen(pos);

	while (left > 0)
	{
		unsigned char c = (unsigned char) *pos;
		int			len = pg_encoding_verifymbchar(PG_UTF8, pos,
												   (int) Min(left, MAX_MULTIBYTE_CHAR_LEN));

		if (len <= 0 || strchr("&<>\"'", c))
		{
			/*
			 * Append the number of the character.  Browsers take 0x80 to 0x9F
			 * for Windows-1252, which is harmless.
			 */
			appendPQExpBuffer(page, "&#%d;", c);
			len = 1;
		}
		else
			appendBinaryPQExpBuffer(page, pos, len);
		pos += len;
		left -= len;
	}
}

/* ----------
 * Values.
 * ----------
 */
const char *
report_table_number(double number)
{
	char		digits[64];
	int			len = snprintf(digits, sizeof(digits), "%.0f", number);
	PQExpBufferData result = buffer_new();

	for (int i = 0; i < len; i++)
		appendPQExpBuffer(&result, "%s%c", i > 0 && (len - i) % 3 == 0 ? "," : "",
						  digits[i]);
	return result.data;
}

/*
 * The text has at most two units, and is rounded so that "60 s" does not
 * appear.
 */
const char *
report_table_seconds(double seconds)
{
	/* A manifest may contain impossible times. */
	double		s = Min(Max(seconds, 0), 1e9);
	int			whole = (int) (s + 0.5);

	if (s < 59.95)
		return psprintf("%.*f s", s < 9.995 ? 2 : 1, s);
	if (whole < 3600)
		return psprintf("%d min %02d s", whole / 60, whole % 60);
	return psprintf("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

const char *
report_table_time(int64 time_us)
{
	time_t		seconds = (time_t) (time_us / 1000000);
	struct tm	tm;
	char		text[64];

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	return pg_strdup(text);
}

/*
 * These return the value of a text column, which may be NULL, and of a number
 * column.
 */
static const char *
text_of(const ReportColumn *column, const ReportRow *row)
{
	return *(const char *const *) ((const char *) row + column->offset);
}

static double
number_of(const ReportColumn *column, const ReportRow *row)
{
	return *(const double *) ((const char *) row + column->offset);
}

/*
 * Does any row have a value in this column? 0 counts as none, since a page
 * without the column shows the same.
 */
static bool
has_values(const ReportColumn *column, const ReportRow *rows, int n_rows)
{
	for (int i = 0; i < n_rows; i++)
		if (column->form == FORM_TEXT ? text_of(column, &rows[i]) != NULL :
			number_of(column, &rows[i]) != 0)
			return true;
	return false;
}

/* ----------
 * Tables.
 * ----------
 */
/*
 * Append the content of a text cell.  link is NULL or a file name that this
 * program has chosen, so it needs no escaping.
 */
static void
append_text_cell(PQExpBuffer page, const char *text, const char *link)
{
	if (link)
		appendPQExpBuffer(page, "<a href=\"%s\">", link);

	/*
	 * <bdi> keeps right-to-left text from changing the order of the text
	 * around it.
	 */
	appendPQExpBufferStr(page, "<bdi>");
	if (text)
		report_table_text(page, text);
	appendPQExpBufferStr(page, "</bdi>");
	if (link)
		appendPQExpBufferStr(page, "</a>");
}

static void
append_cell(PQExpBuffer page, const ReportColumn *column, const ReportRow *row)
{
	switch (column->form)
	{
		case FORM_TEXT:
			append_text_cell(page, text_of(column, row),
							 column == columns ? row->link : NULL);
			break;
		case FORM_NUMBER:
			appendPQExpBufferStr(page, report_table_number(number_of(column, row)));
			break;
		case FORM_SIZE:
		case FORM_RATE:
			appendPQExpBuffer(page, "%s%s",
							  units_size((uint64) Min(number_of(column, row), 1e18)),
							  column->form == FORM_RATE ? "/s" : "");
			break;
		case FORM_SECONDS:
			appendPQExpBufferStr(page, report_table_seconds(number_of(column, row)));
			break;
	}
}

/*
 * Append a row, or the head of the table if row is NULL.  The closing tag is
 * the first two characters of the opening one.
 */
static void
append_row(PQExpBuffer page, const bool *shown, const ReportRow *row)
{
	appendPQExpBufferStr(page, "<tr>");
	for (int i = 0; i < N_COLUMNS; i++)
	{
		const char *class = columns[i].form == FORM_TEXT ? "" : " class=\"num\"";
		const char *tag = row == NULL ? "th scope=\"col\"" :
			i == 0 ? "th scope=\"row\"" : "td";

		if (!shown[i])
			continue;
		appendPQExpBuffer(page, "<%s%s>", tag, class);
		if (row)
			append_cell(page, &columns[i], row);
		else
			appendPQExpBufferStr(page, columns[i].title);
		appendPQExpBuffer(page, "</%.2s>", tag);
	}
	appendPQExpBufferStr(page, "</tr>\n");
}

/*
 * Append a row as a JSON array.  It also contains empty values, because the
 * script finds values by their position.
 */
static void
append_json(PQExpBuffer json, const ReportRow *row)
{
	for (int i = 0; i < N_COLUMNS; i++)
	{
		const ReportColumn *column = &columns[i];

		if (column->only_shown)
			continue;
		appendPQExpBufferChar(json, i == 0 ? '[' : ',');
		if (column->form != FORM_TEXT)
			appendPQExpBuffer(json, "%.*f", column->form == FORM_SECONDS &&
							  number_of(column, row) != 0 ? 6 : 0,
							  number_of(column, row));
		else if (text_of(column, row))
			json_append_text(json, printable(text_of(column, row)), 0);
		else
			appendPQExpBufferStr(json, "\"\"");
	}
	appendPQExpBufferChar(json, ']');
}

void
report_table_append(PQExpBuffer page, PQExpBuffer json, const char *id,
					const char *title, const ReportRow *rows, int n_rows,
					int n_shown)
{
	bool		shown[N_COLUMNS];

	if (n_rows == 0)
		return;
	for (int i = 0; i < N_COLUMNS; i++)
		shown[i] = has_values(&columns[i], rows, n_rows);
	appendPQExpBuffer(page, "<section><h2>%s</h2>\n<div class=\"wide\"><table id=\"%s\"><thead>",
					  title, id);
	append_row(page, shown, NULL);
	appendPQExpBufferStr(page, "</thead><tbody>\n");
	for (int i = 0; i < Min(n_rows, n_shown); i++)
		append_row(page, shown, &rows[i]);
	appendPQExpBufferStr(page, "</tbody></table></div></section>\n");
	if (json == NULL)
		return;
	appendPQExpBuffer(json, ",\n\"%s\":[\n", id);
	for (int i = 0; i < n_rows; i++)
	{
		append_json(json, &rows[i]);
		appendPQExpBufferStr(json, i + 1 < n_rows ? ",\n" : "]");
	}
}

void
report_table_facts(PQExpBuffer page, ReportRow *facts, int n_facts)
{
	int			n = 0;

	for (int i = 0; i < n_facts; i++)
		if (facts[i].notes)
			facts[n++] = facts[i];
	report_table_append(page, NULL, "details", "Details", facts, n, n);
}

void
report_table_script(PQExpBuffer page, const char *json)
{
	/* These characters occur only in strings, where an escape is valid. */
	for (const char *c = json; *c; c++)
	{
		if (*c == '<')
			appendPQExpBufferStr(page, "\\u003c");
		else if (strncmp(c, "\342\200\250", 3) == 0 ||
				 strncmp(c, "\342\200\251", 3) == 0)
		{
			c += 2;
			appendPQExpBufferStr(page, *c == '\250' ? "\\u2028" : "\\u2029");
		}
		else
			appendPQExpBufferChar(page, *c);
	}
}
