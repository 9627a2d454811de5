/*
 * restore_log.c
 *		Names of lines in the log of a restore, and the ends of transactions
 *		that write them.
 */
#include "base/fe_compat.h"

#include "restore/restore_log.h"

char *
restore_log_entry(const TocEntry *entry)
{
	return psprintf("entry %d", entry->dump_id);
}

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

/* Is a log kept? */
static bool
is_kept(const JobLog *log)
{
	return log != NULL && log->is_kept;
}

void
restore_log_commit(const JobLog *log, PGconn *conn, TargetCommit *commit)
{
	if (!is_kept(log))
	{
		target_commit(conn, commit);
		return;
	}
	PQclear(target_query(conn, "COMMIT", 0, NULL));
	commit->state = TARGET_COMMIT_DONE;
}

bool
restore_log_is_committed(const JobLog *log, PGconn *conn, const Target *target,
						 TargetCommit *commit)
{
	if (!is_kept(log))
		return target_commit_is_done(conn, target, commit);
	return commit->state == TARGET_COMMIT_DONE;
}
