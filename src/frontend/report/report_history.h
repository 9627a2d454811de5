/*
 * report_history.h
 *		The directory of --report-history, which contains a record of each
 *		run, and the table of the last runs on a page.
 *
 * A record is a file COMMAND-DATABASE-TIME.json that contains one JSON
 * object.  doc/monitoring.md describes its members.
 */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

#include "report/report_table.h"

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
 * Append the newest recorded runs of this command and database, newest first,
 * including "own", to the page and to its JSON.  database may be NULL.  Warns
 * if files are not valid records.
 *
 * If is_new is true, "own" is recorded, and the oldest records of its command
 * and database beyond the limit are removed.  A failure is only a warning.
 * Otherwise "own" was recorded when its archive was written.
 */
extern void report_history_append(const ReportHistory *history,
								  const char *command, const char *database,
								  const ReportRun *own, bool is_new,
								  PQExpBuffer page, PQExpBuffer json);

#endif							/* REPORT_HISTORY_H */
