/*
 * test_difference_sketch.c
 *		Are all differences of small tables read?
 */
#include "base/fe_compat.h"

#include "compare/difference_sketch.h"
#include "unit_test.h"

#define TABLES 2000

/* xorshift64 */
static uint64
next_random(uint64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/*
 * Fill sketches with hashes that only one side has, and return how many of
 * the sketches could not be read as a whole.
 */
static int
count_unread(uint64 n_hashes, int n_different)
{
	size_t		bytes = difference_sketch_bytes(n_hashes);
	uint64		state = 20261129;
	int			n_unread = 0;

	for (int i = 0; i < TABLES; i++)
	{
		DifferenceSketch *sketch = pg_malloc0(bytes);
		Difference	difference;

		for (int j = 0; j < n_different; j++)
		{
			uint64		hash = next_random(&state);

			difference_sketch_add(sketch, n_hashes, hash, hash, j % 2 ? 1 : -1);
		}
		difference = difference_sketch_read(sketch, n_hashes);
		n_unread += difference.least_level > 0 ||
			difference.n_hashes != n_different;
		free(difference.hashes);
		free(sketch);
	}
	return n_unread;
}

void
test_difference_sketch(void)
{
	is_number(count_unread(2, 1), 0, "one row differs: all sketches are read");
	is_number(count_unread(50, 50), 0, "all of 50 rows differ: all sketches are read");
	is_number(count_unread(300, 100), 0, "100 of 300 rows differ: all sketches are read");
}
