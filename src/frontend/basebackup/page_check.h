/*
 * page_check.h
 *		Verifies the checksums of pages that are read for a base backup.
 *
 * The rules are those of basebackup.c:verify_page_checksum(): new pages have
 * none, and one that was written after the backup's start is in the log.  A
 * page may be read while it is written: one that is wrong is read once more
 * before it is told of.
 */
#ifndef PAGE_CHECK_H
#define PAGE_CHECK_H

#include "storage/block.h"

#include "basebackup/backup_state.h"

typedef struct PageCheck PageCheck;

/* A worker's, for all its pieces; owned. */
extern PageCheck *page_check_new(const Backup *backup, PGconn *conn);

/* A piece begins: what is left of one before is forgotten. */
extern void page_check_begin(PageCheck *check);

/* These bytes are in the file at this offset, a multiple of a page's size. */
extern void page_check_take(PageCheck *check, int file, uint64 offset,
							const char *data, size_t len);

/*
 * The connection is free again: read what is wrong once more, and warn of it.
 * Returns how many pages are.
 */
extern int	page_check_settle(PageCheck *check);

/* The number in its relation's fork of the page at this offset of a file. */
extern BlockNumber page_check_block(const Backup *backup, int file,
									uint64 offset);

/* Warn that the file ends within the page that has this offset. */
extern void page_check_warn_cut(const Backup *backup, int file, uint64 offset);

/*
 * Warn of a page of the file, as basebackup.c does since 17: block is its
 * number in the relation's fork, also in later segments.
 */
extern void page_check_warn(const Backup *backup, int file, BlockNumber block,
							uint16 computed, uint16 stored);

#endif							/* PAGE_CHECK_H */
