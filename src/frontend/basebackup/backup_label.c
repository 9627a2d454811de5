/*
 * backup_label.c
 *		The file backup_label, by which a server that is started on a backup
 *		knows where its log begins.
 */
#include "base/fe_compat.h"

#include "basebackup/backup_label.h"

bool
backup_label_read(const char *text, BackupLabel *label)
{
	const char *start = strstr(text, "START WAL LOCATION: ");
	const char *line = strstr(text, "\nSTART TIMELINE: ");
	uint32		high;
	uint32		low;

	if (start != text || line == NULL ||
		sscanf(start, "START WAL LOCATION: %X/%X", &high, &low) != 2 ||
		sscanf(line, "\nSTART TIMELINE: %u", &label->timeline) != 1)
		return false;
	label->start = (uint64) high << 32 | low;
	return true;
}
