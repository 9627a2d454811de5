/*
 * backup_report.h
 *		The page of --report, of a base backup.
 */
#ifndef BACKUP_REPORT_H
#define BACKUP_REPORT_H

#include "basebackup/backup_state.h"
#include "report/report.h"

/* A stage begins now: for the event log, and the page. */
extern void backup_report_stage(Backup *backup, const char *stage);

/*
 * Write the page, when all is done; see report_end().  n_failures is how many
 * pages have wrong checksums.
 */
extern void backup_report_end(Report *page, const Backup *backup,
							  uint64 n_failures);

#endif							/* BACKUP_REPORT_H */
