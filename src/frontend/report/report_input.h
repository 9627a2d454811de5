/*
 * report_input.h
 *		What a report is told besides a manifest.
 */
#ifndef REPORT_INPUT_H
#define REPORT_INPUT_H

#include "base/fe_compat.h"

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
	const ReportBuild *builds;	/* by index_job, then in the order of time */
	int			n_builds;
	int64		end_us;			/* of the last stage */
} ReportCopy;

#endif							/* REPORT_INPUT_H */
