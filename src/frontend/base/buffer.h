/*
 * buffer.h
 *		Texts and arrays in memory that grow as elements are added, and search
 *		in sorted arrays.  All parts of the frontend use these functions in
 *		place of their own growing buffers.
 */
#ifndef BUFFER_H
#define BUFFER_H

#include "pqexpbuffer.h"

/* Returns an empty buffer. */
extern PQExpBufferData buffer_new(void);

/*
 * Returns the text of the buffer, which the buffer owns.  A PQExpBuffer that
 * runs out of memory is silently empty (pqexpbuffer.h), so get every text
 * that matters with this function: it exits with a message in that case.
 */
extern char *buffer_text(PQExpBuffer buf);

/*
 * Returns the rest of text after begin, or NULL if text does not start with
 * begin.
 */
extern const char *text_after(const char *text, const char *begin);

/*
 * Returns the array of n elements of this size with space for at least one
 * more.  array may be NULL if n is 0.  The space doubles whenever n is a
 * power of two, so call this function before each element is added, beginning
 * with the first.  Elements may be removed at the end meanwhile.
 */
extern void *array_room(void *array, int n, size_t size);

/*
 * Returns a pointer to a new element, which is not initialized, at the end of
 * such an array of n elements, and increments n.
 */
#define array_add(array, n) \
	((array) = array_room(array, n, sizeof(*(array))), &(array)[(n)++])

/*
 * Compares strings, or structs whose first member is a string, for qsort().
 */
extern int	compare_strings(const void *a, const void *b);

/*
 * Returns the index of the first of n sorted elements that is not less than
 * the key, or n if all are less.  bytes is the size of an element.  compare()
 * is as for qsort(); its arguments are two elements, or an element and the
 * key.
 */
extern int	lower_bound(const void *key, const void *elements, int n,
						size_t bytes,
						int (*compare) (const void *a, const void *b));

#endif							/* BUFFER_H */
