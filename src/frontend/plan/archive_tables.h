/*
 * archive_tables.h
 *		Finds in an archive's table of contents the entries that are wanted,
 *		and which of them hold the rows of each table.
 */
#ifndef ARCHIVE_TABLES_H
#define ARCHIVE_TABLES_H

#include "base/fe_compat.h"

#include "toc/toc.h"

/* An entry with rows of a table. */
typedef struct ArchivePart
{
	const TocEntry *entry;		/* of the archive's; borrowed */
	int			data_id;		/* the dump ID of the table's TABLE DATA entry
								 * in pg_dump's table of contents */
	int			chunk_no;		/* from 1; 0 if it has all rows */
	int			n_chunks;		/* of the table, wanted or not; 1 if whole */
} ArchivePart;

typedef struct ArchiveTables
{
	Toc		   *toc;			/* pg_dump's, of what is wanted */
	ArchivePart *parts;			/* in the order of the wanted entries */
	int			n_parts;
	const TocEntry **object_lists;	/* the archive's entries with large
									 * objects */
	int			n_object_lists;
} ArchiveTables;

/*
 * Undo archive_layout.h, if the archive is ours, and keep what is wanted: the
 * entries with these dump IDs, in this order, and the settings.  A table that
 * is in chunks has one TABLE DATA entry again, where its first wanted chunk
 * is.  The entries borrow from toc, which is an archive's of any origin.
 * Never freed.
 */
extern ArchiveTables *archive_tables_find(const Toc *toc, const int *ids,
										  int n_ids);

#endif							/* ARCHIVE_TABLES_H */
