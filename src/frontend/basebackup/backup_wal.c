/*
 * backup_wal.c
 *		The write-ahead log that a base backup needs to be consistent.
 */
#include "base/fe_compat.h"

#include "access/xlog_internal.h"

#include "base/clock.h"
#include "basebackup/backup_pool.h"
#include "basebackup/backup_read.h"
#include "basebackup/backup_server.h"
#include "basebackup/backup_wal.h"
#include "session/session.h"
#include "source/leader_session.h"

#define ASK_SECONDS 1.0

/* The log as its segments are complete, one after the other. */
typedef struct WalFollower
{
	Backup		one;			/* whose only file is the segment */
	BackupLayout *layout;
	XLogSegNo	segment;		/* that is read */
	int			piece;			/* of it, that comes next */
	XLogSegNo	end;			/* those before it are complete */
	double		asked;			/* as of run_clock_seconds() */
} WalFollower;

/* pg_wal/NAME is here, and need not be archived. */
static void
mark_archived(const Backup *backup, const char *name)
{
	char	   *path = psprintf("pg_wal/archive_status/%s.done", name);

	backup->form->write_file(backup, path, "", 0);
	free(path);
}

static char *
segment_name(const Backup *backup, XLogSegNo segment)
{
	char		name[MAXFNAMELEN];

	XLogFileName(name, backup->timeline, segment,
				 backup->server.wal_segment_bytes);
	return pg_strdup(name);
}

static char *
segment_path(const Backup *backup, XLogSegNo segment)
{
	char	   *name = segment_name(backup, segment);
	char	   *path = psprintf("pg_wal/%s", name);

	free(name);
	return path;
}

/* n segments, as files to be read like others. */
static BackupList *
list_segments(const Backup *backup, XLogSegNo first, int n)
{
	BackupList *list = pg_malloc0(sizeof(BackupList));
	uint64		bytes = backup->server.wal_segment_bytes;

	list->n_files = n;
	list->files = pg_malloc0(n * sizeof(BackupFile));
	list->total_bytes = bytes * n;
	for (int i = 0; i < n; i++)
	{
		list->files[i].path = segment_path(backup, first + i);
		list->files[i].size = bytes;
		list->files[i].tablespace =
			backup->options->wal_method == BACKUP_WAL_STREAM ? BACKUP_WAL_FILE : BACKUP_BASE;
		list->files[i].is_wal = true;
	}
	return list;
}

/* A plan of their own. */
static Backup
plan_segments(const Backup *backup, XLogSegNo first, int n)
{
	Backup		wal = *backup;

	wal.list = list_segments(backup, first, n);
	wal.plan = backup_plan_new(wal.list);
	backup_pool_make_results(&wal);
	return wal;
}

/* ----------
 * As segments are complete
 * ----------
 */
static XLogSegNo
first_segment(const Backup *backup)
{
	return backup->start / backup->server.wal_segment_bytes;
}

void
backup_wal_follow(Backup *backup)
{
	WalFollower *follower = pg_malloc0(sizeof(WalFollower));

	follower->segment = first_segment(backup);
	follower->one = plan_segments(backup, follower->segment, 1);
	follower->layout = backup->form->new_layout(&follower->one);
	backup->follower = follower;
}

static void
begin_segment(WalFollower *follower, XLogSegNo segment)
{
	BackupFile *file = &follower->one.list->files[0];

	follower->segment = segment;
	follower->piece = 0;
	free(file->path);
	file->path = segment_path(&follower->one, segment);
}

static void
read_piece(WalFollower *follower)
{
	const Backup *one = &follower->one;

	leader_watchdog_watch_rows();
	backup_read_piece(one, one->conn, NULL, follower->layout,
					  &one->plan->pieces[follower->piece++]);
	if (follower->piece < one->plan->n_pieces)
		return;
	one->form->end_plan(one);
	begin_segment(follower, follower->segment + 1);
	backup_server_advance_slot(one, follower->segment *
							   one->server.wal_segment_bytes);
}

static bool
is_complete(WalFollower *follower)
{
	const Backup *one = &follower->one;
	double		now = run_clock_seconds();

	if (follower->segment >= follower->end &&
		now - follower->asked >= ASK_SECONDS)
	{
		follower->asked = now;
		follower->end = backup_server_wal_position(one) /
			one->server.wal_segment_bytes;
	}
	return follower->segment < follower->end;
}

void
backup_wal_attend(Backup *backup)
{
	WalFollower *follower = backup->follower;

	if (follower->piece > 0 || is_complete(follower))
		read_piece(follower);
}

/* The first segment that is still to be fetched; none is half read. */
static XLogSegNo
end_following(WalFollower *follower)
{
	while (follower->piece > 0)
		read_piece(follower);
	return follower->segment;
}

/* ----------
 * At the end of the backup ----------
 */

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
backup_wal_fetch(Backup *backup)
{
	XLogSegNo	next = backup->follower ? end_following(backup->follower) :
		first_segment(backup);

	/* a standby may have replayed more than it says it needs */
	XLogSegNo	end = Max(next, (backup->stop - 1) /
						  backup->server.wal_segment_bytes + 1);

	if (next < end)
	{
		Backup		wal = plan_segments(backup, next, (int) (end - next));

		backup_pool_run(&wal, "WAL", NULL);
		backup->n_retries = wal.n_retries;
	}
	for (XLogSegNo segment = first_segment(backup); segment < end; segment++)
	{
		char	   *name = segment_name(backup, segment);

		mark_archived(backup, name);
		free(name);
	}
	fetch_histories(backup);
}
