/*
 * backup_state.h
 *		A base backup being taken: what leader and workers know of it.
 */
#ifndef BACKUP_STATE_H
#define BACKUP_STATE_H

#include "access/xlogdefs.h"

#include "basebackup/backup_list.h"
#include "report/report.h"

/* What the leader has asked the server for; all workers must be on it. */
typedef struct BackupServer
{
	int			major;
	char	   *version;		/* as it tells it */
	uint64		system_identifier;
	char	   *started;		/* when, as a text */
	bool		is_standby;
	bool		has_checksums;	/* of pages */
	uint32		block_size;
	uint32		segment_blocks; /* of a relation's file */
	uint64		wal_segment_bytes;
	char	   *catalog_version;
	int			directory_mode;
} BackupServer;

/* Which worker has read a piece when: microseconds since 1970. */
typedef struct PieceTime
{
	int64		start_us;
	int64		end_us;
	int			worker;
} PieceTime;

/* What a file that is read whole was when it was read. */
typedef struct WholeFile
{
	uint64		size;
	int64		mtime;
	bool		is_large;		/* by now: it was not read */
} WholeFile;

/* As run_event_stage() is told them. */
#define MAX_BACKUP_STAGES 6

/*
 * What workers tell, in shared memory.  A piece that is read again, since its
 * worker was lost, replaces all that is told by its number.
 */
typedef struct BackupResults
{
	uint32	   *crcs;			/* by range: finished CRC-32C */
	int		   *failures;		/* by piece: pages whose checksum is wrong */
	bool	   *vanished;		/* by file: gone before it was read */
	WholeFile  *whole;			/* by file, of those that are read whole */
	PieceTime  *times;			/* by piece */
	uint32	   *warned;			/* by file: pages that were reported */
	volatile uint64 *bytes_done;	/* of all pieces that are done */
} BackupResults;

typedef struct Backup
{
	const Options *options;
	const struct BackupForm *form;	/* backup_layout.h */
	void	   *form_data;		/* the form's own */
	BackupServer server;
	PGconn	   *conn;			/* the leader's, who holds the backup */
	char	   *slot;			/* that keeps the log, or NULL */
	PGconn	   *slot_conn;		/* whose it is: the leader's, or another */
	double		slot_used;		/* when, as of run_clock_seconds() */
	const PeerAddress *address;
	const ServerExtension *extension;	/* that reads files, unless missing */
	TimeLineID	timeline;
	XLogRecPtr	start;			/* of the log that it needs */
	XLogRecPtr	stop;			/* 0 until the backup has ended */
	BackupList *list;
	BackupPlan *plan;
	BackupResults results;
	struct Backup *others;		/* the same, of large files that do not belong
								 * to a relation: its list, and, once they are
								 * read, plan and results; and so of them, of
								 * those that were replaced meanwhile */
	struct WalFollower *follower;	/* basebackup.h; NULL unless asked for */
	int			n_retries;
	ReportStage stages[MAX_BACKUP_STAGES];	/* that have begun */
	int			n_stages;
} Backup;

#endif							/* BACKUP_STATE_H */
