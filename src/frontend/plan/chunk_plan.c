/*
 * chunk_plan.c
 *		Divides each table into chunks, or decides to read it as a whole.
 *
 * The comment on chunk_plan_make() in chunk_plan.h contains the rules.
 */
#include "base/fe_compat.h"

#include <math.h>

#include "catalog/pg_class_d.h"

#include "base/buffer.h"
#include "plan/chunk_plan.h"

/* ----------
 * The reasons why a table is not split, or read with SQL.
 * ----------
 */

/*
 * COPY of a whole table starts in half the time of a query that calls the
 * extension, 0.1 ms.  From about this size on, the extension is faster in
 * total.
 */
#define SMALL_TABLE_BYTES (128 * 1024)

#define EXTENSION_HINT \
	"Run ALTER EXTENSION pg_pardump UPDATE; or use --no-extension."

/*
 * Returns why neither block ranges nor the extension work for a table; NULL
 * if they do.
 */
static const char *
not_plain_heap(const DumpTable *table)
{
	if (table->relkind != RELKIND_RELATION)
		return "it is a foreign table";
	if (!table->is_heap)
		return "its access method is not heap";
	if (table->condition)
		return "it is an extension's configuration table with a filter condition";
	return NULL;
}

/*
 * Returns why the extension cannot read a table, but SQL can; NULL if it can.
 */
static const char *
chunk_reason_no_extension(const ChunkRules *rules, const DumpTable *table)
{
	const char *reason = not_plain_heap(table);

	if (rules->extension->missing)
		return rules->extension->missing;
	if (reason)
		return reason;
	if (table->filter)
		return "its rows are filtered";
	if (table->masks)
		return "it has masked columns";
	if (table->row_security)
		return "row security applies to it";
	return NULL;
}

/* Returns why a table cannot be read by block ranges; NULL if it can. */
static const char *
chunk_reason_no_split(const ChunkRules *rules, const DumpTable *table)
{
	const char *reason = not_plain_heap(table);

	if (rules->server_version < MIN_SERVER_FOR_CHUNKS)
		return "the server is older than 14";
	if (reason)
		return reason;

	/*
	 * One COPY checks the key at its end, but a chunk's COPY would fail
	 * before the other chunks are loaded.
	 */
	if (table->references_itself && !table->has_definition)
		return "it has a foreign key to itself and the dump does not create it";
	if (table->in_cycle)
		return "it belongs to an extension, and its foreign keys form a cycle with other tables";
	if (table->stranger && chunk_reason_no_extension(rules, table))
		return psprintf("querying it could run functions of role \"%s\", which owns it, its parent or its schema (see --trust-owners)",
						printable(table->stranger));
	return NULL;
}

/*
 * Returns why a table is one file; NULL if it will be split.  Some reasons
 * are logged.
 */
static const char *
chunk_reason_whole(const ChunkRules *rules, const DumpTable *table)
{
	uint64		segment_pages = rules->options->segment_pages;
	const char *reason;

	if (rules->options->no_chunks)
		return "option --no-chunks was specified";
	if (segment_pages != 0 && table->heap_blocks <= segment_pages)
		return "it is not larger than --max-table-segment-pages";
	if (segment_pages == 0 &&
		table->total_bytes / 3 <= rules->chunk_bytes / 2)
		return "it is smaller than 1.5 times the chunk size";

	/*
	 * A table with one block cannot be split, even if it has much TOAST data.
	 */
	if (table->heap_blocks < 2)
		return "it has one block";
	reason = chunk_reason_no_split(rules, table);
	/* That the server is too old is logged once, not for every table. */
	if (reason && rules->server_version >= MIN_SERVER_FOR_CHUNKS)
	{
		pg_log_info("not splitting table %s into chunks", printable(table->name));
		pg_log_info_detail("%s", message_sentence(reason));
	}
	return reason;
}

bool
chunk_reason_is_small(const DumpTable *table)
{
	return table->total_bytes < SMALL_TABLE_BYTES;
}

/*
 * Returns why SQL reads a table with n_files files; NULL if the extension
 * does.
 */
static const char *
chunk_reason_sql(const ChunkRules *rules, const DumpTable *table, int n_files)
{
	const char *reason = chunk_reason_no_extension(rules, table);
	const char *format = rules->options->copy_format;

	if (reason)
		return reason;
	/* Raw tuples need the extension, even for small tables. */
	if (format && strcmp(format, "raw") == 0)
		return NULL;
	if (n_files == 1 && chunk_reason_is_small(table))
		return SMALL_TABLE;
	return NULL;
}

