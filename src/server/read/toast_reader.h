/*-------------------------------------------------------------------------
 *
 * toast_reader.h
 *	  The plain form of a relation's compressed and out-of-line values, or
 *	  these as they are stored.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TOAST_READER_H
#define PARDUMP_TOAST_READER_H

#include "postgres.h"

#include "access/htup_details.h"
#include "utils/relcache.h"

typedef struct ToastReader ToastReader;

/* For values in tuples of rel, which must stay open. */
extern ToastReader *toast_reader_new(Relation rel);

/*
 * The value with a plain 4-byte header: fetched if it is out of line,
 * decompressed if it is compressed.  Valid up to the next call, or the reset
 * of CurrentMemoryContext.  stored must be VARATT_IS_EXTERNAL() or
 * VARATT_IS_COMPRESSED().  Errors are those of the server's own functions
 * (XX001 data_corrupted).
 */
extern struct varlena *toast_reader_get(ToastReader *reader,
										struct varlena *stored);

/*
 * The same of a value that is VARATT_IS_EXTERNAL(), as it is stored: fetched,
 * but not decompressed.
 */
extern struct varlena *toast_reader_get_stored(ToastReader *reader,
											   const struct varlena *stored);

/* Who is told of every value that toast_reader_get() fetches, as stored. */
typedef void (*ToastWatcher) (void *arg, const struct varlena *stored);

extern void toast_reader_watch(ToastReader *reader, ToastWatcher watcher,
							   void *arg);

/*
 * What a value that is VARATT_IS_EXTERNAL() takes once it is fetched, but not
 * decompressed: bytes, header included.  An error, as above, if it does not
 * point into the relation's TOAST table.
 */
extern Size toast_reader_stored_size(ToastReader *reader,
									 const struct varlena *stored);

/*
 * Fetch such a value to so much memory, aligned for its header, which tells
 * whether it is compressed.
 */
extern void toast_reader_fetch(ToastReader *reader,
							   const struct varlena *stored,
							   struct varlena *to);

/*
 * Release the reader, and close the TOAST table that it may have opened,
 * whose lock is kept.
 */
extern void toast_reader_free(ToastReader *reader);

#endif							/* PARDUMP_TOAST_READER_H */
