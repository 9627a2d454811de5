/*
 * buffer.h
 *	  Texts and arrays in memory that grow as they are filled.
 */
#ifndef BUFFER_H
#define BUFFER_H

#include "pqexpbuffer.h"

/* An empty text. */
extern PQExpBufferData buffer_new(void);

/*
 * The text that was put together, which the buffer owns.  A PQExpBuffer
 * that could not get memory is silently empty (pqexpbuffer.h), so a text that
 * matters is taken by this function, which exits with a message then.
 */
extern char *buffer_text(PQExpBuffer buf);

/* What follows this beginning of the text; NULL if it begins otherwise. */
extern const char *text_after(const char *text, const char *begin);

/*
 * The array of n elements of this size, with room for at least one more; it
 * may be NULL if n is 0.  The room is doubled whenever n is a power of two,
 * so this function must be called before each element is added, from the
 * first on; elements may be removed at the end meanwhile.
 */
extern void *array_room(void *array, int n, size_t size);

/*
 * A pointer to one more element, which is not initialized, at the end of such
 * an array of n elements; n is counted up.
 */
#define array_add(array, n) \
	((array) = array_room(array, n, sizeof(*(array))), &(array)[(n)++])

/*
 * The order of strings, or of structs that begin with one, as qsort() takes
 * it.
 */
extern int	compare_strings(const void *a, const void *b);

/*
 * The first of n sorted elements, of the given size in bytes, that does not
 * come before the key; n if all do.  compare() is as qsort() takes it: of two
 * elements, or of one and the key.
 */
extern int	lower_bound(const void *key, const void *elements, int n,
						size_t bytes,
						int (*compare) (const void *a, const void *b));

#endif							/* BUFFER_H */
