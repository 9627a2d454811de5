/*
 * shared_memory.h
 *		Memory that this process shares with those that it forks later.
 */
#ifndef SHARED_MEMORY_H
#define SHARED_MEMORY_H

#include "base/fe_compat.h"

/*
 * An array of n elements, which may be 0, of the given size in bytes each:
 * all zero, and never freed.  Exits with a message if there is no room.
 */
extern void *shared_memory_new(size_t n, size_t size);

/*
 * What is in it is of no use any more: it takes up no memory until it is
 * written again, where the system can do that.
 */
extern void shared_memory_discard(void *memory, size_t n, size_t size);

#endif							/* SHARED_MEMORY_H */