/* ----------
 * The chunks that the extension proposes.
 * ----------
 */

static const char chunks_query[] =
"SELECT c.start_block, c.end_block, c.est_bytes,"
" c.est_rows OPERATOR(pg_catalog.=) 0::pg_catalog.float8"
" FROM " PARDUMP_CHUNKS "($1::pg_catalog.oid::pg_catalog.regclass, $2::pg_catalog.int8) c"
" ORDER BY c.chunk_no";

/* A block number of a result; InvalidBlockNumber for NULL. */
static BlockNumber
block_number(const PGresult *res, int row, int column)
{
	if (PQgetisnull(res, row, column))
		return InvalidBlockNumber;
	return (BlockNumber) strtoul(PQgetvalue(res, row, column), NULL, 10);
}

ServerChunk *
server_chunks_read(PGconn *conn, const DumpTable *table, uint64 chunk_bytes,
				   int *n)
{
	const char *params[] = {psprintf("%u", table->oid),
	psprintf(UINT64_FORMAT, chunk_bytes)};
	PGresult   *res = session_query_params(conn, chunks_query, 2, params, 0);
	ServerChunk *chunks;

	*n = PQntuples(res);
	chunks = pg_malloc((*n + 1) * sizeof(ServerChunk));
	for (int i = 0; i < *n; i++)
	{
		chunks[i].start_block = block_number(res, i, 0);
		chunks[i].end_block = block_number(res, i, 1);
		chunks[i].est_bytes = result_number(res, i, 2);
		chunks[i].seems_empty = result_is_true(res, i, 3);
	}
	PQclear(res);
	return chunks;
}

/* ----------
 * The plan.
 * ----------
 */

#define MIN_CHUNK_BYTES ((uint64) 32 * 1024 * 1024)
/* Chunks of a copy may be smaller, because they need no files. */
#define MIN_COPIED_CHUNK_BYTES ((uint64) 8 * 1024 * 1024)
#define MAX_CHUNK_BYTES ((uint64) 1024 * 1024 * 1024)
/*
 * Chunks are larger than 1 GB only if there would be more than this many:
 * pg_restore has all entries of an archive in memory, about 500 bytes each,
 * and searches them again and again.  With the last chunks, which are cut
 * again, this makes fewer than 100,000 for a table.
 */
#define MAX_CHUNKS 90000

/*
 * A smaller value in a manifest is not used, because it would make too many
 * files.
 */
#define LEAST_CHUNK_BYTES ((uint64) 64 * 1024)

/*
 * Reading blocks takes time even if they contain nothing to dump.  So a chunk
 * has at most this many times its size in blocks.
 */
#define MAX_BLOCKS_SHARE 4

/*
 * Each worker gets this many chunks, so that all workers finish at about the
 * same time.
 */
#define CHUNKS_PER_JOB 16

/*
 * The last chunks to be read are cut again.  Of this many chunks for every
 * worker, the first half is cut into two parts each, the second half into
 * four.
 */
#define TAIL_CHUNKS_PER_JOB 2

typedef struct Planner
{
	ChunkRules	rules;
	const DumpTables *tables;
	const PreviousArchive *previous;	/* or NULL */
	ServerChunksCallback ask;
	PGconn	   *conn;			/* to query the extension */
	int			last_table;		/* the split table that is read last; -1 =
								 * none */
	ChunkPlan  *plan;
} Planner;

/*
 * Append a file of a table, which the caller fills in.  The result is valid
 * until the next call.
 */
static DataFile *
chunk_plan_add_file(Planner *planner, int table)
{
	ChunkPlan  *plan = planner->plan;
	DataFile   *file;

	file = array_add(plan->files, plan->n_files);
	memset(file, 0, sizeof(DataFile));
	file->table = table;
	return file;
}

static void
add_whole_table(Planner *planner, int table)
{
	DataFile   *file = chunk_plan_add_file(planner, table);

	file->n_chunks = 1;
	file->end_block = InvalidBlockNumber;
	file->est_bytes = planner->tables->tables[table].total_bytes;
}

/*
 * Cut the blocks into the given number of parts, or fewer if there are fewer
 * blocks.
 */
