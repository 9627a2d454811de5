/*-------------------------------------------------------------------------
 *
 * page_writer.c
 *	  Writes the pages of a new relation, up to 16.
 *
 * tree_writer.c writes the pages of an index with these functions.  Since 17
 * page_writer.h defines them as calls of the server's bulk writer; it also
 * names the functions of 16 that this file follows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#include "index/page_writer.h"

#ifndef PARDUMP_BULK_WRITE

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
	 * A page of an upper level is written later than some pages after it in
	 * the file.  Until then its place is filled with zeros, which is a valid
	 * new page without a checksum.
	 */
	while (block > writer->n_written)
		smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, writer->n_written++,
				   writer->zero_page, true);

	/* "true" below: no fsync is requested, as page_writer_finish() syncs */
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
	 * The file must be synced even if all pages are in WAL.  They are not in
	 * shared buffers, so a checkpoint in the meantime has not written them,
	 * and after a crash WAL is replayed only from that checkpoint on.
	 *
	 * If a permanent relation does not need WAL, its file is synced at
	 * commit.  The file of an unlogged relation must survive a shutdown, but
	 * nothing else would sync it.
	 */
	if (writer->use_wal ||
		writer->rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		smgrimmedsync(RelationGetSmgr(writer->rel), MAIN_FORKNUM);
	pfree(writer->zero_page);
	pfree(writer);
}

#endif							/* PARDUMP_BULK_WRITE */
