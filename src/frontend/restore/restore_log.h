/*
 * restore_log.h
 *		Names of lines in the log of a restore, and the ends of transactions
 *		that write them.
 */
#ifndef RESTORE_LOG_H
#define RESTORE_LOG_H

#include "job_log/job_log.h"
#include "plan/archive_plan.h"
#include "target/target_commit.h"

/* Stages. */
#define RESTORE_LOG_DATABASE "database"
#define RESTORE_LOG_DROP "drop"
#define RESTORE_LOG_OBJECTS_BEGUN "large objects begun"
#define RESTORE_LOG_DEFINITIONS "definitions"
#define RESTORE_LOG_ROWS "rows and indexes"
#define RESTORE_LOG_REST "rest"

/*
 * Of a definition, of a data file, of a piece of one, of a group of large
 * objects, and of a data file that --no-data-for-failed-tables leaves out;
 * owned.
 */
extern char *restore_log_entry(const TocEntry *entry);
extern char *restore_log_file(const DataFile *file);
extern char *restore_log_piece(const DataFile *file, uint64 piece);
extern char *restore_log_group(const ArchiveGroup *place,
							   const LargeObjectGroup *group);
extern char *restore_log_left_out(const DataFile *file);

/*
 * As target_commit() and target_commit_is_done(), for a transaction whose
 * lines in the log, if one is kept, tell whoever does it again that it is
 * done.
 */
extern void restore_log_commit(const JobLog *log, PGconn *conn,
							   TargetCommit *commit);
extern bool restore_log_is_committed(const JobLog *log, PGconn *conn,
									 const Target *target,
									 TargetCommit *commit);

#endif							/* RESTORE_LOG_H */
