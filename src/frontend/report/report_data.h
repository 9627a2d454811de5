/*
 * report_data.h
 *		What a report shows: a manifest, by table and by worker.
 */
#ifndef REPORT_DATA_H
#define REPORT_DATA_H

#include "archive/manifest.h"
#include "report/report_input.h"
#include "report/report_text.h"

/* Tables with a colour of their own; all others share the last one. */
#define REPORT_COLORS 7

/* The share of the work that is worth a colour. */
#define REPORT_COLOR_SHARE 0.01

/* Workers beyond these are not shown one by one. */
#define REPORT_MAX_LANES 256

/* A table, or all large objects. */
typedef struct ReportTable
{
	char	   *name;			/* as SQL has it; owned */
	char	   *root;			/* the same of the partitioned table at the
								 * top; NULL if it is no partition */
	const ManifestFile *first;	/* of its files; tells its filters */
	int			n_files;
	int			n_reused;		/* files of the previous archive */
	uint64		rows;
	uint64		raw_bytes;
	uint64		stored_bytes;
	double		seconds;		/* of work, by all workers */
	int			color;			/* 0 to REPORT_COLORS */
} ReportTable;

typedef struct ReportWorker
{
	int			n_files;
	uint64		raw_bytes;
	double		seconds;		/* of work */
	int64		last_us;		/* its last file's end; 0 if it had none */
} ReportWorker;

/* A file of rows or of a large object, which is what workers make. */
typedef struct ReportFile
{
	const ManifestFile *file;
	int			table;			/* in ReportData.tables */
} ReportFile;

typedef struct ReportData
{
	const Manifest *manifest;	/* borrowed, its names too */
	bool		is_copy;		/* of nothing stored */
	bool		is_backup;		/* so is a base backup's: see ReportCopy */
	const ReportCopy *copy;		/* NULL if it is none; borrowed */
	const char *piece;			/* what workers make: "file", or "piece" */
	const char *table_word;		/* what they are of: "table", or "file" */
	const char *row_word;		/* and that has: "row", or "file" */
	ReportTable *tables;		/* the one with most raw bytes first */
	int			n_tables;		/* large objects count as one */
	ReportTable **by_name;		/* the same in the order of their names */
	bool		has_objects;	/* one of them is large objects */
	int			n_filtered;		/* tables of which only some rows are there */
	ReportTable total;
	ReportFile *files;			/* by worker, then in the order of time */
	int			n_files;
	int			n_timed;		/* files that have times */
	int64		start_us;		/* of the first file; the end of the last */
	int64		end_us;
	int64		axis_start_us;	/* what charts show: the same, or of a copy
								 * all */
	int64		axis_end_us;
	const ReportFile *last;		/* to be finished; NULL without times */
	ReportWorker *workers;
	int			n_workers;		/* at most REPORT_MAX_LANES */
} ReportData;

/* Never freed, as the page is the last thing that a program makes. */
extern ReportData *report_data_new(const Manifest *manifest,
								   const ReportCopy *copy);

/* Which of the tables has this name, as SQL has it; -1 for none. */
extern int	report_data_find(const ReportData *data, const char *name);

/*
 * How long workers were at it, from the first file's start to the last's end.
 */
extern double report_data_seconds(const ReportData *data);

/* How long what charts show took. */
extern double report_data_axis_seconds(const ReportData *data);

/* How long a worker had to do with the file. */
extern double report_data_file_seconds(const ManifestFile *file);

/*
 * Its blocks, "1,024 to 2,047", or "all", "" for a large object; returns buf.
 */
extern const char *report_data_blocks(const ManifestFile *file,
									  char buf[REPORT_TEXT_BYTES]);

#endif							/* REPORT_DATA_H */
