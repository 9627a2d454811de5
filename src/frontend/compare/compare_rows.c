/*
 * compare_rows.c
 *		Has rows summed up, counted where they differ, and shown.
 *
 * Rows are compared as lines of COPY's text format, by a hash of each whose
 * seed nobody knows before.  Equal tables have equal sums of them, in
 * whichever chunks and whichever order they were read.  Of other tables a
 * sketch (difference_sketch.h) tells the hashes that only one side has, and
 * another one the hashes of keys: a row whose key only one side has is
 * missing on the other; the rest have other values.
 *
 * A worker makes what it learns of a data file in memory of its own, and
 * tells it when the file has been read: what a worker that is lost was at is
 * as if it had never begun.
 */
#include "base/fe_compat.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "pqexpbuffer.h"

#include "base/shared_memory.h"
#include "compare/compare_rows.h"
#include "compare/sink_rows.h"
#include "status/run_event.h"

#define MAX_SKETCH_BYTES ((uint64) 256 * 1024 * 1024)

/* How far a data file's sketch is added to the table's. */
typedef enum MergeState
{
	MERGE_NOT_BEGUN = 0,
	MERGE_BEGUN,
	MERGE_DONE
} MergeState;

typedef enum RowPass
{
	PASS_SUM,
	PASS_COUNT,
	PASS_SHOW
} RowPass;

/* Of a table that differs; in shared memory. */
typedef struct TableSketches
{
	uint64		n_hashes;		/* on both sides */
	DifferenceSketch *rows;		/* NULL = not counted */
	DifferenceSketch *keys;		/* NULL without a key */
} TableSketches;

struct CompareRows
{
	CompareSide *const *sides;
	CompareTables *tables;
	uint64		seed;
	uint64		key_seed;
	TableSketches *sketches;	/* by table */
	int			encoding;		/* of the rows */

	/* In shared memory, by side and data file */
	RowSum	   *sums[2];
	volatile char *merged[2];
	ShownRows  *shown[2];
	ObjectSum  *objects[2];		/* by group */

	/* What goes on */
	RowPass		pass;
	int			side;
	const CompareTable *table;	/* in a worker, of the file that is read */
	RowSum		sum;
	TableSketches part;
	ShownRows	found;
	PQExpBufferData key;
};

/* ----------
 * Rows
 * ----------
 */
static uint64
hash_of(const char *text, size_t len, uint64 seed)
{
	return hash_bytes_extended((const unsigned char *) text, (int) len, seed);
}

/* The key's fields, as they are in the row, with tabs between them. */
static uint64
hash_key(CompareRows *rows, const char *row, size_t row_len)
{
	const CompareTable *table = rows->table;

	resetPQExpBuffer(&rows->key);
	for (int i = 0; i < table->n_key; i++)
	{
		size_t		len;
		const char *field = sink_rows_field(row, row_len, table->key_columns[i],
											&len);

		appendBinaryPQExpBuffer(&rows->key, field, len);
		appendPQExpBufferChar(&rows->key, '\t');
	}
	if (PQExpBufferBroken(&rows->key))
		pg_fatal("out of memory");
	return hash_of(rows->key.data, rows->key.len, rows->key_seed);
}

static void
sum_row(void *arg, const char *row, size_t len)
{
	CompareRows *rows = arg;
	uint64		hash = hash_of(row, len, rows->seed);

	rows->sum.rows++;
	rows->sum.sum += hash;
	rows->sum.mixed += hash_of((char *) &hash, sizeof(hash), rows->key_seed);
}

static void
count_row(void *arg, const char *row, size_t len)
{
	CompareRows *rows = arg;
	const TableSketches *part = &rows->part;
	int			times = rows->side == 0 ? 1 : -1;
	uint64		hash = hash_of(row, len, rows->seed);
	uint64		key = part->keys ? hash_key(rows, row, len) : hash;

	difference_sketch_add(part->rows, part->n_hashes, hash, key, times);
	if (part->keys)
		difference_sketch_add(part->keys, part->n_hashes, key, key, times);
}

static void
show_row(void *arg, const char *row, size_t len)
{
	CompareRows *rows = arg;
	const CompareTable *table = rows->table;
	const DumpTables *tables = compare_side_plan(rows->sides[0])->tables;
	bool		first = rows->side == 0;
	RowKind		kind = first ? ROW_ONLY_FIRST : ROW_ONLY_SECOND;
	char		text[SHOWN_BYTES];

	if (!difference_has(&table->rows, hash_of(row, len, rows->seed), first))
		return;
	if (table->n_key > 0)
	{
		uint64		key = hash_key(rows, row, len);

		if (!difference_knows(&table->keys, key))
			return;
		if (!difference_has(&table->keys, key, first))
			kind = ROW_CHANGED;
	}
	/* both sides have it, with the same key */
	if (kind == ROW_CHANGED && !first)
		return;
	shown_rows_describe(table, &tables->tables[table->no[0]], rows->encoding,
						row, len, text);
	shown_rows_keep(&rows->found, kind, text);
}

