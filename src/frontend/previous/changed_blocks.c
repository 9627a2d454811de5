/*
 * changed_blocks.c
 *		Which blocks of a database's relations may have changed.
 */
#include "base/fe_compat.h"

#include "previous/changed_blocks.h"
#include "previous/lower_bound.h"

/* Blocks of a relation's main fork, from its start on. */
typedef struct BlockPart
{
	Oid			tablespace;
	Oid			filenode;
	BlockNumber start;
} BlockPart;

/* By tablespace, file node and start. */
typedef struct BlockParts
{
	BlockPart  *parts;
	int			n;
} BlockParts;

struct ChangedBlocks
{
	BlockParts	parts;			/* of CHANGED_BLOCKS_PART */
	BlockParts	limits;			/* all from there on */
	bool		all;			/* of the database */
};

static int
compare_parts(const void *a, const void *b)
{
	const BlockPart *one = a;
	const BlockPart *other = b;

	if (one->tablespace != other->tablespace)
		return one->tablespace < other->tablespace ? -1 : 1;
	if (one->filenode != other->filenode)
		return one->filenode < other->filenode ? -1 : 1;
	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return 0;
}

static Oid
oid_value(const PGresult *res, int row, int column)
{
	return (Oid) strtoul(PQgetvalue(res, row, column), NULL, 10);
}

static void
sort_parts(BlockParts *parts)
{
	qsort(parts->parts, parts->n, sizeof(BlockPart), compare_parts);
}

ChangedBlocks *
changed_blocks_new(const PGresult *res)
{
	ChangedBlocks *changes = pg_malloc0(sizeof(ChangedBlocks));
	int			n = PQntuples(res);

	changes->parts.parts = pg_malloc((n + 1) * sizeof(BlockPart));
	changes->limits.parts = pg_malloc((n + 1) * sizeof(BlockPart));
	for (int i = 0; i < n; i++)
	{
		bool		is_limit = PQgetvalue(res, i, 3)[0] == 't';
		BlockParts *parts = is_limit ? &changes->limits : &changes->parts;
		BlockPart  *part = &parts->parts[parts->n++];

		part->tablespace = oid_value(res, i, 0);
		part->filenode = oid_value(res, i, 1);
		part->start = (BlockNumber) oid_value(res, i, 2);
		if (part->filenode == 0)
			changes->all = true;
	}
	sort_parts(&changes->parts);
	sort_parts(&changes->limits);
	return changes;
}

/* Is there one of the relation that begins at these blocks? */
static bool
any_begins(const BlockParts *parts, Oid tablespace, Oid filenode,
		   BlockNumber start, BlockNumber end)
{
	BlockPart	key = {tablespace, filenode, start};
	int			i = lower_bound(&key, parts->parts, parts->n,
								sizeof(BlockPart), compare_parts);
	const BlockPart *part = &parts->parts[i];

	return i < parts->n && part->tablespace == tablespace &&
		part->filenode == filenode && part->start < end;
}

bool
changed_blocks_touch(const ChangedBlocks *changes, Oid tablespace,
					 Oid filenode, BlockNumber start, BlockNumber end)
{
	BlockNumber first = start / CHANGED_BLOCKS_PART * CHANGED_BLOCKS_PART;

	return changes->all ||
		any_begins(&changes->limits, tablespace, filenode, 0, end) ||
		any_begins(&changes->parts, tablespace, filenode, first, end);
}
