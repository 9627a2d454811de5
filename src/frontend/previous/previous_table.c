/*
 * previous_table.c
 *		Finds a table in the previous archive, and cuts it as it was cut.
 */
#include "base/fe_compat.h"

#include "previous/lower_bound.h"
#include "previous/previous_table.h"

/* The first of these files that is of this table and block, or behind it. */
static int
first_from(const ManifestFile **files, int n, Oid table, BlockNumber start)
{
	const ManifestFile wanted = {.table_oid = table,.start_block = start};
	const ManifestFile *key = &wanted;

	return lower_bound(&key, files, n, sizeof(ManifestFile *),
					   previous_archive_compare);
}

/* Has it all rows of its blocks, and a fingerprint of them? */
static bool
is_reusable(const ManifestFile *file)
{
	return file->fingerprint && file->first_fingerprint && file->definition &&
		file->where == NULL && file->sample == NULL && file->masks == NULL;
}

bool
previous_table_find(const PreviousArchive *previous, Oid table,
					PreviousTable *found)
{
	int			first = first_from(previous->files, previous->n_files, table, 0);
	int			end = first;

	memset(found, 0, sizeof(PreviousTable));
	found->files = &previous->files[first];
	while (end < previous->n_files && previous->files[end]->table_oid == table)
	{
		if (is_reusable(previous->files[end]))
			found->reusable = previous->files[end];
		end++;
	}
	found->n_files = end - first;
	return found->n_files > 0;
}

static int64
end_of(const ManifestFile *file)
{
	return file->end_block == MANIFEST_NO_END ? (int64) file->relation_blocks :
		file->end_block;
}

const ManifestFile *
previous_table_match(const PreviousTable *table, BlockNumber start,
					 BlockNumber end, BlockNumber n_blocks)
{
	const ManifestFile *file;
	int			i;

	if (table->n_files == 0)
		return NULL;
	if (end == InvalidBlockNumber)
		end = n_blocks;
	i = first_from(table->files, table->n_files, table->files[0]->table_oid,
				   start);
	file = table->files[Min(i, table->n_files - 1)];
	return file->start_block == (int64) start &&
		end_of(file) == (int64) end && is_reusable(file) ? file : NULL;
}

/* Is every block in one of the files, and in one only? */
static bool
cuts_are_whole(const PreviousTable *table)
{
	int64		next = 0;

	for (int i = 0; i < table->n_files; i++)
	{
		const ManifestFile *file = table->files[i];
		bool		is_last = i == table->n_files - 1;

		if (file->start_block != next ||
			(file->end_block == MANIFEST_NO_END) != is_last ||
			(!is_last && file->end_block <= next))
			return false;
		next = file->end_block;
	}
	return table->n_files > 0;
}

/* Cut the blocks behind those that there were; returns how many starts. */
static int
cut_tail(BlockNumber *starts, int n, BlockNumber before, BlockNumber n_blocks,
		 BlockNumber chunk_blocks)
{
	BlockNumber last = starts[n - 1];
	BlockNumber from = Max(before, last);
	uint64		tail = n_blocks - from;
	uint64		parts = Max((tail + chunk_blocks / 2) / chunk_blocks, 1);

	if (from > last && tail < (chunk_blocks + 1) / 2 &&
		n_blocks - last <= (uint64) chunk_blocks * 3 / 2)
		return n;				/* to the last range */
	/* what was empty is cut as if it had not been there */
	if (from == last)
		n--;
	for (uint64 i = 0; i < parts; i++)
		starts[n++] = from + (BlockNumber) (tail * i / parts);
	return n;
}

int
previous_table_cuts(const PreviousTable *table, BlockNumber n_blocks,
					BlockNumber chunk_blocks, BlockNumber **starts)
{
	BlockNumber before;
	int			n = 0;

	if (!cuts_are_whole(table))
		return 0;
	before = table->files[table->n_files - 1]->relation_blocks;
	*starts = pg_malloc((table->n_files + (size_t) n_blocks / chunk_blocks + 3) *
						sizeof(BlockNumber));
	for (int i = 0; i < table->n_files; i++)
		if (i == 0 || table->files[i]->start_block < (int64) n_blocks)
			(*starts)[n++] = (BlockNumber) table->files[i]->start_block;
	if (n_blocks > before && n == table->n_files)
		n = cut_tail(*starts, n, before, n_blocks, chunk_blocks);
	return n;
}
