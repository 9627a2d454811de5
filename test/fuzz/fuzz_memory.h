/*
 * fuzz_memory.h
 *		The server's palloc(), for one input of a fuzz target.
 *
 * Each allocation is one of malloc(), so that AddressSanitizer sees what is
 * read and written beyond it.  Included by a target once.
 */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include "postgres.h"

#define MAX_ALLOCATIONS	100000

static void *allocations[MAX_ALLOCATIONS];
static int	n_allocations = 0;

void *
palloc(Size size)
{
	if (n_allocations == MAX_ALLOCATIONS)
		abort();
	return allocations[n_allocations++] = malloc(size);
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

/* To be called after each input. */
static void
free_all(void)
{
	while (n_allocations > 0)
		free(allocations[--n_allocations]);
}

#endif							/* FUZZ_MEMORY_H */
