/*
 * backup_plan.h
 *		Cuts the files of a backup into pieces, which workers read.
 *
 * A piece is what a worker reads by one query: ranges of files, of 4 MB
 * together at most.  A larger file is in many pieces, read side by side;
 * small ones share a piece.  All of a piece is of one tablespace, or the
 * base, which comes last; the larger files come first, so that no long one is
 * left at the end.  Behind them are those that are read whole, in pieces of
 * their own, whose lengths are those of the list.
 */
#ifndef BACKUP_PLAN_H
#define BACKUP_PLAN_H

#include "basebackup/backup_list.h"

/* Of a piece, at most.  A multiple of every size of a page. */
#define PIECE_BYTES ((uint64) 4 * 1024 * 1024)
#define PIECE_RANGES 256

/* A part of a file; all of it, even of none, if the file is small. */
typedef struct BackupRange
{
	int			file;			/* of the list */
	uint64		offset;
	uint32		length;
} BackupRange;

typedef struct BackupPiece
{
	int			first;			/* of the ranges */
	int			n;
	int			tablespace;		/* as of BackupFile */
	bool		is_whole;		/* as of BackupFile */
	int			no;				/* among those of this tablespace */
} BackupPiece;

typedef struct BackupPlan
{
	const BackupList *list;
	BackupRange *ranges;		/* those of a file follow each other */
	int			n_ranges;
	BackupPiece *pieces;
	int			n_pieces;
} BackupPlan;

/*
 * Take the large files that are no relation's off the list, for a list of
 * their own, which is to be read last, and has room for all others; owned.
 */
extern BackupList *backup_plan_part_others(BackupList *list);

/* Sorts the list's files, and cuts them.  Owned. */
extern BackupPlan *backup_plan_new(BackupList *list);

#endif							/* BACKUP_PLAN_H */
