/*
 * difference_sketch.c
 *		Invertible Bloom lookup tables, in levels.
 *
 * A table has cells, in four parts.  A hash is added to one cell of each
 * part, and a cell contains the sums of its hashes.  If all hashes of a cell
 * are the same, this hash can be computed, and is removed from its other
 * cells; so one cell after the other can be read.  This reads all cells, with
 * very few exceptions, if there are fewer different hashes than 3/4 of the
 * cells.  The exceptions are mostly two hashes with the same cell in all
 * parts: with three parts this was one of 100 tables with 50 hashes.
 *
 * Half of the hashes are at level 0, a quarter at level 1, and so on, and
 * each level has a table of its own.  If there are too many differences, only
 * the upper levels are read, and the number found is multiplied.
 *
 * Halves of hashes are added as signed numbers, not by exclusive or, because
 * a row may occur several times.
 */
#include "base/fe_compat.h"

#include "port/pg_bitutils.h"

#include "base/buffer.h"
#include "compare/difference_sketch.h"

#define PARTS 4
#define MAX_PART_CELLS 1536

/* Additional cells, which a small number of hashes needs. */
#define SPARE_CELLS 64

/* A cell.  A sketch is an array of cells, by level and part. */
struct DifferenceSketch
{
	int64		count;
	int64		low;			/* sums of halves of hashes */
	int64		high;
	uint64		check;			/* sum of another hash of each hash */
};

typedef struct DifferenceSketch Cell;

/* The number of cells in a part of a level, and the number of levels. */
static uint64
part_cells(uint64 n_hashes)
{
	return Min(n_hashes / 2 + SPARE_CELLS, MAX_PART_CELLS);
}

static int
level_count(uint64 n_hashes)
{
	return part_cells(n_hashes) < MAX_PART_CELLS ? 1 : DIFFERENCE_LEVELS;
}

static size_t
cell_count(uint64 n_hashes)
{
	return level_count(n_hashes) * PARTS * part_cells(n_hashes);
}

size_t
difference_sketch_bytes(uint64 n_hashes)
{
	return cell_count(n_hashes) * sizeof(Cell);
}

