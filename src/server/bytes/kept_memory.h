/*-------------------------------------------------------------------------
 *
 * kept_memory.h
 *	  Has blocks of rows take the same memory again and again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_KEPT_MEMORY_H
#define PARDUMP_KEPT_MEMORY_H

/*
 * From now on this process keeps some MiB that it has freed.  To be called by
 * what makes or takes blocks of rows one after another; it may be called as
 * often as one likes.
 */
extern void kept_memory_begin(void);

#endif							/* PARDUMP_KEPT_MEMORY_H */
