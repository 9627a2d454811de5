/*
 * compare_rows.c
 *		Compares the rows of two sides, in any order of the rows.
 *
 * Rows are compared as lines of COPY's text format, with a hash of each that
 * depends on a random seed.  Equal tables have equal sums of these hashes,
 * for any chunks and any order of the rows.  For other tables a sketch
 * (difference_sketch.h) contains the hashes that only one side has, and
 * another sketch the hashes of keys: if only one side has a key, its row is
 * missing on the other; the remaining different rows have other values.
 *
 * A worker collects the result of a data file in its own memory, and
 * publishes it after it has read the whole file.  So a lost worker leaves
 * nothing of the file that it was reading.
 */
#include "base/fe_compat.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"

#include "base/buffer.h"
#include "base/shared_memory.h"
#include "compare/compare_rows.h"

/* ----------
 * Lines
 *
 * A newline or a tab within a value is written as \n or \t (copyto.c:
 * CopyAttributeOutText), and no client encoding has one within a character.
 * ----------
 */

/* Gets a row, without the end of its line; borrowed. */
typedef void (*RowCallback) (void *arg, const char *row, size_t len);

/*
 * Servers cannot send or receive longer rows (memutils.h: MaxAllocSize).  A
 * file that was forged to fill memory may contain a line without an end.
 */
#define MOST_ROW_BYTES ((size_t) 0x3fffffff)

typedef struct RowsSink
{
	Sink		base;
	const char *table;			/* whose rows these are; borrowed */
	const char *side;			/* the name of the rows' side; borrowed */
	RowCallback row;
	void	   *arg;
	PQExpBufferData begun;		/* beginning of a line from earlier data */
} RowsSink;

pg_noreturn static void
reject_rows(const char *table, const char *detail)
{
	pg_log_error("could not compare the rows of table %s", printable(table));
	pg_log_error_detail("%s", detail);
	pg_fatal_hint("To leave out this table, use -T '%s' (pg_pardump) or -L (pg_parrestore).",
				  printable(table));
}

static void
keep_begun(RowsSink *rows, const char *data, size_t len)
{
	if (rows->begun.len + len > MOST_ROW_BYTES)
		reject_rows(rows->table, "A row is longer than 1 GB.");
	appendBinaryPQExpBuffer(&rows->begun, data, len);
	(void) buffer_text(&rows->begun);
}

/*
 * Split the data into lines.  Data comes in parts of any size, so the
 * beginning of a line is kept until the rest comes.  Usually a part has many
 * whole lines, which are passed on without being copied.
 */
static void
sink_rows_write(Sink *sink, const void *data, size_t len)
{
	RowsSink   *rows = (RowsSink *) sink;
	const char *pos = data;
	const char *stop = pos + len;
	const char *end;

	while (pos < stop && (end = memchr(pos, '\n', stop - pos)) != NULL)
	{
		if (rows->begun.len > 0)
		{
			keep_begun(rows, pos, end - pos);
			rows->row(rows->arg, rows->begun.data, rows->begun.len);
			resetPQExpBuffer(&rows->begun);
		}
		else
			rows->row(rows->arg, pos, end - pos);
		pos = end + 1;
	}
	if (pos < stop)
		keep_begun(rows, pos, stop - pos);
}

static void
sink_rows_finish(Sink *sink)
{
	RowsSink   *rows = (RowsSink *) sink;

	if (rows->begun.len > 0)
		reject_rows(rows->table, psprintf("The last row from %s is incomplete.",
										  rows->side));
}

static void
sink_rows_free(Sink *sink)
{
	termPQExpBuffer(&((RowsSink *) sink)->begun);
	free(sink);
}

static const SinkOps sink_rows_ops = {
	.write = sink_rows_write,
	.finish = sink_rows_finish,
	.free = sink_rows_free,
};

/*
 * A final sink that calls row for each line.  Needs memory for the longest
 * line.  Exits with an error if a line is longer than a server's can be, or
 * if the last line has no end.
 */