static void
add_parts(Planner *planner, int table, const ServerChunk *chunk, uint64 parts)
{
	BlockNumber start = chunk->start_block;
	uint64		blocks = chunk->end_block - start;

	/*
	 * check_cover() checks the server's proposal later.  Until then it must
	 * not make millions of files.
	 */
	if (chunk->end_block <= start || chunk->end_block == InvalidBlockNumber)
		parts = 1;
	else
		parts = Min(parts, blocks);
	for (uint64 i = 0; i < parts; i++)
	{
		DataFile   *file = chunk_plan_add_file(planner, table);

		file->start_block = start + (BlockNumber) (blocks * i / parts);
		file->end_block = start + (BlockNumber) (blocks * (i + 1) / parts);
		file->est_bytes = chunk->est_bytes / parts;
		file->seems_empty = chunk->seems_empty;
	}
}

/*
 * Cut the last chunks of the table again.  Small chunks are read last
 * (job_queue.c), so that no worker still has much to do when the others have
 * finished.
 */
static void
cut_tail(Planner *planner, int first_file)
{
	ChunkPlan  *plan = planner->plan;
	int			jobs = planner->rules.options->jobs;
	int			n = Min(plan->n_files - first_file, jobs * TAIL_CHUNKS_PER_JOB);
	DataFile   *tail = pg_malloc(n * sizeof(DataFile));

	/* They are at the end of the array, so removing them leaves no gap. */
	plan->n_files -= n;
	memcpy(tail, &plan->files[plan->n_files], n * sizeof(DataFile));
	for (int i = 0; i < n; i++)
	{
		ServerChunk chunk = {tail[i].start_block, tail[i].end_block,
		tail[i].est_bytes, tail[i].seems_empty};

		add_parts(planner, tail[i].table, &chunk, n - i > jobs ? 2 : 4);
	}
}

/*
 * Number the chunks of a table.  The last one gets no end, so that a relation
 * that has grown is read completely.  The snapshot does not see the new rows,
 * but so this need not be proved.
 */
static void
finish_table(Planner *planner, int first_file)
{
	ChunkPlan  *plan = planner->plan;
	int			n_chunks;

	if (plan->files[first_file].table == planner->last_table)
		cut_tail(planner, first_file);
	n_chunks = plan->n_files - first_file;
	for (int i = first_file; i < plan->n_files; i++)
	{
		plan->files[i].chunk_no = n_chunks > 1 ? i - first_file + 1 : 0;
		plan->files[i].n_chunks = n_chunks;
	}
	plan->files[plan->n_files - 1].end_block = InvalidBlockNumber;
}

/* Add chunks with equal numbers of blocks. */
static void
add_equal_chunks(Planner *planner, int table, BlockNumber chunk_blocks)
{
	const DumpTable *t = &planner->tables->tables[table];
	int			first_file = planner->plan->n_files;
	double		bytes_per_block = (double) t->total_bytes / t->heap_blocks;

	for (uint64 block = 0; block < t->heap_blocks; block += chunk_blocks)
	{
		uint64		end = Min(block + chunk_blocks, t->heap_blocks);
		DataFile   *file = chunk_plan_add_file(planner, table);

		file->start_block = (BlockNumber) block;
		file->end_block = (BlockNumber) end;
		file->est_bytes = (uint64) ((end - block) * bytes_per_block);
	}
	finish_table(planner, first_file);
}

/*
 * Check that the chunks have no gap or overlap, which would lose or repeat
 * rows without an error.
 */
static void
check_cover(const Planner *planner, int table, int first_file)
{
	const ChunkPlan *plan = planner->plan;
	BlockNumber next_block = 0;

	for (int i = first_file; i < plan->n_files; i++)
	{
		const DataFile *file = &plan->files[i];

		if (file->start_block != next_block ||
			file->end_block < file->start_block)
		{
			pg_log_error("the server plans chunks with a gap or an overlap at block %u of table %s",
						 next_block, printable(planner->tables->tables[table].name));
			pg_fatal_hint(EXTENSION_HINT);
		}
		next_block = file->end_block;
	}
}

/*
 * Add the chunks that the extension proposes, with equal numbers of bytes to
 * dump.  A chunk with many blocks and few rows is cut into parts, because
 * reading blocks takes time even if they contain nothing to dump.
 */
