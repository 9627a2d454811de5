/*
 * report_table.h
 *		The tables of a page: rows as HTML for readers without scripts, and as
 *		JSON for the script of the page.
 *
 * Texts may come from anywhere, and are escaped here.  They are not freed,
 * because the page is the last output of a program.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "pqexpbuffer.h"

/*
 * A row of any table.  A table contains only columns in which a row has a
 * value, so each table shows some of these members.
 */
typedef struct ReportRow
{
	const char *name;			/* in SQL; first, for compare_strings() */
	const char *table;			/* table of the index or partition */
	const char *piece;			/* path or part of the file */
	const char *blocks;
	const char *notes;			/* which rows, or the value of a detail */
	const char *link;			/* link of the name, or NULL */
	double		worker;
	double		start;			/* seconds from the start of the charts */
	double		end;
	double		time;			/* from start to end, for a database */
	double		seconds;		/* seconds of work */
	double		pieces;			/* for a copy or a backup */
	double		files;			/* for a dump or a backup */
	double		reused;			/* files from the previous archive */
	double		tables;			/* for a database */
	double		rows;
	double		raw_bytes;
	double		stored_bytes;
	double		wire_bytes;		/* for a copy */
	double		reused_bytes;	/* raw_bytes of reused files */
	double		rate;			/* bytes per second */
} ReportRow;

/*
 * Call this first for a page about chunks.  Otherwise, the page is about
 * files and pieces of files.  In a dump, each chunk is a file.
 */
extern void report_table_name_chunks(bool is_dump);

/* Append a text to HTML, between tags or in an attribute. */
extern void report_table_text(PQExpBuffer page, const char *text);

/*
 * These return texts like "1,234,567", "6 min 34 s" and
 * "2026-11-21 07:56:38 UTC"; the caller owns them.
 */
extern const char *report_table_number(double number);
extern const char *report_table_seconds(double seconds);
extern const char *report_table_time(int64 time_us);

/*
 * Append the first n_shown rows to the page, in a section with this title,
 * and all n_rows rows to the JSON, as "id": [[value, ...], ...] with all
 * members.  Does nothing without rows.  json may be NULL.
 */
extern void report_table_append(PQExpBuffer page, PQExpBuffer json,
								const char *id, const char *title,
								const ReportRow *rows, int n_rows,
								int n_shown);

/*
 * Append a table of facts, whose values are notes, without those that have no
 * value.  Changes the array.
 */
extern void report_table_facts(PQExpBuffer page, ReportRow *facts, int n_facts);

/* Append JSON as the content of a script element. */
extern void report_table_script(PQExpBuffer page, const char *json);

#endif							/* REPORT_TABLE_H */
