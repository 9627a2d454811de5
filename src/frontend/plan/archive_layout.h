/*
 * archive_layout.h
 *		Converts pg_dump's table of contents to that of an archive with
 *		chunks, which stock pg_restore can restore.
 *
 * The comment at the top of archive_layout.c explains the layout.
 */
#ifndef ARCHIVE_LAYOUT_H
#define ARCHIVE_LAYOUT_H

#include "plan/chunk_plan.h"

/* The kind of entry of a completion, which pg_restore does not know. */
#define ARCHIVE_COMPLETION_DESC "TABLE DATA COMPLETE"

/*
 * Assign a dump ID to every data file, and return the table of contents of
 * the archive with these files.  It is toc with the names of all files, in
 * which chunks and a barrier replace the TABLE DATA entries of split tables.
 * The result borrows strings of toc.
 */
extern Toc *archive_layout_make(const Toc *toc, const DumpTables *tables,
								ChunkPlan *chunks);

#endif							/* ARCHIVE_LAYOUT_H */
