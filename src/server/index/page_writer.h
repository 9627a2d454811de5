/*-------------------------------------------------------------------------
 *
 * page_writer.h
 *	  Writes the pages of a new relation to WAL, if that is necessary, and to
 *	  its file, with checksums.
 *
 * tree_writer.c uses this for the pages of an index.  Since 17 the server has
 * functions for it (storage/bulk_write.h).  Before, each access method
 * contained code of its own; page_writer.c does the same as
 * _bt_blwritepage() and _bt_load() of 16
 * (src/backend/access/nbtree/nbtsort.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PAGE_WRITER_H
#define PARDUMP_PAGE_WRITER_H

#include "base/server_compat.h"

#ifdef PARDUMP_BULK_WRITE

/* The functions that are declared below, as calls of the bulk writer. */
typedef BulkWriteState PageWriter;

#define page_writer_new(rel) smgr_bulk_start_rel(rel, MAIN_FORKNUM)
#define page_writer_page(writer) ((Page) smgr_bulk_get_buf(writer))
#define page_writer_write(writer, block, page) \
	smgr_bulk_write(writer, block, (BulkWriteBuffer) (page), true)
#define page_writer_finish(writer) smgr_bulk_finish(writer)
#else							/* PARDUMP_BULK_WRITE */

typedef struct PageWriter PageWriter;

/*
 * Create a writer for the main fork of an empty relation, which other
 * backends do not see yet.  Allocates in CurrentMemoryContext.
 */
extern PageWriter *page_writer_new(Relation rel);

/* Allocate memory for a page, whose content is not initialized. */
extern Page page_writer_page(PageWriter *writer);

/*
 * Write a page that page_writer_page() has returned.  Blocks can be written
 * in any order.  The memory of the page belongs to the writer afterwards.
 */
extern void page_writer_write(PageWriter *writer, BlockNumber block,
							  Page page);

/*
 * Finish, after all pages have been written, and free the writer.  The pages
 * are on the disk then, or will be at the commit of the transaction or after
 * the next checkpoint, as in the server's own builds.
 */
extern void page_writer_finish(PageWriter *writer);

#endif							/* PARDUMP_BULK_WRITE */

#endif							/* PARDUMP_PAGE_WRITER_H */
