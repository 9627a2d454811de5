/*
 * restore_long.h
 *		Tables that prove to be long, however small they are in the archive.
 *
 * What a file of a stock archive holds is known when it is decompressed, and
 * no sooner: what its headers say need not be true.  So before a worker loads
 * a table that is whole in the archive it decompresses it up to the length of
 * a piece.  What ends there is loaded from memory, by one COPY.  What does
 * not is left to all workers, who share it in pieces when the other jobs are
 * done.
 */
#ifndef RESTORE_LONG_H
#define RESTORE_LONG_H

#include "archive/archive_member.h"
#include "plan/archive_plan.h"

typedef struct LongFiles
{
	const Archive *archive;
	const ArchivePlan *plan;
	uint64		piece_bytes;
	volatile bool *is_long;		/* by data file: it is left to all; in shared
								 * memory */
	volatile int *n_long;		/* so many have proved to be; the same */
} LongFiles;

/* Before workers are forked; never freed. */
extern LongFiles *restore_long_new(const Archive *archive,
								   const ArchivePlan *plan,
								   uint64 piece_bytes);

/*
 * In a worker, before it loads the file: is it left to all?  Else *text is
 * its rows if they were looked at, or NULL; owned.
 *
 * At most ARCHIVE_SHARED_TABLES are left: those that come first, which are
 * largest in the archive.  More would keep nobody busy who is not.
 */
extern bool restore_long_look(const LongFiles *files, const DataFile *file,
							  ArchiveMember **text);

/*
 * In the leader: so many jobs for each file that these jobs of the plan's
 * queue have left.  Owned.
 */
extern JobQueue *restore_long_queue(const LongFiles *files, int first_job,
									int n_jobs, int n_shares);

#endif							/* RESTORE_LONG_H */
