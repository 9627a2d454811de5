/*-------------------------------------------------------------------------
 *
 * page_writer.c
 *	  Writes the pages of a new relation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#include "base/server_compat.h"
#include "index/page_writer.h"

#ifdef PARDUMP_BULK_WRITE

#include "storage/bulk_write.h"

struct PageWriter
{
	BulkWriteState *bulk;
};

PageWriter *
page_writer_new(Relation rel)
{
	PageWriter *writer = palloc(sizeof(PageWriter));

	writer->bulk = smgr_bulk_start_rel(rel, MAIN_FORKNUM);
	return writer;
}

Page
page_writer_page(PageWriter *writer)
{
	return (Page) smgr_bulk_get_buf(writer->bulk);
}

void
page_writer_write(PageWriter *writer, BlockNumber block, Page page)
{
	smgr_bulk_write(writer->bulk, block, (BulkWriteBuffer) page, true);
}

void
page_writer_finish(PageWriter *writer)
{
	smgr_bulk_finish(writer->bulk);
	pfree(writer);
}

#else							/* PARDUMP_BULK_WRITE */

struct PageWriter
{
	Relation	rel;			/* borrowed */
	bool		use_wal;
	BlockNumber n_written;		/* blocks of the file */
	Page		zero_page;
};

PageWriter *
page_writer_new(Relation rel)
{
	PageWriter *writer = palloc0(sizeof(PageWriter));

	writer->rel = rel;
	writer->use_wal = RelationNeedsWAL(rel);
	writer->zero_page = new_io_page();
	memset(writer->zero_page, 0, BLCKSZ);
	return writer;
}

Page
page_writer_page(PageWriter *writer)
{
	return new_io_page();
}

void
page_writer_write(PageWriter *writer, BlockNumber block, Page page)
{
	Relation	rel = writer->rel;

	if (writer->use_wal)
		log_newpage(&rel_file_of(rel), MAIN_FORKNUM, block, page, true);

	/*
	 * Pages of upper levels are written later than those behind them.  Until
	 * then there are zeros, which have no checksum.
	 */
	while (block > writer->n_written)
		smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, writer->n_written++,
				   writer->zero_page, true);

	/* no fsync is requested for these writes: see page_writer_finish() */
	PageSetChecksumInplace(page, block);
	if (block == writer->n_written)
	{
		smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, block, page, true);
		writer->n_written++;
	}
	else
		smgrwrite(RelationGetSmgr(rel), MAIN_FORKNUM, block, page, true);
	pfree(page);
}

void
page_writer_finish(PageWriter *writer)
{
	/*
	 * Even if all pages are in WAL: they are not in shared buffers, so that a
	 * checkpoint meanwhile did not write them, and a crash would replay WAL
	 * only from there.  Without WAL the file of a permanent relation is
	 * synced at commit (RelationNeedsWAL() is false if that is so).  That of
	 * an unlogged relation must survive a shutdown, though nothing that comes
	 * later syncs it.
	 */
	if (writer->use_wal ||
		writer->rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		smgrimmedsync(RelationGetSmgr(writer->rel), MAIN_FORKNUM);
	pfree(writer->zero_page);
	pfree(writer);
}

#endif							/* PARDUMP_BULK_WRITE */
