/*
 * report.h
 *		--report: a page that shows how a dump went, from its manifest, or how
 *		a copy, a restore or a base backup went, from what would be its
 *		manifest.
 *
 * report.html is the template of the page, and is installed as
 * pg_pardump_report.html in PostgreSQL's share directory.  The program fills
 * in tables, for readers without scripts too, and data, from which the script
 * of the template draws charts.
 */
#ifndef REPORT_H
#define REPORT_H

#include "archive/manifest.h"
#include "process/run_figures.h"

/* What --verify found. */
typedef struct ReportVerify
{
	int			n_files;
	uint64		rows;
	uint64		stored_bytes;
	int			n_findings;
	const char *findings;		/* the first of them, a line each */
	int64		start_us;
	int64		end_us;
} ReportVerify;

/* What a copy was at, from here to where the next one begins. */
typedef struct ReportStage
{
	const char *name;
	int64		start_us;		/* microseconds since 1970 */
} ReportStage;

/* An index that a copy or a restore built. */
typedef struct ReportBuild
{
	const char *name;			/* as SQL has it */
	const char *schema;			/* of its table */
	const char *table;
	int			index_job;		/* that built it, from 0 */
	int64		start_us;		/* the same for all of one statement */
	int64		end_us;
} ReportBuild;

/*
 * A direct copy, or a restore or a base backup, which are much the same; all
 * is borrowed.
 */
typedef struct ReportCopy
{
	const char *target;			/* its address, without secrets */
	const char *times;			/* how long each step took */
	const char *before;			/* what an earlier run has done; or NULL */
	const char *formats;		/* of how many tables, and why; or NULL */
	bool		compared;		/* and found equal */
	const char *archive;		/* what was restored; NULL of a copy */
	bool		is_backup;		/* a base backup: its tables are files, and
								 * its rows too; archive is where it is */
	int			n_errors;		/* that a restore passed over; of a backup,
								 * pages with wrong checksums */
	const ReportStage *stages;	/* in the order of time */
	int			n_stages;
	const ReportBuild *builds;	/* in any order */
	int			n_builds;
	int64		end_us;			/* of the last stage */
} ReportCopy;

/* A database on the page of all databases; all is borrowed. */
typedef struct ReportDatabase
{
	const char *name;
	const char *page;			/* the name of its own page, in the same
								 * directory; NULL if there is none */
	const char *notes;			/* "failed"; or NULL */
	int64		start_us;		/* microseconds since 1970; 0 = not begun */
	int64		end_us;
	const RunFigures *figures;
} ReportDatabase;

/* A run for all databases; all is borrowed. */
typedef struct ReportCluster
{
	const char *title;			/* "Dump of all databases" */
	const char *archive;		/* the directory; NULL of a copy */
	const SnapshotRecord *snapshot; /* of all databases; or NULL */
	bool		has_stored;		/* of archives that were written or read */
	const ReportDatabase *databases;
	int			n;
	int			n_failed;
	int64		start_us;
	int64		end_us;
} ReportCluster;

typedef struct Report Report;

/*
 * Exits with a message if the template of the page is not where installation
 * puts it, or if the directory of --report-history cannot be used.
 * report_begin() checks both, too.
 */
extern void report_check(const Options *options);

/*
 * Begin the page of --report with a temporary file next to it, mode 0600,
 * which is removed if the program fails.  Exits with a message if the page
 * cannot be written there, if the page or the directory of --report-history
 * is in the archive's directory, which contains only the archive's files, or
 * if report_check() would; directory may be NULL.  NULL without --report.
 */
extern Report *report_begin(const Options *options, const char *directory);

/*
 * Write the page, give it its name, and free the report.  It is one file of
 * HTML that needs nothing else, not even a network, and some 3 MB at most.
 * manifest may be NULL if there is none, verify if that was not asked for,
 * copy if it is none.  Exits with a message on errors.  NULL for a report is
 * passed over.
 */
extern void report_end(Report *report, const Manifest *manifest,
					   const ReportVerify *verify, const ReportCopy *copy);

/*
 * The same for all databases: a table of them and their sums, with links to
 * their own pages.  Returns after an error, too, which is reported: other
 * results of the run follow.  False then.
 */
extern bool report_end_cluster(Report *report, const ReportCluster *cluster);

#endif							/* REPORT_H */
