/*
 * test_load_order.c
 *		What is referenced comes first; circles have an end, and soon.
 */
#include "base/fe_compat.h"

#include "load/load_order.h"
#include "unit_test.h"

#define MANY 200000

static void
check_waves(LoadKey *keys, int n_keys, const int *expected, int n_tables,
			const char *what)
{
	int		   *waves = load_order_waves(keys, n_keys, n_tables);
	bool		same = true;

	for (int i = 0; i < n_tables; i++)
		same = same && waves[i] == expected[i];
	ok(same, what);
	free(waves);
}

/* Each references the next, and the last one the first, if that is asked. */
static void
check_many(bool circle, const char *what)
{
	LoadKey    *keys = pg_malloc(MANY * sizeof(LoadKey));
	int		   *expected = pg_malloc(MANY * sizeof(int));

	for (int i = 0; i < MANY; i++)
	{
		keys[i].from = i;
		keys[i].to = (i + 1) % MANY;
		expected[i] = MANY - 1 - i;
	}
	check_waves(keys, circle ? MANY : MANY - 1, expected, MANY, what);
	free(expected);
	free(keys);
}

void
test_load_order(void)
{
	LoadKey		itself[] = {{0, 0}, {1, 0}};
	LoadKey		diamond[] = {{0, 1}, {0, 2}, {1, 3}, {2, 1}};
	LoadKey		circle[] = {{1, 2}, {2, 1}, {0, 1}, {2, 3}};
	const int	of_none[] = {0, 0};
	const int	of_itself[] = {0, 1, 0};
	const int	of_diamond[] = {3, 1, 2, 0};
	const int	of_circle[] = {3, 2, 1, 0};

	check_waves(NULL, 0, of_none, 2, "no keys");
	check_waves(itself, 2, of_itself, 3, "a table references itself");
	check_waves(diamond, 4, of_diamond, 4, "by the longest way");
	check_waves(circle, 4, of_circle, 4,
				"a circle, what it references and what references it");
	check_many(false, "many, one after the other");
	check_many(true, "many in a circle");
}
