/*
 * backup_pool.h
 *		Workers that read the pieces of a base backup.
 */
#ifndef BACKUP_POOL_H
#define BACKUP_POOL_H

#include "basebackup/backup_state.h"

/* Allocate the results of the plan, in shared memory. */
extern void backup_pool_make_results(Backup *backup);

/* A function that the leader calls often, between events of the workers. */
typedef void (*BackupMeanwhile) (Backup *backup);

/*
 * Read all pieces of the plan with workers.  "what" names them in progress
 * lines, and ends with a space: "files ".  Meanwhile the leader's session is
 * checked, and meanwhile() is called unless it is NULL; it should not take
 * long.
 */
extern void backup_pool_run(Backup *backup, const char *what,
							BackupMeanwhile meanwhile);

/*
 * Read all files of the backup except those that the leader reads: the plan,
 * and then the large files that do not belong to relations, which are planned
 * now.
 */
extern void backup_pool_read(Backup *backup, BackupMeanwhile meanwhile);

#endif							/* BACKUP_POOL_H */