static Sink *
sink_rows_new(const char *table, const char *side, RowCallback row, void *arg)
{
	RowsSink   *rows = pg_malloc0(sizeof(RowsSink));

	rows->base.ops = &sink_rows_ops;
	rows->table = table;
	rows->side = side;
	rows->row = row;
	rows->arg = arg;
	initPQExpBuffer(&rows->begun);
	return &rows->base;
}

/*
 * A column of a row, with its number from 0, in COPY's text format; borrowed.
 */
static const char *
sink_rows_field(const CompareTable *table, const char *row, size_t row_len,
				int no, size_t *len)
{
	const char *stop = row + row_len;
	const char *end;

	for (; no > 0; no--)
	{
		end = memchr(row, '\t', stop - row);
		if (end == NULL)
			reject_rows(table->name, "A row has fewer columns than the table.");
		row = end + 1;
	}
	end = memchr(row, '\t', stop - row);
	*len = (end ? end : stop) - row;
	return row;
}

/* ----------
 * Rows that are shown
 * ----------
 */

/* The largest number of columns that are shown for a table without a key. */
#define SHOWN_COLUMNS 4

/* Append as many whole characters as fit. */
static void
append_cut(int encoding, PQExpBuffer buf, const char *text, size_t len)
{
	size_t		room = SHOWN_BYTES / 4;
	size_t		used = 0;

	while (used < len && text[used])
	{
		int			more = pg_encoding_mblen(encoding, text + used);

		if (used + more > Min(len, room))
			break;
		used += more;
	}
	appendBinaryPQExpBuffer(buf, text, used);
	if (used < len)
		appendPQExpBufferStr(buf, "...");
}

/*
 * Describe a row with its key, "id=1, b=x", or with its first columns.  The
 * row is a line of COPY's text format in this encoding; first is the table of
 * the first side.
 */
static void
shown_rows_describe(const CompareTable *table, const DumpTable *first,
					int encoding, const char *row, size_t row_len,
					char text[SHOWN_BYTES])
{
	int			n = table->n_key > 0 ? table->n_key :
		Min(first->n_columns, SHOWN_COLUMNS);
	PQExpBufferData buf = buffer_new();

	for (int i = 0; i < n; i++)
	{
		size_t		len;
		const char *field = sink_rows_field(table, row, row_len,
											table->n_key > 0 ?
											table->key_columns[i] : i, &len);
		size_t		before = buf.len;

		appendPQExpBuffer(&buf, "%s%s=", i > 0 ? ", " : "",
						  table->n_key > 0 ? table->key[i] : first->columns[i]);
		if (len == 2 && memcmp(field, "\\N", 2) == 0)
			appendPQExpBufferStr(&buf, "NULL");
		else
			append_cut(encoding, &buf, field, len);
		if (buf.len >= SHOWN_BYTES - 4)
		{
			buf.len = before;
			buf.data[before] = '\0';
			appendPQExpBufferStr(&buf, ", ...");
			break;
		}
	}
	strlcpy(text, buf.data, SHOWN_BYTES);
	termPQExpBuffer(&buf);
}

/*
 * Compare descriptions of rows, which begin alike ("id=12, ...").  At the
 * first difference, the number that contains it decides: shorter numbers come
 * first.
 */
static int
compare_texts(const char *a, const char *b)
{
	size_t		same = 0;
	size_t		digits_a;
	size_t		digits_b;

	while (a[same] && a[same] == b[same])
		same++;
	while (same > 0 && a[same - 1] >= '0' && a[same - 1] <= '9')
		same--;
	digits_a = strspn(a + same, "0123456789");
	digits_b = strspn(b + same, "0123456789");
	if (digits_a > 0 && digits_b > 0 && digits_a != digits_b)
		return digits_a < digits_b ? -1 : 1;
	return strcmp(a, b);
}

/* Keep a description if it is one of the first, without repetitions. */
static void
shown_rows_keep(ShownRows *shown, RowKind kind, const char *text)
{
	int			n = shown->n[kind];
	int			place = n;

	while (place > 0 && compare_texts(text, shown->text[kind][place - 1]) < 0)
		place--;
	if (place > 0 && strcmp(text, shown->text[kind][place - 1]) == 0)
		return;
	if (place == SHOWN_ROWS)
		return;
	n = Min(n, SHOWN_ROWS - 1);
	memmove(shown->text[kind][place + 1], shown->text[kind][place],
			(n - place) * SHOWN_BYTES);
	strlcpy(shown->text[kind][place], text, SHOWN_BYTES);
	shown->n[kind] = n + 1;
}

