/*
 * report_history.h
 *		The directory of --report-history, which contains a record of each
 *		run. report.c shows the last runs on the page.
 *
 * A record is a file COMMAND-DATABASE-TIME.json that contains one JSON
 * object.  doc/monitoring.md describes its members.
 */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

/* The number of runs on a page, including its own run. */
#define REPORT_RUNS 30

typedef struct ReportRun
{
	int64		start_us;		/* microseconds since 1970; never 0 */
	int64		end_us;
	uint64		work_us;		/* time in which data was read; 0 = unknown */
	uint64		files;			/* for a dump or a base backup */
	uint64		reused_files;
	uint64		rows;
	uint64		raw_bytes;
	uint64		reused_bytes;	/* raw_bytes of reused files */
	uint64		stored_bytes;	/* for a dump */
} ReportRun;

typedef struct ReportHistory ReportHistory;

/*
 * Open the directory.  If it is missing, create it if "creates" is true.
 * Exits with a message if this fails, or if other users can write to the
 * directory.  Returns NULL if path is NULL.
 */
extern ReportHistory *report_history_open(const char *path, bool creates);

/*
 * Find the newest recorded runs of this command and database, newest first,
 * including "own".  Returns their number.  Warns if files are not valid
 * records. database may be NULL.
 */
extern int	report_history_list(const ReportHistory *history,
								const char *command, const char *database,
								const ReportRun *own,
								ReportRun runs[REPORT_RUNS]);

/*
 * Record this run, and remove the oldest records of its command and database
 * beyond the limit.  A failure is only a warning.
 */
extern void report_history_add(const ReportHistory *history,
							   const char *command, const char *database,
							   const ReportRun *run);

#endif							/* REPORT_HISTORY_H */
