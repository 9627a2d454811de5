/*-------------------------------------------------------------------------
 *
 * kept_memory.c
 *	  Has blocks of rows take the same memory again and again.
 *
 * A block is a MiB, and lies in several places at a time: in the buffer it
 * is made in, as a value, as a message.  The server frees these after each
 * block, and the C library hands so much back to the kernel, to ask it at
 * once for fresh pages, each of which costs a fault.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "bytes/kept_memory.h"

/* Longer values are the kernel's again when they are freed. */
#define KEPT_ALLOCATION_BYTES	(8 * 1024 * 1024)

/* So much may be free at the heap's end. */
#define KEPT_BYTES				(16 * 1024 * 1024)

void
kept_memory_begin(void)
{
#ifdef __GLIBC__
	(void) mallopt(M_MMAP_THRESHOLD, KEPT_ALLOCATION_BYTES);
	(void) mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#endif
}
