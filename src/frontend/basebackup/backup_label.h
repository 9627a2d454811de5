/*
 * backup_label.h
 *		The file backup_label, by which a server that is started on a backup
 *		knows where its log begins.
 */
#ifndef BACKUP_LABEL_H
#define BACKUP_LABEL_H

#include "base/fe_compat.h"

#include "access/xlogdefs.h"

typedef struct BackupLabel
{
	XLogRecPtr	start;
	TimeLineID	timeline;
} BackupLabel;

/*
 * Read what the server tells as the file's text (xlogbackup.c:
 * build_backup_content()); false if that is not one.
 */
extern bool backup_label_read(const char *text, BackupLabel *label);

#endif							/* BACKUP_LABEL_H */
