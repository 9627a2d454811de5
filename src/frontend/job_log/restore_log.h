/*
 * restore_log.h
 *		Names of lines in the log of a restore.
 */
#ifndef RESTORE_LOG_H
#define RESTORE_LOG_H

#include "plan/archive_plan.h"

/* Stages. */
#define RESTORE_LOG_DATABASE "database"
#define RESTORE_LOG_DROP "drop"
#define RESTORE_LOG_DEFINITIONS "definitions"
#define RESTORE_LOG_LOST "unlogged rows lost"
#define RESTORE_LOG_ROWS "rows and indexes"
#define RESTORE_LOG_REST "rest"

/*
 * Of a data file, of a piece of one, of a group of large objects, and of a
 * data file that --no-data-for-failed-tables leaves out; owned.
 */
extern char *restore_log_file(const DataFile *file);
extern char *restore_log_piece(const DataFile *file, uint64 piece);
extern char *restore_log_group(const ArchiveGroup *place,
							   const LargeObjectGroup *group);
extern char *restore_log_left_out(const DataFile *file);

#endif							/* RESTORE_LOG_H */
