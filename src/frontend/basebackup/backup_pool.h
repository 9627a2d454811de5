/*
 * backup_pool.h
 *		Workers that read the pieces of a base backup.
 */
#ifndef BACKUP_POOL_H
#define BACKUP_POOL_H

#include "basebackup/backup_state.h"

/* Make room for what workers tell of the plan. */
extern void backup_pool_make_results(Backup *backup);

/*
 * Read all pieces of the plan.  what they are is for messages and the
 * progress: "files".  The leader's session is looked at meanwhile.
 */
extern void backup_pool_run(Backup *backup, const char *what);

#endif							/* BACKUP_POOL_H */
