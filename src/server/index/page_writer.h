/*-------------------------------------------------------------------------
 *
 * page_writer.h
 *	  Writes the pages of a new relation: to WAL where needed, with
 *	  checksums, and to the disk.
 *
 * Since 17 this is storage/bulk_write.h.  Before, each access method did it
 * itself; page_writer.c does what _bt_blwritepage() and _bt_load() did up to
 * 16 (src/backend/access/nbtree/nbtsort.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PAGE_WRITER_H
#define PARDUMP_PAGE_WRITER_H

#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct PageWriter PageWriter;

/*
 * A writer for the main fork of an empty relation, which other backends do
 * not see yet.  Made in CurrentMemoryContext.
 */
extern PageWriter *page_writer_new(Relation rel);

/* Memory for a page; its content is not initialized. */
extern Page page_writer_page(PageWriter *writer);

/*
 * Write a page that page_writer_page() has returned, in any order of blocks.
 * Its memory belongs to the writer afterwards.
 */
extern void page_writer_write(PageWriter *writer, BlockNumber block,
							  Page page);

/*
 * End, once all pages were written: they are on the disk, or will be before
 * the transaction's commit, or after the next checkpoint, as it is with the
 * server's own builds.
 */
extern void page_writer_finish(PageWriter *writer);

#endif							/* PARDUMP_PAGE_WRITER_H */