/* ----------
 * State
 * ----------
 */
#define MAX_SKETCH_BYTES ((uint64) 256 * 1024 * 1024)

/* The state of adding a data file's sketch to the table's. */
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

/* The sketches of a table that differs, in shared memory. */
typedef struct TableSketches
{
	uint64		n_hashes;		/* on both sides */
	DifferenceSketch *rows;		/* NULL if rows are not counted */
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

	/* in shared memory, by side and data file */
	RowSum	   *sums[2];
	volatile char *merged[2];
	ShownRows  *shown[2];
	ObjectSum  *objects[2];		/* by group */

	/* the current pass */
	RowPass		pass;
	int			side;
	const CompareTable *table;	/* in a worker: table of the current file */
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

/*
 * Keys are hashed with another seed than rows, so that a key cannot cancel a
 * row that consists of the key only.
 */
static uint64
hash_key(CompareRows *rows, const char *row, size_t row_len)
{
	const CompareTable *table = rows->table;

	resetPQExpBuffer(&rows->key);
	for (int i = 0; i < table->n_key; i++)
	{
		size_t		len;
		const char *field = sink_rows_field(table, row, row_len,
											table->key_columns[i], &len);

		appendBinaryPQExpBuffer(&rows->key, field, len);
		appendPQExpBufferChar(&rows->key, '\t');
	}
	return hash_of(buffer_text(&rows->key), rows->key.len, rows->key_seed);
}

/*
 * Two sums per table: the hashes themselves, and a hash of each hash.  Rows
 * that change in such a way that the first sum stays the same, by chance or
 * by intent, still change the second.
 */
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

/*
 * The third pass: is this one of the rows that the sketches have found?  This
 * is only known if the level of the row's key could be read.
 */
static void
show_row(void *arg, const char *row, size_t len)
{
	CompareRows *rows = arg;
	const CompareTable *table = rows->table;
	const DumpTables *tables = rows->sides[0]->plan->tables;
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
	/* Both sides have a row with this key, so only one of them is shown. */
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
	return (int) (file - rows->sides[rows->side]->plan->chunks->files);
}

/* The compared table; NULL if it is left out. */
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
compare_rows_wants(void *arg, int table_no)
{
	const CompareRows *rows = arg;
	const CompareTable *table = find_table(rows, table_no);

	if (table == NULL || table->problem)
		return false;
	return rows->pass == PASS_SUM || sketches_of(rows, table)->rows != NULL;
}

/*
 * Begin a file.  Returns NULL if there is nothing to do: a file whose sketch
 * has been merged must not be read again, even if the worker that did so was
 * lost afterwards.
 */
static Sink *
compare_rows_begin(void *arg, const DataFile *file)
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

		/* A worker has merged it, and was lost afterwards. */
		if (rows->merged[rows->side][file_number(rows, file)] == MERGE_DONE)
			return NULL;
		whole = sketches_of(rows, rows->table);
		bytes = difference_sketch_bytes(whole->n_hashes);
		rows->part.n_hashes = whole->n_hashes;
		rows->part.rows = pg_malloc0(bytes);
		rows->part.keys = whole->keys ? pg_malloc0(bytes) : NULL;
	}
	return sink_rows_new(rows->table->name, rows->sides[rows->side]->name,
						 callbacks[rows->pass], rows);
}

/*
 * Add the sketch of a file to the table's.  All workers add to it at the same
 * time, with atomic operations.  A worker that dies in between leaves half of
 * its sketch there, so the state is noted before and after.
 */
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
compare_rows_end(void *arg, const DataFile *file)
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

/*
 * Called after a worker was lost.  If it was within merge() the table's
 * sketch is wrong, and cannot be repaired.
 */