static void
add_planned_chunks(Planner *planner, int table)
{
	int			first_file = planner->plan->n_files;
	uint64		max_blocks = Max(planner->rules.chunk_bytes /
								 planner->tables->block_bytes, 1) * MAX_BLOCKS_SHARE;
	int			n;
	ServerChunk *chunks = planner->ask(planner->conn,
									   &planner->tables->tables[table],
									   planner->rules.chunk_bytes, &n);

	if (n == 0)
	{
		pg_log_error("the server plans no chunks for table %s",
					 printable(planner->tables->tables[table].name));
		pg_fatal_hint(EXTENSION_HINT);
	}
	for (int i = 0; i < n; i++)
	{
		uint64		blocks = chunks[i].end_block - chunks[i].start_block;

		add_parts(planner, table, &chunks[i],
				  (blocks + max_blocks - 1) / max_blocks);
	}
	check_cover(planner, table, first_file);
	finish_table(planner, first_file);
}

/* ----------
 * The chunks of the previous archive
 * ----------
 */

/* Do the options allow the chunk size of the previous archive? */
static bool
keeps_cuts(const Planner *planner)
{
	const Options *options = planner->rules.options;

	return planner->previous && !options->no_chunks &&
		options->segment_pages == 0 &&
		(options->chunk_bytes == 0 ||
		 options->chunk_bytes == planner->previous->manifest->chunk_bytes);
}

/*
 * Cut the table as in the previous archive.  Returns false if it must be
 * planned again.
 */
static bool
add_previous_chunks(Planner *planner, int table)
{
	const DumpTable *t = &planner->tables->tables[table];
	int			first_file = planner->plan->n_files;
	double		block_bytes = (double) t->total_bytes / Max(t->heap_blocks, 1);
	double		chunk_blocks = planner->rules.chunk_bytes / Max(block_bytes, 1);
	PreviousTable before;
	BlockNumber *starts;
	int			n;

	if (!keeps_cuts(planner) || chunk_reason_no_split(&planner->rules, t) ||
		chunk_reason_no_extension(&planner->rules, t) ||
		!previous_table_find(planner->previous, t->oid, &before))
		return false;
	n = previous_table_cuts(&before, t->heap_blocks,
							(BlockNumber) Min(Max(chunk_blocks, 1), MaxBlockNumber),
							&starts);
	for (int i = 0; i < n; i++)
	{
		DataFile   *file = chunk_plan_add_file(planner, table);

		file->start_block = starts[i];
		file->end_block = i + 1 < n ? starts[i + 1] : t->heap_blocks;
		file->est_bytes = (uint64) ((file->end_block - file->start_block) *
									block_bytes);
	}
	if (n == 0)
		return false;

	/* The previous manifest is a file that may contain anything. */
	check_cover(planner, table, first_file);
	finish_table(planner, first_file);
	return true;
}

/*
 * Find the files of the previous archive that may be reused for the table; if
 * there are none, note why.
 */
static void
match_previous(Planner *planner, int table)
{
	const DumpTable *t = &planner->tables->tables[table];
	TablePlan  *decided = &planner->plan->tables[table];
	PreviousTable before;

	if (decided->sql_reason)
		decided->new_reason = "it is read with COPY";
	/* A fingerprint depends on all columns. */
	else if (t->columns_granted)
		decided->new_reason = "the role has the SELECT privilege on some of its columns only";
	else if (!previous_table_find(planner->previous, t->oid, &before))
		decided->new_reason = "it is not in the previous archive";
	else if (before.reusable == NULL)
		decided->new_reason = "the previous archive has no fingerprints of it";
	else
	{
		decided->new_reason = "its chunks differ from those in the previous archive";
		for (int i = 0; i < decided->n_files; i++)
		{
			DataFile   *file = &planner->plan->files[decided->first_file + i];

			file->previous = previous_table_match(&before, file->start_block,
												  file->end_block,
												  t->heap_blocks);
			if (file->previous)
				decided->new_reason = NULL;
		}
	}
	if (decided->new_reason)
	{
		pg_log_info("dumping all rows of table %s", printable(t->name));
		pg_log_info_detail("%s", message_sentence(decided->new_reason));
	}
}

