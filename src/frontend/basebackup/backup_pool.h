/*
 * backup_pool.h
 *		Workers that read the pieces of a base backup.
 */
#ifndef BACKUP_POOL_H
#define BACKUP_POOL_H

#include "basebackup/backup_state.h"

/* Make room for what workers report of the plan. */
extern void backup_pool_make_results(Backup *backup);

/* What the leader does whenever its workers have told it something. */
typedef void (*BackupMeanwhile) (Backup *backup);

/*
 * Read all pieces of the plan.  The progress calls them "what", which ends in
 * a blank: "files ".  The leader's session is looked at meanwhile, and
 * meanwhile() is called, if it is not NULL, which should not take long.
 */
extern void backup_pool_run(Backup *backup, const char *what,
							BackupMeanwhile meanwhile);

/*
 * Read all of a backup so, but for what its leader reads: the plan, and then
 * the others, whose plan is made now.
 */
extern void backup_pool_read(Backup *backup, BackupMeanwhile meanwhile);

#endif							/* BACKUP_POOL_H */