static void
compare_rows_reset(void *arg, const DataFile *file)
{
	const CompareRows *rows = arg;

	if (rows->pass == PASS_COUNT &&
		rows->merged[rows->side][file_number(rows, file)] == MERGE_BEGUN)
	{
		pg_log_error("lost the connection while reading differing rows of table %s",
					 printable(find_table(rows, file->table)->name));
		pg_fatal_hint("Run the same command again.");
	}
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
	static const char *const stages[] = {
		"comparing ", "locating different rows ", "fetching different rows "
	};
	CompareWork work = {
		.arg = rows,
		.wants = compare_rows_wants,
		.begin = compare_rows_begin,
		.end = compare_rows_end,
		.reset = compare_rows_reset,
		.group = with_objects ? take_group : NULL,
		.seed = rows->seed,
	};

	rows->pass = pass;
	for (rows->side = 0; rows->side < 2; rows->side++)
		compare_side_choose(rows->sides[rows->side], &work);
	compare_sides_begin_stage(rows->sides, stages[pass]);
	for (rows->side = 0; rows->side < 2; rows->side++)
		compare_side_run(rows->sides[rows->side]);
	progress_end();
}

static void
add_up(CompareRows *rows, ObjectSum objects[2])
{
	for (int side = 0; side < 2; side++)
	{
		const DumpPlan *plan = rows->sides[side]->plan;

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

/*
 * Find the tables that differ, and allocate their sketches, in the order of
 * tables, up to the limit; the others are only reported as different.
 */
bool
compare_rows_differ(CompareRows *rows)
{
	uint64		room = MAX_SKETCH_BYTES;
	bool		any = false;

	for (int i = 0; i < rows->tables->n_tables; i++)
	{
		CompareTable *table = &rows->tables->tables[i];
		TableSketches *sketches = &rows->sketches[i];
		size_t		bytes;

		if (table->problem ||
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

CompareRows *
compare_rows_sum(CompareSide *const sides[2], CompareTables *tables,
				 bool with_objects, ObjectSum objects[2])
{
	CompareRows *rows = pg_malloc0(sizeof(CompareRows));

	rows->sides = sides;
	rows->tables = tables;
	rows->encoding = pg_char_to_encoding(sides[0]->plan->encoding);
	if (!pg_strong_random(&rows->seed, sizeof(rows->seed)) ||
		!pg_strong_random(&rows->key_seed, sizeof(rows->key_seed)))
		pg_fatal("could not generate random bytes");
	initPQExpBuffer(&rows->key);
	rows->sketches = pg_malloc0((tables->n_tables + 1) * sizeof(TableSketches));
	for (int side = 0; side < 2; side++)
	{
		const DumpPlan *plan = rows->sides[side]->plan;
		int			n = plan->chunks->n_files;

		rows->sums[side] = shared_memory_new(n, sizeof(RowSum));
		rows->merged[side] = shared_memory_new(n, 1);
		rows->shown[side] = shared_memory_new(n, sizeof(ShownRows));
		rows->objects[side] = shared_memory_new(plan->objects->n_groups,
												sizeof(ObjectSum));
	}
	run_pass(rows, PASS_SUM, with_objects);
	add_up(rows, objects);
	return rows;
}

void
compare_rows_count(CompareRows *rows)
{
	run_pass(rows, PASS_COUNT, false);
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
	run_pass(rows, PASS_SHOW, false);
}

ShownRows *
compare_rows_shown(const CompareRows *rows, const CompareTable *table)
{
	ShownRows  *result = pg_malloc0(sizeof(ShownRows));

	for (int side = 0; side < 2; side++)
	{
		const ChunkPlan *chunks = rows->sides[side]->plan->chunks;

		for (int i = 0; i < chunks->n_files; i++)
		{
			const ShownRows *shown = &rows->shown[side][i];

			if (rows->tables->of[side][chunks->files[i].table] !=
				table - rows->tables->tables)
				continue;
			for (int kind = 0; kind < N_ROW_KINDS; kind++)
				for (int j = 0; j < shown->n[kind]; j++)
					shown_rows_keep(result, kind, shown->text[kind][j]);
		}
	}
	return result;
}
