/*
 * test_changed_blocks.c
 *		Of what is known of changed blocks, what touches a range: by a search
 *		that is compared with looking at all of it.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "plan/wal_changes.h"
#include "unit_test.h"

/* A row of what the server returns. */
typedef struct Change
{
	Oid			tablespace;
	Oid			filenode;
	BlockNumber block;
	bool		is_limit;
} Change;

static const Change some[] = {
	{1663, 20, 64, false}, {1663, 10, 320, false}, {1663, 10, 32, false},
	{1663, 30, 100, true}, {1700, 10, 0, false}, {1663, 40, 0, true},
	{1663, 20, 0, false}, {1663, 30, 200, true}, {1663, 30, 32, false},
};

static void
set_number(PGresult *res, int row, int column, Oid value)
{
	char		text[16];
	int			len = snprintf(text, sizeof(text), "%u", value);

	PQsetvalue(res, row, column, text, len);
}

static ChangedBlocks *
changes_of(const Change *changes, int n)
{
	static char name[] = "column";
	PGresAttDesc columns[4] = {{name}, {name}, {name}, {name}};
	PGresult   *res = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	ChangedBlocks *result;

	PQsetResultAttrs(res, 4, columns);
	for (int i = 0; i < n; i++)
	{
		char		is_limit[] = {changes[i].is_limit ? 't' : 'f', '\0'};

		set_number(res, i, 0, changes[i].tablespace);
		set_number(res, i, 1, changes[i].filenode);
		set_number(res, i, 2, changes[i].block);
		PQsetvalue(res, i, 3, is_limit, 1);
	}
	result = changed_blocks_new(res);
	PQclear(res);
	return result;
}

/* The rule, one change after the other. */
static bool
any_touches(Oid tablespace, Oid filenode, BlockNumber start, BlockNumber end)
{
	for (int i = 0; i < (int) lengthof(some); i++)
	{
		const Change *change = &some[i];
		BlockNumber last = change->is_limit ? MaxBlockNumber :
			change->block + CHANGED_BLOCKS_PART - 1;

		if (change->tablespace == tablespace &&
			change->filenode == filenode &&
			change->block < end && last >= start)
			return true;
	}
	return false;
}

static void
test_search(void)
{
	static const Oid tablespaces[] = {1662, 1663, 1700, 1701};
	const ChangedBlocks *changes = changes_of(some, lengthof(some));
	int			wrong = 0;
	int			touched = 0;

	for (int i = 0; i < (int) lengthof(tablespaces); i++)
		for (Oid filenode = 9; filenode <= 41; filenode++)
			for (BlockNumber start = 0; start < 400; start += 8)
				for (BlockNumber end = start + 1; end < 420; end += 13)
				{
					bool		found = changed_blocks_touch(changes, tablespaces[i],
															 filenode, start, end);

					touched += found;
					wrong += found != any_touches(tablespaces[i], filenode,
												  start, end);
				}
	is_number(wrong, 0, "ranges that are found otherwise than by looking at all");
	ok(touched > 1000, "many are touched");
}

static void
test_ends(void)
{
	static const Change none[] = {{0}};
	static const Change database[] = {{1663, 0, 0, true}};
	const ChangedBlocks *changes = changes_of(some, lengthof(some));
	const ChangedBlocks *nothing = changes_of(none, 0);
	const ChangedBlocks *all = changes_of(database, 1);

	ok(!changed_blocks_touch(changes, 1663, 10, 0, 32), "before a part");
	ok(changed_blocks_touch(changes, 1663, 10, 0, 33), "its first block");
	ok(changed_blocks_touch(changes, 1663, 10, 63, 64), "its last block");
	ok(!changed_blocks_touch(changes, 1663, 10, 64, 320), "behind it");
	ok(!changed_blocks_touch(changes, 1663, 30, 64, 100), "before a limit");
	ok(changed_blocks_touch(changes, 1663, 30, 64, 101), "at a limit");
	ok(changed_blocks_touch(changes, 1663, 30, 5000, 5001), "behind it");
	ok(!changed_blocks_touch(nothing, 1663, 10, 0, 1000), "nothing has changed");
	ok(changed_blocks_touch(all, 1, 2, 3, 4), "the whole database has");
}

static int
compare_ints(const void *a, const void *b)
{
	const int  *one = a;
	const int  *other = b;

	return *one < *other ? -1 : *one > *other;
}

static void
test_lower_bound(void)
{
	static const int sorted[] = {2, 4, 4, 4, 8};

	for (int key = 1; key <= 9; key++)
	{
		int			expected = 0;

		while (expected < (int) lengthof(sorted) && sorted[expected] < key)
			expected++;
		is_number(lower_bound(&key, sorted, lengthof(sorted), sizeof(int),
							  compare_ints), expected, "lower bound");
	}
	is_number(lower_bound(sorted, sorted, 0, sizeof(int), compare_ints), 0,
			  "of nothing");
}

void
test_changed_blocks(void)
{
	test_search();
	test_ends();
	test_lower_bound();
}