/* ----------
 * Callbacks of a side
 * ----------
 */
static int
file_number(const CompareRows *rows, const DataFile *file)
{
	return (int) (file - compare_side_plan(rows->sides[rows->side])->chunks->files);
}

/* NULL for a table that is left out. */
static CompareTable *
find_table(const CompareRows *rows, int table)
{
	int			no = rows->tables->of[rows->side][table];

	return no < 0 ? NULL : &rows->tables->tables[no];
}

static const TableSketches *
sketches_of(const CompareRows *rows, const CompareTable *table)
{
	return &rows->sketches[table - rows->tables->tables];
}

static bool
wants(void *arg, int table_no)
{
	const CompareRows *rows = arg;
	const CompareTable *table = find_table(rows, table_no);

	if (table == NULL || !compare_table_has_rows(table))
		return false;
	return rows->pass == PASS_SUM || sketches_of(rows, table)->rows != NULL;
}

static Sink *
begin(void *arg, const DataFile *file)
{
	static const RowCallback callbacks[] = {sum_row, count_row, show_row};
	CompareRows *rows = arg;
	const TableSketches *whole;

	rows->table = find_table(rows, file->table);
	memset(&rows->sum, 0, sizeof(RowSum));
	memset(&rows->found, 0, sizeof(ShownRows));
	if (rows->pass == PASS_COUNT)
	{
		size_t		bytes;

		/* by a worker that was lost when it had told */
		if (rows->merged[rows->side][file_number(rows, file)] == MERGE_DONE)
			return NULL;
		whole = sketches_of(rows, rows->table);
		bytes = difference_sketch_bytes(whole->n_hashes);
		rows->part.n_hashes = whole->n_hashes;
		rows->part.rows = pg_malloc0(bytes);
		rows->part.keys = whole->keys ? pg_malloc0(bytes) : NULL;
	}
	return sink_rows_new(callbacks[rows->pass], rows);
}

static void
merge(CompareRows *rows, volatile char *merged)
{
	const TableSketches *whole = sketches_of(rows, rows->table);
	const TableSketches *part = &rows->part;

	*merged = MERGE_BEGUN;
	__sync_synchronize();
	difference_sketch_merge(whole->rows, part->rows, whole->n_hashes);
	if (part->keys)
		difference_sketch_merge(whole->keys, part->keys, whole->n_hashes);
	__sync_synchronize();
	*merged = MERGE_DONE;
	free(part->rows);
	free(part->keys);
}

static void
end(void *arg, const DataFile *file)
{
	CompareRows *rows = arg;
	int			no = file_number(rows, file);

	switch (rows->pass)
	{
		case PASS_SUM:
			rows->sums[rows->side][no] = rows->sum;
			break;
		case PASS_COUNT:
			merge(rows, &rows->merged[rows->side][no]);
			break;
		case PASS_SHOW:
			rows->shown[rows->side][no] = rows->found;
			break;
	}
}

static void
reset(void *arg, const DataFile *file)
{
	const CompareRows *rows = arg;

	if (rows->pass == PASS_COUNT &&
		rows->merged[rows->side][file_number(rows, file)] == MERGE_BEGUN)
		pg_fatal("a worker was lost while it told which rows differ");
}

static void
take_group(void *arg, int group, const ObjectSum *sum)
{
	CompareRows *rows = arg;

	rows->objects[rows->side][group] = *sum;
}

/* ----------
 * Passes
 * ----------
 */
static void
run_pass(CompareRows *rows, RowPass pass, bool with_objects)
{
	CompareWork work = {
		.arg = rows,
		.wants = wants,
		.begin = begin,
		.end = end,
		.reset = reset,
		.group = with_objects ? take_group : NULL,
		.seed = rows->seed,
	};

	rows->pass = pass;
	for (rows->side = 0; rows->side < 2; rows->side++)
		compare_side_run(rows->sides[rows->side], &work);
}

