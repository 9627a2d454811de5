/*-------------------------------------------------------------------------
 *
 * page_prefetch.h
 *	  Has a page's tuples brought into the CPU's cache before they are read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PAGE_PREFETCH_H
#define PARDUMP_PAGE_PREFETCH_H

#include "postgres.h"

#include "storage/bufpage.h"

/* Where a CPU's lines are longer, some are asked for twice. */
#define CACHE_LINE_BYTES 64

/*
 * Ask for all tuples of the page at once.  Else each is waited for at its
 * first touch: tuples stand from the page's end backwards, and are as long as
 * they like, which no CPU foresees.  Waits for nothing, and takes any page:
 * addresses stay within it even if its header is damaged.
 */
static inline void
page_prefetch_tuples(Page page)
{
#ifdef __GNUC__
	const char *end = (const char *) page + BLCKSZ;
	const char *line = (const char *) page + ((PageHeader) page)->pd_upper;

	for (; line < end; line += CACHE_LINE_BYTES)
		__builtin_prefetch(line);
#endif
}

#endif							/* PARDUMP_PAGE_PREFETCH_H */