/* Stafford's variant 13 of the finalizer of MurmurHash3. */
static uint64
mix(uint64 x)
{
	x = (x ^ (x >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64
check_of(uint64 hash)
{
	return mix(hash + UINT64CONST(0x9e3779b97f4a7c15));
}

/*
 * The number of trailing zero bits of a hash of the hash: half of all hashes
 * are at level 0, a quarter at level 1, and so on.
 */
static int
natural_level(uint64 hash)
{
	uint64		bits = mix(hash + UINT64CONST(0x3c6ef372fe94f82a));

	return bits == 0 ? DIFFERENCE_LEVELS - 1 :
		Min(pg_rightmost_one_pos64(bits), DIFFERENCE_LEVELS - 1);
}

/* The cell of a hash in a part of a level. */
static size_t
cell_index(uint64 n_hashes, int level, uint64 hash, int part)
{
	uint64		cells = part_cells(n_hashes);
	uint64		place = mix(hash + (part + 1) * UINT64CONST(0xd1b54a32d192ed03));

	return (level * PARTS + part) * cells + place % cells;
}

static void
add_times(DifferenceSketch *sketch, uint64 n_hashes, int level, uint64 hash,
		  int64 times)
{
	for (int part = 0; part < PARTS; part++)
	{
		Cell	   *cell = &sketch[cell_index(n_hashes, level, hash, part)];

		cell->count += times;
		cell->low += times * (int64) (hash & 0xffffffff);
		cell->high += times * (int64) (hash >> 32);
		cell->check += (uint64) times * check_of(hash);
	}
}

void
difference_sketch_add(DifferenceSketch *sketch, uint64 n_hashes, uint64 hash,
					  uint64 level_hash, int times)
{
	int			level = level_count(n_hashes) == 1 ? 0 : natural_level(level_hash);

	add_times(sketch, n_hashes, level, hash, times);
}

void
difference_sketch_merge(DifferenceSketch *sketch, const DifferenceSketch *part,
						uint64 n_hashes)
{
	size_t		n = cell_count(n_hashes);

	for (size_t i = 0; i < n; i++)
	{
		Cell	   *to = &sketch[i];
		const Cell *from = &part[i];

		if (from->count == 0 && from->low == 0 && from->high == 0 &&
			from->check == 0)
			continue;
		__sync_fetch_and_add(&to->count, from->count);
		__sync_fetch_and_add(&to->low, from->low);
		__sync_fetch_and_add(&to->high, from->high);
		__sync_fetch_and_add(&to->check, from->check);
	}
}

/* ----------
 * Reading
 * ----------
 */

/*
 * Does the cell hold only one hash, however many times?  Sums divided by the
 * count give the hash then.  The check value, and the place where the hash
 * belongs, make a wrong answer unlikely.
 */
static bool
read_cell(const DifferenceSketch *sketch, uint64 n_hashes, int level,
		  size_t index, uint64 *hash)
{
	const Cell *cell = &sketch[index];
	int64		low;
	int64		high;

	if (cell->count == 0 || cell->low % cell->count != 0 ||
		cell->high % cell->count != 0)
		return false;
	low = cell->low / cell->count;
	high = cell->high / cell->count;
	if (low < 0 || low > 0xffffffff || high < 0 || high > 0xffffffff)
		return false;
	*hash = ((uint64) high << 32) | (uint64) low;
	if ((uint64) cell->count * check_of(*hash) != cell->check)
		return false;
	for (int part = 0; part < PARTS; part++)
		if (cell_index(n_hashes, level, *hash, part) == index)
			return true;
	return false;
}

/*
 * Read all hashes of a level.  Returns false if this failed; then the hashes
 * that were read are not complete.
 */
static bool
read_level(DifferenceSketch *sketch, uint64 n_hashes, int level,
		   Difference *result)
{
	size_t		n = PARTS * part_cells(n_hashes);
	bool		any = true;

	while (any)
	{
		any = false;
		for (size_t i = level * n; i < (level + 1) * n; i++)
		{
			int64		times = sketch[i].count;
			uint64		hash;
			DifferentHash *found;

			if (!read_cell(sketch, n_hashes, level, i, &hash))
				continue;
			add_times(sketch, n_hashes, level, hash, -times);
			found = array_add(result->hashes, result->n_hashes);
			found->hash = hash;
			found->surplus = times;
			any = true;
		}
	}
	for (size_t i = level * n; i < (level + 1) * n; i++)
	{
		const Cell *cell = &sketch[i];

		if (cell->count != 0 || cell->low != 0 || cell->high != 0 ||
			cell->check != 0)
			return false;
	}
	return true;
}

static int
compare_hashes(const void *a, const void *b)
{
	uint64		h1 = ((const DifferentHash *) a)->hash;
	uint64		h2 = ((const DifferentHash *) b)->hash;

	return h1 < h2 ? -1 : h1 > h2;
}

/*
 * Read from the highest level, which has the fewest hashes, downwards, until
 * a level cannot be read.  Hashes of that level are dropped, because the
 * counts of levels must be complete.
 */
Difference
difference_sketch_read(DifferenceSketch *sketch, uint64 n_hashes)
{
	Difference	result = {0};
	int			level = level_count(n_hashes);

	while (level > 0)
	{
		int			n_before = result.n_hashes;

		if (!read_level(sketch, n_hashes, level - 1, &result))
		{
			result.n_hashes = n_before;
			break;
		}
		level--;
		for (int i = n_before; i < result.n_hashes; i++)
		{
			int64		surplus = result.hashes[i].surplus;

			if (surplus > 0)
				result.added[level] += surplus;
			else
				result.taken[level] += -surplus;
		}
	}
	result.least_level = level;
	if (result.n_hashes > 0)
		qsort(result.hashes, result.n_hashes, sizeof(DifferentHash),
			  compare_hashes);
	return result;
}

bool
difference_has(const Difference *difference, uint64 hash, bool added)
{
	DifferentHash key = {.hash = hash};
	const DifferentHash *found = NULL;

	if (difference->n_hashes > 0)
		found = bsearch(&key, difference->hashes, difference->n_hashes,
						sizeof(DifferentHash), compare_hashes);
	return found && (found->surplus > 0) == added;
}

bool
difference_knows(const Difference *difference, uint64 level_hash)
{
	return difference->least_level == 0 ||
		natural_level(level_hash) >= difference->least_level;
}

uint64
difference_count(const Difference *difference, bool added, int least_level)
{
	uint64		result = 0;

	for (int i = least_level; i < DIFFERENCE_LEVELS; i++)
		result += added ? difference->added[i] : difference->taken[i];
	/* Half of all hashes are below level 1, three quarters below level 2. */
	return result << least_level;
}