static void
add_up(CompareRows *rows, ObjectSum objects[2])
{
	for (int side = 0; side < 2; side++)
	{
		const DumpPlan *plan = compare_side_plan(rows->sides[side]);

		for (int i = 0; i < plan->chunks->n_files; i++)
		{
			const RowSum *sum = &rows->sums[side][i];
			int			no = rows->tables->of[side][plan->chunks->files[i].table];

			if (no < 0)
				continue;
			rows->tables->tables[no].sums[side].rows += sum->rows;
			rows->tables->tables[no].sums[side].sum += sum->sum;
			rows->tables->tables[no].sums[side].mixed += sum->mixed;
		}
		for (int i = 0; i < plan->objects->n_groups; i++)
		{
			objects[side].objects += rows->objects[side][i].objects;
			objects[side].bytes += rows->objects[side][i].bytes;
			objects[side].sum += rows->objects[side][i].sum;
		}
	}
}

/* As many tables as there is room for; are there any? */
static bool
choose_tables(CompareRows *rows)
{
	uint64		room = MAX_SKETCH_BYTES;
	bool		any = false;

	for (int i = 0; i < rows->tables->n_tables; i++)
	{
		CompareTable *table = &rows->tables->tables[i];
		TableSketches *sketches = &rows->sketches[i];
		size_t		bytes;

		if (!compare_table_has_rows(table) ||
			memcmp(&table->sums[0], &table->sums[1], sizeof(RowSum)) == 0)
			continue;
		table->differs = true;
		sketches->n_hashes = table->sums[0].rows + table->sums[1].rows;
		bytes = difference_sketch_bytes(sketches->n_hashes);
		if (room < 2 * bytes)
			continue;
		room -= 2 * bytes;
		any = true;
		sketches->rows = shared_memory_new(bytes, 1);
		if (table->n_key > 0)
			sketches->keys = shared_memory_new(bytes, 1);
	}
	return any;
}

static void
read_sketches(CompareRows *rows)
{
	for (int i = 0; i < rows->tables->n_tables; i++)
	{
		CompareTable *table = &rows->tables->tables[i];
		const TableSketches *sketches = &rows->sketches[i];

		if (sketches->rows == NULL)
			continue;
		table->is_counted = true;
		table->rows = difference_sketch_read(sketches->rows,
											 sketches->n_hashes);
		if (sketches->keys)
			table->keys = difference_sketch_read(sketches->keys,
												 sketches->n_hashes);
	}
}

static void
make_results(CompareRows *rows)
{
	for (int side = 0; side < 2; side++)
	{
		const DumpPlan *plan = compare_side_plan(rows->sides[side]);
		int			n = plan->chunks->n_files;

		rows->sums[side] = shared_memory_new(n, sizeof(RowSum));
		rows->merged[side] = shared_memory_new(n, 1);
		rows->shown[side] = shared_memory_new(n, sizeof(ShownRows));
		rows->objects[side] = shared_memory_new(plan->objects->n_groups,
												sizeof(ObjectSum));
	}
}

CompareRows *
compare_rows_run(CompareSide *const sides[2], CompareTables *tables,
				 bool with_objects, ObjectSum objects[2])
{
	CompareRows *rows = pg_malloc0(sizeof(CompareRows));

	rows->sides = sides;
	rows->tables = tables;
	rows->encoding = pg_char_to_encoding(compare_side_plan(sides[0])->encoding);
	if (!pg_strong_random(&rows->seed, sizeof(rows->seed)) ||
		!pg_strong_random(&rows->key_seed, sizeof(rows->key_seed)))
		pg_fatal("could not generate random numbers");
	initPQExpBuffer(&rows->key);
	rows->sketches = pg_malloc0((tables->n_tables + 1) * sizeof(TableSketches));
	make_results(rows);
	run_event_stage("rows");
	run_pass(rows, PASS_SUM, with_objects);
	add_up(rows, objects);
	if (choose_tables(rows))
	{
		run_event_stage("differences");
		run_pass(rows, PASS_COUNT, false);
		read_sketches(rows);
		run_pass(rows, PASS_SHOW, false);
	}
	return rows;
}

ShownRows *
compare_rows_shown(const CompareRows *rows, const CompareTable *table)
{
	ShownRows  *result = pg_malloc0(sizeof(ShownRows));

	for (int side = 0; side < 2; side++)
	{
		const TablePlan *plan =
			&compare_side_plan(rows->sides[side])->chunks->tables[table->no[side]];

		for (int i = 0; i < plan->n_files; i++)
		{
			const ShownRows *shown = &rows->shown[side][plan->first_file + i];

			for (int kind = 0; kind < N_ROW_KINDS; kind++)
				for (int j = 0; j < shown->n[kind]; j++)
					shown_rows_keep(result, kind, shown->text[kind][j]);
		}
	}
	return result;
}
