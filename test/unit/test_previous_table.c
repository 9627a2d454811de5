/*
 * test_previous_table.c
 *		A table is cut as it was: every block in one range, old ranges where
 *		they were, new blocks where they belong; and a file stands for the
 *		same blocks only.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "plan/previous_archive.h"
#include "unit_test.h"

#define HASH "00ff"
#define OPEN InvalidBlockNumber

/* Ranges that begin at these blocks, of a table with "blocks" blocks. */
static PreviousTable
table_of(const int64 *starts, int n, BlockNumber blocks)
{
	ManifestFile *files = pg_malloc0(n * sizeof(ManifestFile));
	PreviousTable table = {.files = pg_malloc(n * sizeof(ManifestFile *)),.n_files = n};

	for (int i = 0; i < n; i++)
	{
		files[i].start_block = starts[i];
		files[i].end_block = i + 1 < n ? starts[i + 1] : MANIFEST_NO_END;
		files[i].relation_blocks = blocks;
		files[i].fingerprint = files[i].first_fingerprint =
			files[i].definition = HASH;
		table.files[i] = &files[i];
	}
	return table;
}

/* The starts of the new ranges, with chunks of 100 blocks. */
static void
check_cuts(const char *what, const PreviousTable *table, BlockNumber n_blocks,
		   const char *expected)
{
	BlockNumber *starts;
	int			n = previous_table_cuts(table, n_blocks, 100, &starts);
	PQExpBufferData text;

	initPQExpBuffer(&text);
	for (int i = 0; i < n; i++)
		appendPQExpBuffer(&text, "%s%u", i > 0 ? " " : "", starts[i]);
	is_text(text.data, expected, what);
	termPQExpBuffer(&text);
}

static void
test_cuts(void)
{
	static const int64 three[] = {0, 100, 200};
	static const int64 one[] = {0};
	static const int64 emptied[] = {0, 100};
	static const int64 gap[] = {0, 100, 200};
	PreviousTable table = table_of(three, 3, 290);

	check_cuts("as large as it was", &table, 290, "0 100 200");
	check_cuts("less than half a chunk goes to the last range", &table, 339,
			   "0 100 200");
	check_cuts("half a chunk is one of its own", &table, 340, "0 100 200 290");
	check_cuts("much more is cut", &table, 600, "0 100 200 290 393 496");
	check_cuts("smaller, within the last range", &table, 201, "0 100 200");
	check_cuts("smaller, at a cut", &table, 200, "0 100");
	check_cuts("smaller than the first range", &table, 1, "0");
	check_cuts("empty now", &table, 0, "0");
	table = table_of(one, 1, 145);
	check_cuts("a range larger than one and a half is not made", &table, 155,
			   "0 145");
	table = table_of(one, 1, 0);
	check_cuts("it was empty", &table, 250, "0 83 166");
	check_cuts("it was empty, and is", &table, 0, "0");
	table = table_of(emptied, 2, 100);
	check_cuts("a last range without blocks", &table, 130, "0 100");
	table = table_of(gap, 3, 290);
	unconstify(ManifestFile *, table.files[1])->end_block = 150;
	check_cuts("a gap: it is cut again", &table, 290, "");
	table = table_of(gap, 3, 290);
	unconstify(ManifestFile *, table.files[1])->end_block = MANIFEST_NO_END;
	check_cuts("an end in the middle: it is cut again", &table, 290, "");
	table = table_of(gap, 3, 290);
	unconstify(ManifestFile *, table.files[2])->end_block = 290;
	check_cuts("no open end: it is cut again", &table, 290, "");
	table = table_of(three + 1, 2, 290);
	check_cuts("without the first blocks: it is cut again", &table, 290, "");
}

/* The start of the file that is found, or -1. */
static int
match(const PreviousTable *table, BlockNumber start, BlockNumber end,
	  BlockNumber n_blocks)
{
	const ManifestFile *file = previous_table_match(table, start, end, n_blocks);

	return file ? (int) file->start_block : -1;
}

static void
test_match(void)
{
	static const int64 three[] = {0, 100, 200};
	PreviousTable table = table_of(three, 3, 290);

	is_number(match(&table, 100, 200, 290), 100, "the same blocks");
	is_number(match(&table, 100, 199, 290), -1, "another end");
	is_number(match(&table, 101, 200, 290), -1, "another start");
	is_number(match(&table, 200, OPEN, 290), 200, "the last, as it was");
	is_number(match(&table, 200, 290, 400), 200, "the last, which is not now");
	is_number(match(&table, 200, OPEN, 291), -1, "the last has grown");
	is_number(match(&table, 200, OPEN, 289), -1, "the last has shrunk");
	is_number(match(&table, 100, OPEN, 200), 100, "the last now, which was not");
	unconstify(ManifestFile *, table.files[0])->where = "id > 0";
	is_number(match(&table, 0, 100, 290), -1, "not all of its rows");
	unconstify(ManifestFile *, table.files[1])->definition = NULL;
	is_number(match(&table, 100, 200, 290), -1, "no definition");
}

static void
test_find(void)
{
	ManifestFile files[] = {
		{.table_oid = 5,.fingerprint = HASH,.first_fingerprint = HASH,.definition = HASH},
		{.table_oid = 7}, {.table_oid = 7,.start_block = 9}, {.table_oid = 8}
	};
	const ManifestFile *sorted[] = {&files[0], &files[1], &files[2], &files[3]};
	PreviousArchive previous = {.files = sorted,.n_files = lengthof(sorted)};
	PreviousTable found;

	ok(previous_table_find(&previous, 5, &found) && found.n_files == 1 &&
	   found.reusable == &files[0], "a table with a fingerprint");
	ok(previous_table_find(&previous, 7, &found) && found.n_files == 2 &&
	   found.files[1] == &files[2] && found.reusable == NULL,
	   "a table of two files without");
	ok(previous_table_find(&previous, 8, &found) && found.n_files == 1,
	   "the last table");
	ok(!previous_table_find(&previous, 6, &found), "a table between others");
	ok(!previous_table_find(&previous, 9, &found), "a table behind all");
}

void
test_previous_table(void)
{
	test_cuts();
	test_match();
	test_find();
}
