/*
 * test_chunk_plan.c
 *		How tables are cut: every block of a table is in just one chunk, and
 *		what is not split says why.
 *
 * What is here stands for the server that is asked for chunks.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "pqexpbuffer.h"

#include "plan/chunk_plan.h"
#include "unit_test.h"

#define MB ((uint64) 1024 * 1024)
#define BLOCK_BYTES 8192

static int	server_version;

static const ServerChunk *planned;
static int	n_planned;

/* A ServerChunksCallback. */
static ServerChunk *
planned_chunks(PGconn *conn, const DumpTable *table, uint64 chunk_bytes, int *n)
{
	ServerChunk *chunks = pg_malloc((n_planned + 1) * sizeof(ServerChunk));

	for (int i = 0; i < n_planned; i++)
		chunks[i] = planned[i];
	*n = n_planned;
	return chunks;
}

static DumpTable
heap_table(uint64 total_bytes)
{
	DumpTable	table = {.relkind = RELKIND_RELATION,.is_heap = true,
		.has_definition = true,.name = "public.t",.heap_bytes = total_bytes,
	.total_bytes = total_bytes,.heap_blocks = total_bytes / BLOCK_BYTES};

	return table;
}

/* The plan for one table. */
static ChunkPlan *
plan_table(DumpTable *table, const Options *options, const char *missing)
{
	DumpTables	tables = {.tables = table,.n_tables = 1,
	.server_version = server_version,.block_bytes = BLOCK_BYTES};
	ServerExtension extension = {.missing = missing};

	return chunk_plan_make(options, &tables, &extension, NULL, planned_chunks,
						   NULL);
}

/* "16-32" for each chunk; the end of the last one is open: "32-". */
static char *
blocks_text(const ChunkPlan *plan)
{
	PQExpBufferData text;

	initPQExpBuffer(&text);
	for (int i = 0; i < plan->n_files; i++)
	{
		const DataFile *file = &plan->files[i];

		appendPQExpBuffer(&text, "%s%u-", i > 0 ? " " : "", file->start_block);
		if (file->end_block != InvalidBlockNumber)
			appendPQExpBuffer(&text, "%u", file->end_block);
	}
	return text.data;
}

/* Check the ranges of a table with this number of blocks. */
static void
check_blocks(uint64 blocks, const Options *options, const char *missing,
			 const char *expected, const char *what)
{
	DumpTable	table = heap_table(blocks * BLOCK_BYTES);

	is_text(blocks_text(plan_table(&table, options, missing)), expected, what);
}

static void
check_equal_chunks(void)
{
	const Options pages = {.jobs = 1,.segment_pages = 16};
	const Options bytes = {.jobs = 1,.chunk_bytes = 10 * BLOCK_BYTES};
	const Options whole = {.jobs = 1,.chunk_bytes = 10 * BLOCK_BYTES,.no_chunks = true};

	check_blocks(16, &pages, "none", "0-", "--max-table-segment-pages: not beyond");
	check_blocks(17, &pages, "none", "0-16 16-", "a block beyond");
	check_blocks(48, &pages, NULL, "0-16 16-32 32-", "with the extension, too");
	check_blocks(15, &bytes, "none", "0-", "one and a half chunks");
	check_blocks(20, &bytes, "none", "0-10 10-", "two chunks");
	check_blocks(25, &bytes, "none", "0-9 9-18 18-", "chunks of equal size");
	check_blocks(25, &whole, "none", "0-", "--no-chunks");
	check_blocks(0, &bytes, "none", "0-", "no block");
	server_version = 130000;
	check_blocks(25, &bytes, "none", "0-", "a server without TID range scans");
	server_version = 150000;
}

/* What numbers and estimates a table's chunks have. */
static void
check_numbers(void)
{
	const Options options = {.jobs = 1,.segment_pages = 16};
	DumpTable	table = heap_table(40 * BLOCK_BYTES);
	ChunkPlan  *plan;
	uint64		est_bytes = 0;

	table.total_bytes = 100 * BLOCK_BYTES;	/* most of it TOAST */
	plan = plan_table(&table, &options, "none");
	for (int i = 0; i < plan->n_files; i++)
		est_bytes += plan->files[i].est_bytes;
	is_number(plan->n_files, 3, "chunks");
	is_number(plan->files[2].chunk_no, 3, "they are numbered from 1");
	is_number(plan->files[0].n_chunks, 3, "each knows how many there are");
	is_number(est_bytes, table.total_bytes, "estimates sum up to the table's size");
	is_number(plan->total_bytes, table.total_bytes, "the size of all tables");
}

static void
check_chunk_bytes(uint64 total, int jobs, const char *target, uint64 expected,
				  const char *what)
{
	const Options options = {.jobs = jobs,.target = target};
	DumpTable	table = heap_table(total);

	table.is_heap = false;
	is_number(plan_table(&table, &options, "none")->chunk_bytes, expected, what);
}

static void
check_whole(DumpTable table, const char *reason)
{
	const Options options = {.jobs = 1,.chunk_bytes = MB};
	ChunkPlan  *plan = plan_table(&table, &options, "none");

	is_text(plan->tables[0].whole_reason, reason, reason);
	is_number(plan->n_files, 1, "it is one file");
}

