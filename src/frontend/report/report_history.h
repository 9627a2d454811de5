/*
 * report_history.h
 *		--report-history: a directory with a record of each run, from which
 *		the page of --report shows the last runs.
 *
 * A record is a file COMMAND-DATABASE-TIME.json that contains one JSON
 * object.  doc/monitoring.md describes its members.
 */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

/* How many runs a page shows, the run that it is about included. */
#define REPORT_RUNS 30

typedef struct ReportRun
{
	int64		start_us;		/* microseconds since 1970; never 0 */
	int64		end_us;
	uint64		work_us;		/* in which data was read; 0 = not known */
	uint64		files;			/* of a dump or a base backup */
	uint64		reused_files;
	uint64		rows;
	uint64		raw_bytes;
	uint64		reused_bytes;	/* of reused files, as raw_bytes */
	uint64		stored_bytes;	/* of a dump */
} ReportRun;

typedef struct ReportHistory ReportHistory;

/*
 * Open the directory, which is created if it is missing and "creates" is
 * true.  Exits with a message if this fails, or if other users may write to
 * the directory.  NULL if path is NULL.
 */
extern ReportHistory *report_history_open(const char *path, bool creates);

/*
 * The newest recorded runs of this command and database, newest first, with
 * "own" in its place.  Returns their number.  A warning counts the files that
 * are not records.  database may be NULL.
 */
extern int	report_history_list(const ReportHistory *history,
								const char *command, const char *database,
								const ReportRun *own,
								ReportRun runs[REPORT_RUNS]);

/*
 * Record this run, and remove the oldest records of its command and database
 * beyond a number of them.  A failure is a warning.
 */
extern void report_history_add(const ReportHistory *history,
							   const char *command, const char *database,
							   const ReportRun *run);

#endif							/* REPORT_HISTORY_H */
