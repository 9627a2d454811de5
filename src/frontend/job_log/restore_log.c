/*
 * restore_log.c
 *		Names of lines in the log of a restore.
 */
#include "base/fe_compat.h"

#include "job_log/restore_log.h"

char *
restore_log_file(const DataFile *file)
{
	return psprintf("rows %d", file->dump_id);
}

char *
restore_log_piece(const DataFile *file, uint64 piece)
{
	return psprintf("rows %d piece " UINT64_FORMAT, file->dump_id, piece);
}

char *
restore_log_group(const ArchiveGroup *place, const LargeObjectGroup *group)
{
	return psprintf("large objects %d %u", place->entry->dump_id,
					group->oids[0]);
}

char *
restore_log_left_out(const DataFile *file)
{
	return psprintf("left out %d", file->dump_id);
}