static void
check_reasons(void)
{
	DumpTable	foreign = heap_table(100 * MB);
	DumpTable	columnar = heap_table(100 * MB);
	DumpTable	filtered = heap_table(100 * MB);
	DumpTable	tree = heap_table(100 * MB);
	DumpTable	others = heap_table(100 * MB);
	DumpTable	toast = heap_table(100 * MB);

	foreign.relkind = RELKIND_FOREIGN_TABLE;
	check_whole(foreign, "it is a foreign table");
	columnar.is_heap = false;
	check_whole(columnar, "its access method is not heap");
	filtered.condition = "WHERE true";
	check_whole(filtered, "it is an extension's configuration table with a filter condition");
	tree.references_itself = true;
	tree.has_definition = false;
	check_whole(tree, "it has a foreign key to itself and the dump does not create it");
	others.stranger = "a\nb";
	check_whole(others, "querying it could run functions of role \"a\\x0ab\", which owns it, its parent or its schema (see --trust-owners)");
	toast.heap_blocks = 1;
	check_whole(toast, "it has one block");
	check_whole(heap_table(MB), "it is smaller than 1.5 times the chunk size");
}

static void
set_planned(const ServerChunk *chunks, int n)
{
	planned = chunks;
	n_planned = n;
}

static void
plan_by_server(const void *arg)
{
	const Options options = {.jobs = 1,.chunk_bytes = 100 * BLOCK_BYTES};
	DumpTable	table = heap_table(1000 * BLOCK_BYTES);

	printf("%s\n", blocks_text(plan_table(&table, &options, NULL)));
}

#define EXTENSION_HINT \
	"unit_test: hint: Run ALTER EXTENSION pg_pardump UPDATE; or use --no-extension.\n"

static void
check_planned_chunks(void)
{
	static const ServerChunk some[] = {{0, 100, 9}, {100, 500, 9}, {500, 1000, 9}};
	static const ServerChunk wide[] = {{0, 1000, 9, true}, {1000, 1001, 9}};
	static const ServerChunk gap[] = {{0, 100, 9}, {101, 1000, 9}};
	static const ServerChunk overlap[] = {{0, 100, 9}, {99, 1000, 9}};
	static const ServerChunk late[] = {{1, 1000, 9}};

	set_planned(some, 3);
	child_ends(plan_by_server, NULL, 0, "0-100 100-500 500-750 750-\n",
			   "chunks of the server; a wide one in parts");
	set_planned(wide, 2);
	child_ends(plan_by_server, NULL, 0, "0-333 333-666 666-1000 1000-\n",
			   "one that is wider still");
	set_planned(gap, 2);
	child_ends(plan_by_server, NULL, 1,
			   "unit_test: error: the server plans chunks with a gap or an overlap at block 100 of table public.t\n"
			   EXTENSION_HINT, "a gap");
	set_planned(overlap, 2);
	child_ends(plan_by_server, NULL, 1,
			   "unit_test: error: the server plans chunks with a gap or an overlap at block 100 of table public.t\n"
			   EXTENSION_HINT, "an overlap");
	set_planned(late, 1);
	child_ends(plan_by_server, NULL, 1,
			   "unit_test: error: the server plans chunks with a gap or an overlap at block 0 of table public.t\n"
			   EXTENSION_HINT, "no begin");
	set_planned(NULL, 0);
	child_ends(plan_by_server, NULL, 1,
			   "unit_test: error: the server plans no chunks for table public.t\n"
			   EXTENSION_HINT, "no chunks");
}

/* Of a size that is chosen, and so the last chunks are smaller ones. */
static void
check_tail(void)
{
	const Options options = {.jobs = 1,.target = "copy"};
	DumpTable	two[] = {heap_table(64 * MB), heap_table(48 * MB)};
	DumpTables	tables = {.tables = two,.n_tables = 2,
	.server_version = server_version,.block_bytes = BLOCK_BYTES};
	ServerExtension extension = {.missing = "none"};
	ChunkPlan  *plan;

	check_blocks(4096, &options, "none",
				 "0-1024 1024-2048 2048-2560 2560-3072 3072-3328 3328-3584 3584-3840 3840-",
				 "halves and quarters last");
	plan = chunk_plan_make(&options, &tables, &extension, NULL, planned_chunks,
						   NULL);
	is_number(plan->tables[0].n_files, 8, "chunks of the larger table");
	is_number(plan->tables[1].n_files, 6 - 2 + 2 + 4, "those of the smaller one");
	is_number(plan->files[plan->n_files - 1].est_bytes, 2 * MB, "a quarter");
}

void
test_chunk_plan(void)
{
	server_version = 150000;
	check_equal_chunks();
	check_numbers();
	check_chunk_bytes(MB, 4, NULL, 32 * MB, "the least size of a chunk");
	check_chunk_bytes(MB, 4, "copy", 8 * MB, "the least of a copy");
	check_chunk_bytes(128 * 64 * MB, 4, NULL, 128 * MB, "16 chunks for each job");
	check_chunk_bytes(MB * MB, 4, NULL, 1024 * MB, "the largest size of a chunk");
	check_chunk_bytes(80 * MB * MB, 1000, NULL, 1024 * MB, "the same of 80 TB");
	check_chunk_bytes(900 * MB * MB, 1000, NULL, 900 * MB * MB / 90000 + 1,
					  "more than that, so that there are not too many");
	check_reasons();
	check_planned_chunks();
	check_tail();
}
