/*
 * report.h
 *		Writes the page of --report, which shows how a dump, a copy, a restore
 *		or a base backup went.
 *
 * The data of the page is a manifest: that of the archive for a dump, and one
 * that exists only in memory for the others.  report.html is the template of
 * the page, and is installed as pg_pardump_report.html in PostgreSQL's share
 * directory.  The program fills in tables, which are readable without
 * scripts, and data, from which the script of the template draws charts.
 */
#ifndef REPORT_H
#define REPORT_H

#include "archive/manifest.h"
#include "process/run_figures.h"

/* The results of --verify. */
typedef struct ReportVerify
{
	int			n_files;
	uint64		rows;
	uint64		stored_bytes;
	int			n_findings;
	const char *findings;		/* the first ones, one per line */
	int64		start_us;
	int64		end_us;
} ReportVerify;

/* A stage of a copy, which ends when the next one begins. */
typedef struct ReportStage
{
	const char *name;
	int64		start_us;		/* microseconds since 1970 */
} ReportStage;

/* An index that a copy or a restore built. */
typedef struct ReportBuild
{
	const char *name;			/* in SQL */
	const char *schema;			/* of its table */
	const char *table;
	int			index_job;		/* the process that built it, from 0 */
	int64		start_us;		/* the same for all indexes of a statement */
	int64		end_us;
} ReportBuild;

/* A direct copy, a restore or a base backup.  All members are borrowed. */
typedef struct ReportCopy
{
	const char *target;			/* its address, without secrets */
	const char *times;			/* the time of each step */
	const char *before;			/* what earlier runs have restored, or NULL */
	const char *formats;		/* row formats with numbers of tables and
								 * reasons, or NULL */
	bool		compared;		/* the two databases were compared, and are
								 * equal */
	const char *archive;		/* the archive; NULL for a copy */
	bool		is_backup;		/* a base backup: tables and rows of the
								 * manifest are files, and archive is its
								 * directory */
	int			n_errors;		/* errors that a restore ignored, or pages of
								 * a backup with wrong checksums */
	const ReportStage *stages;	/* in chronological order */
	int			n_stages;
	const ReportBuild *builds;	/* in any order */
	int			n_builds;
	int64		end_us;			/* of the last stage */
} ReportCopy;

/* A database on the page of all databases.  All members are borrowed. */
typedef struct ReportDatabase
{
	const char *name;
	const char *page;			/* file name of its own page, in the same
								 * directory, or NULL */
	const char *notes;			/* "failed", or NULL */
	int64		start_us;		/* microseconds since 1970; 0 = not started */
	int64		end_us;
	const RunFigures *figures;
} ReportDatabase;

/* A run for all databases.  All members are borrowed. */
typedef struct ReportCluster
{
	const char *title;			/* "Dump of all databases" */
	const char *archive;		/* the directory; NULL for a copy */
	const SnapshotRecord *snapshot; /* of all databases, or NULL */
	bool		has_stored;		/* stored sizes of archives are known */
	const ReportDatabase *databases;
	int			n;
	int			n_failed;
	const char *failed;			/* their names, or NULL */
	int64		start_us;
	int64		end_us;
} ReportCluster;

typedef struct Report Report;

/*
 * Check that the page can be written.  Exits with a message if the template
 * is not installed, or if the directory of --report-history cannot be used.
 * report_begin() checks both, too.
 */
extern void report_check(const Options *options);

/*
 * Begin the page of --report with a temporary file next to it, with mode
 * 0600, which is removed if the program fails.  Exits with a message if the
 * page cannot be written there, if the page or the directory of
 * --report-history is in the archive's directory, which may contain only the
 * archive's files, or for the reasons of report_check(). directory may be
 * NULL.  Returns NULL without --report.
 */
extern Report *report_begin(const Options *options, const char *directory);

/*
 * Write the page, and rename it.  It is a single HTML file of at most about 3
 * MB that needs no other files, and no network.  manifest is NULL if there is
 * none, verify is NULL without --verify, and copy is NULL for a dump.  Exits
 * with a message on errors.  Does nothing if report is NULL.
 */
extern void report_end(Report *report, const Manifest *manifest,
					   const ReportVerify *verify, const ReportCopy *copy);

/*
 * Write the page for all databases: a table with their sums, and links to the
 * pages of the databases.  Reports an error and returns false on failure,
 * because other results of the run follow.
 */
extern bool report_end_cluster(Report *report, const ReportCluster *cluster);

#endif							/* REPORT_H */
