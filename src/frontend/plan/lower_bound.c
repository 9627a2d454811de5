/*
 * lower_bound.c
 *		Searches a sorted array by halves.
 */
#include "base/fe_compat.h"

#include "plan/lower_bound.h"

int
lower_bound(const void *key, const void *elements, int n, size_t bytes,
			LowerBoundCompare compare)
{
	int			low = 0;
	int			high = n;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (compare((const char *) elements + middle * bytes, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
