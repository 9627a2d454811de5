/*
 * previous_table.h
 *		What the previous archive has of a table, and how it was cut.
 *
 * Of a table's last range the file has no end.  It is the number of blocks
 * that the table had: those behind it held nothing that the snapshot saw.
 */
#ifndef PREVIOUS_TABLE_H
#define PREVIOUS_TABLE_H

#include "previous/previous_archive.h"

typedef struct PreviousTable
{
	const ManifestFile **files; /* by start block; borrowed */
	int			n_files;
	const ManifestFile *reusable;	/* any with a fingerprint of all its rows;
									 * NULL if there is none */
} PreviousTable;

/* False if it has none of the table's files. */
extern bool previous_table_find(const PreviousArchive *previous, Oid table,
								PreviousTable *found);

/*
 * The file of these blocks, of a table that has n_blocks now, if it may be
 * used again, or NULL.  InvalidBlockNumber means no end.
 */
extern const ManifestFile *previous_table_match(const PreviousTable *table,
												BlockNumber start, BlockNumber end,
												BlockNumber n_blocks);

/*
 * Cut a table that has n_blocks now as it was cut: what is new of it goes to
 * the last range, unless that is at least half a chunk, or the range would be
 * larger than one and a half.  The start blocks, owned; their number is 0 if
 * it was not cut so that every block was in one file.
 */
extern int	previous_table_cuts(const PreviousTable *table, BlockNumber n_blocks,
								BlockNumber chunk_blocks, BlockNumber **starts);

#endif							/* PREVIOUS_TABLE_H */
