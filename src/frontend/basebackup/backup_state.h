/*
 * backup_state.h
 *		The state of a base backup, which the files of this folder share.
 *
 * The leader fills it in before it forks workers; their results are in shared
 * memory.
 */
#ifndef BACKUP_STATE_H
#define BACKUP_STATE_H

#include "access/xlogdefs.h"

#include "basebackup/backup_list.h"
#include "report/report.h"

/*
 * The facts about the server; all workers must be connected to the same one.
 */
typedef struct BackupServer
{
	int			major;
	char	   *version;		/* the server's own text */
	uint64		system_identifier;
	char	   *started;		/* start time, as text */
	bool		is_standby;
	bool		has_checksums;	/* are there checksums of pages? */
	uint32		block_size;
	uint32		segment_blocks; /* blocks of a segment of a relation */
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

/* The state of a file that is read whole, at that moment. */
typedef struct WholeFile
{
	uint64		size;
	int64		mtime;
	bool		is_large;		/* it has grown too much, and was not read */
} WholeFile;

/* The largest number of stages (run_event_stage()). */
#define MAX_BACKUP_STAGES 6

/*
 * The results of workers, in shared memory.  If a piece is read again because
 * its worker was lost, the new results replace the old ones.
 */
typedef struct BackupResults
{
	uint32	   *crcs;			/* by range: finished CRC-32C */
	int		   *failures;		/* by piece: pages whose checksum is wrong */
	bool	   *vanished;		/* by file: gone before it was read */
	WholeFile  *whole;			/* by file, of those that are read whole */
	PieceTime  *times;			/* by piece */
	uint32	   *warned;			/* by file: pages that were reported */
	volatile uint64 *bytes_done;	/* bytes of finished pieces */
} BackupResults;

typedef struct Backup
{
	const Options *options;
	const struct BackupForm *form;	/* backup_layout.h */
	void	   *form_data;		/* data of the form */
	BackupServer server;
	PGconn	   *conn;			/* the leader's session, which holds the
								 * backup */
	char	   *slot;			/* the one that keeps WAL, or NULL */
	PGconn	   *slot_conn;		/* its session: conn or another one */
	double		slot_used;		/* last use (run_clock_seconds()) */
	const PeerAddress *address;
	const ServerExtension *extension;	/* reads files, unless missing */
	TimeLineID	timeline;
	XLogRecPtr	start;			/* of the WAL that the backup needs */
	XLogRecPtr	stop;			/* 0 until the backup has ended */
	BackupList *list;
	BackupPlan *plan;
	BackupResults results;
	struct Backup *others;		/* the large files that do not belong to a
								 * relation: a list, and after they were read
								 * a plan and results; its own "others" are
								 * those that were replaced meanwhile */
	struct WalFollower *follower;	/* basebackup.c; NULL if WAL is not
									 * followed */
	int			n_retries;
	ReportStage stages[MAX_BACKUP_STAGES];	/* those that have begun */
	int			n_stages;
} Backup;

#endif							/* BACKUP_STATE_H */
