/*
 * backup_wal.c
 *		The write-ahead log that a base backup needs to be consistent.
 */
#include "base/fe_compat.h"

#include "access/xlog_internal.h"

#include "basebackup/backup_pool.h"
#include "basebackup/backup_read.h"
#include "basebackup/backup_wal.h"
#include "session/session.h"

/* pg_wal/NAME is here, and need not be archived. */
static void
mark_archived(const Backup *backup, const char *name)
{
	char	   *path = psprintf("pg_wal/archive_status/%s.done", name);

	backup->form->write_file(backup, path, "", 0);
	free(path);
}

/* The segments, as files to be read like others. */
static BackupList *
list_segments(const Backup *backup)
{
	BackupList *list = pg_malloc0(sizeof(BackupList));
	uint64		bytes = backup->server.wal_segment_bytes;
	XLogSegNo	first = backup->start / bytes;
	XLogSegNo	last = (backup->stop - 1) / bytes;

	list->n_files = (int) (last - first + 1);
	list->files = pg_malloc0(list->n_files * sizeof(BackupFile));
	list->total_bytes = bytes * list->n_files;
	for (int i = 0; i < list->n_files; i++)
	{
		char		name[MAXFNAMELEN];

		XLogFileName(name, backup->timeline, first + i, bytes);
		list->files[i].path = psprintf("pg_wal/%s", name);
		list->files[i].size = bytes;
		list->files[i].tablespace = BACKUP_BASE;
		list->files[i].is_wal = true;
	}
	return list;
}

/* Without them a server could not follow the backup's timeline. */
static void
fetch_histories(const Backup *backup)
{
	PGresult   *names = session_query(backup->conn,
									  "SELECT x FROM pg_catalog.pg_ls_dir('pg_wal') x"
									  " WHERE x OPERATOR(pg_catalog.~) '^[0-9A-F]{8}\\.history$'");

	for (int i = 0; i < PQntuples(names); i++)
	{
		const char *name = PQgetvalue(names, i, 0);
		char	   *path = psprintf("pg_wal/%s", name);
		PGresult   *res;

		if (!IsTLHistoryFileName(name))
			pg_fatal("invalid file name from the server: \"%s\"", path);
		res = backup_read_file(backup->conn, path);
		if (res)
		{
			backup->form->write_file(backup, path, PQgetvalue(res, 0, 0),
									 PQgetlength(res, 0, 0));
			mark_archived(backup, name);
		}
		PQclear(res);
		free(path);
	}
	PQclear(names);
}

void
backup_wal_fetch(const Backup *backup)
{
	Backup		wal = *backup;

	wal.list = list_segments(backup);
	wal.plan = backup_plan_new(wal.list);
	backup_pool_make_results(&wal);
	backup_pool_run(&wal, "WAL");
	for (int i = 0; i < wal.list->n_files; i++)
		mark_archived(backup, wal.list->files[i].path + strlen("pg_wal/"));
	fetch_histories(backup);
}
