/*
 * backup_report.h
 *		What --report and --metrics tell of a base backup.
 */
#ifndef BACKUP_REPORT_H
#define BACKUP_REPORT_H

#include "basebackup/backup_state.h"
#include "report/report.h"

/*
 * As metrics_begin(): for this backup, which is filled in later and must live
 * as long as the process.
 */
extern void backup_report_metrics(const Backup *backup);

/* A stage begins now: for the event log, and the page. */
extern void backup_report_stage(Backup *backup, const char *stage);

/* Files, and their bytes, as far as they are known. */
extern int	backup_report_files(const Backup *backup);
extern uint64 backup_report_bytes(const Backup *backup);

/* Pages whose checksum is wrong, of all that has been read. */
extern uint64 backup_report_failures(const Backup *backup);

/*
 * Write the page, when all is done; see report_end().  n_failures is how many
 * pages have wrong checksums.
 */
extern void backup_report_end(Report *page, const Backup *backup,
							  uint64 n_failures);

#endif							/* BACKUP_REPORT_H */