static void
plan_table(Planner *planner, int table)
{
	const DumpTable *t = &planner->tables->tables[table];
	TablePlan  *decided = &planner->plan->tables[table];
	BlockNumber segment_pages = planner->rules.options->segment_pages;

	decided->first_file = planner->plan->n_files;
	if (add_previous_chunks(planner, table))
		decided->whole_reason = NULL;
	else if (decided->whole_reason)
		add_whole_table(planner, table);
	else if (segment_pages)
		add_equal_chunks(planner, table, segment_pages);
	else if (planner->rules.extension->missing == NULL && !t->row_security &&
			 !t->columns_granted)
		add_planned_chunks(planner, table);
	else
	{
		/*
		 * Without the extension, or if it must not reveal the number of rows:
		 * cut the table into ranges of equal size, as if each block contained
		 * the same.
		 */
		double		chunks = ceil((double) t->total_bytes /
								  planner->rules.chunk_bytes);

		add_equal_chunks(planner, table,
						 (BlockNumber) ceil(t->heap_blocks / chunks));
	}
	decided->n_files = planner->plan->n_files - decided->first_file;
	if (decided->n_files == 1 && decided->whole_reason == NULL)
		decided->whole_reason = "its rows fit into one chunk";

	/*
	 * The reason depends on the number of files: SQL reads one small file
	 * faster, but not a part of a larger table.
	 */
	decided->sql_reason = chunk_reason_sql(&planner->rules, t, decided->n_files);
	if (planner->previous)
		match_previous(planner, table);
}

/*
 * The smallest split table.  It is read last, together with all smaller
 * tables, so its last chunks are cut again; -1 if the user has chosen the
 * size of chunks.
 */
static int
find_last_table(const Planner *planner)
{
	const Options *options = planner->rules.options;
	const DumpTable *tables = planner->tables->tables;
	int			result = -1;

	if (options->chunk_bytes != 0 || options->segment_pages != 0 ||
		planner->previous)
		return -1;
	for (int i = 0; i < planner->tables->n_tables; i++)
		if (planner->plan->tables[i].whole_reason == NULL &&
			(result < 0 || tables[i].total_bytes < tables[result].total_bytes))
			result = i;
	return result;
}

/* The size of chunks; the rule is in chunk_plan.h. */
static uint64
choose_chunk_bytes(const Options *options, const PreviousArchive *previous,
				   uint64 total_bytes)
{
	uint64		bytes = total_bytes / ((uint64) options->jobs * CHUNKS_PER_JOB);
	uint64		least = options->target ? MIN_COPIED_CHUNK_BYTES : MIN_CHUNK_BYTES;

	if (options->chunk_bytes != 0)
		return options->chunk_bytes;
	if (previous && previous->manifest->chunk_bytes != 0)
		return Max(previous->manifest->chunk_bytes, LEAST_CHUNK_BYTES);
	return Min(Max(bytes, least),
			   Max(MAX_CHUNK_BYTES, total_bytes / MAX_CHUNKS + 1));
}

ChunkPlan *
chunk_plan_make(const Options *options, const DumpTables *tables,
				const ServerExtension *extension,
				const PreviousArchive *previous, ServerChunksCallback ask,
				PGconn *conn)
{
	Planner		planner = {{options, extension, tables->server_version}, tables,
	previous, ask, conn, -1};
	ChunkPlan  *plan = pg_malloc0(sizeof(ChunkPlan));

	planner.plan = plan;
	plan->tables = pg_malloc0((tables->n_tables + 1) * sizeof(TablePlan));
	for (int i = 0; i < tables->n_tables; i++)
		plan->total_bytes += tables->tables[i].total_bytes;
	plan->chunk_bytes = choose_chunk_bytes(options, previous,
										   plan->total_bytes);
	planner.rules.chunk_bytes = plan->chunk_bytes;

	if (tables->server_version < MIN_SERVER_FOR_CHUNKS)
	{
		pg_log_info("not splitting tables into chunks");
		pg_log_info_detail("The server is older than 14.");
	}

	for (int i = 0; i < tables->n_tables; i++)
		plan->tables[i].whole_reason = chunk_reason_whole(&planner.rules,
														  &tables->tables[i]);
	planner.last_table = find_last_table(&planner);
	for (int i = 0; i < tables->n_tables; i++)
		plan_table(&planner, i);
	return plan;
}

int
chunk_plan_count_reusable(const ChunkPlan *plan, int table)
{
	const TablePlan *decided = &plan->tables[table];
	int			n = 0;

	for (int i = 0; i < decided->n_files; i++)
		n += plan->files[decided->first_file + i].previous != NULL;
	return n;
}
