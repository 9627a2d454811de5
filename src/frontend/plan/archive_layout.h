/*
 * archive_layout.h
 *		Converts pg_dump's table of contents to that of an archive with
 *		chunks.
 */
#ifndef ARCHIVE_LAYOUT_H
#define ARCHIVE_LAYOUT_H

#include "plan/chunk_plan.h"

/* What a completion calls itself; pg_restore does not know it. */
#define ARCHIVE_COMPLETION_DESC "TABLE DATA COMPLETE"

/*
 * Give every data file its dump ID, and return the table of contents of the
 * directory archive that holds these files: toc with every entry's file
 * named, and the TABLE DATA entries of split tables replaced by their chunks
 * and a barrier.  The result borrows strings of toc.
 */
extern Toc *archive_layout_make(const Toc *toc, const DumpTables *tables,
								ChunkPlan *chunks);

#endif							/* ARCHIVE_LAYOUT_H */
