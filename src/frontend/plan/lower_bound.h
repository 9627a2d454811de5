/*
 * lower_bound.h
 *		Where in a sorted array something is, or would be.
 */
#ifndef LOWER_BOUND_H
#define LOWER_BOUND_H

/* As qsort() takes it: of two elements, or of one and the key. */
typedef int (*LowerBoundCompare) (const void *a, const void *b);

/*
 * The first of n elements, of the given size in bytes, that does not come
 * before the key; n if all do.
 */
extern int	lower_bound(const void *key, const void *elements, int n,
						size_t bytes, LowerBoundCompare compare);

#endif							/* LOWER_BOUND_H */
