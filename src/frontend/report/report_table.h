/*
 * report_table.h
 *		The tables of a page: rows as HTML for readers without scripts, and as
 *		JSON for the script of the page.
 *
 * Texts are of unknown origin, and are escaped here.  They are not freed, as
 * the page is the last thing that a program makes.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "pqexpbuffer.h"

/*
 * A row of any of the tables.  A column is left out of a table if no row has
 * a value, so each table shows some of these members.
 */
typedef struct ReportRow
{
	const char *name;			/* as in SQL; first, for compare_strings() */
	const char *table;			/* that the index or partition belongs to */
	const char *piece;			/* the file's path, or which part it is */
	const char *blocks;
	const char *notes;			/* which rows, or the value of a detail */
	const char *link;			/* from the name; or NULL */
	double		worker;
	double		start;			/* seconds from the beginning of the charts */
	double		end;
	double		time;			/* from start to end, of a database */
	double		seconds;		/* of work */
	double		pieces;			/* of a copy or a backup */
	double		files;			/* of a dump or a backup */
	double		reused;			/* files from the previous archive */
	double		tables;			/* of a database */
	double		rows;
	double		raw_bytes;
	double		stored_bytes;
	double		wire_bytes;		/* of a copy */
	double		reused_bytes;	/* of raw_bytes, those of reused files */
	double		rate;			/* bytes a second */
} ReportRow;

/* Append a text to HTML, between tags or in an attribute. */
extern void report_table_text(PQExpBuffer page, const char *text);

/* "1,234,567", "2 files", "6 min 34 s"; owned. */
extern const char *report_table_number(double number);
extern const char *report_table_count(double number, const char *noun);
extern const char *report_table_seconds(double seconds);

/*
 * Append the first n_shown rows to the page, in a section with this title,
 * and all n_rows to the JSON, as "id": [[value, ...], ...] with all members.
 * Nothing if there are no rows.  json may be NULL.
 */
extern void report_table_append(PQExpBuffer page, PQExpBuffer json,
								const char *id, const char *title,
								const ReportRow *rows, int n_rows,
								int n_shown);

/* Append JSON as the content of a script element. */
extern void report_table_script(PQExpBuffer page, const char *json);

#endif							/* REPORT_TABLE_H */
