/*
 * buffer.c
 *		Implements buffer.h: texts and arrays in memory that grow as elements
 *		are added.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"

PQExpBufferData
buffer_new(void)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	return buf;
}

char *
buffer_text(PQExpBuffer buf)
{
	if (PQExpBufferBroken(buf))
		pg_fatal("out of memory");
	return buf->data;
}

const char *
text_after(const char *text, const char *begin)
{
	size_t		len = strlen(begin);

	return strncmp(text, begin, len) == 0 ? text + len : NULL;
}

void *
array_room(void *array, int n, size_t size)
{
	if ((n & (n - 1)) != 0)
		return array;
	if (n > PG_INT32_MAX / 2)
		pg_fatal("out of memory");
	return pg_realloc(array, Max(1, n * 2) * size);
}

int
compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

int
lower_bound(const void *key, const void *elements, int n, size_t bytes,
			int (*compare) (const void *a, const void *b))
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
