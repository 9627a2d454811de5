/*-------------------------------------------------------------------------
 *
 * toast_reader.h
 *	  Fetches out-of-line values of a relation, and decompresses values.
 *
 * chunk_reader.c and fingerprint.c use this instead of the server's detoast
 * functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_TOAST_READER_H
#define PARDUMP_TOAST_READER_H

#include "utils/relcache.h"

typedef struct ToastReader ToastReader;

/* Create a reader for values in tuples of rel, which must stay open. */
extern ToastReader *toast_reader_new(Relation rel);

/*
 * Fetch a value that is VARATT_IS_EXTERNAL(), without decompressing it.  The
 * result is valid until the next call.  Errors are those of the server's own
 * functions (XX001 data_corrupted).
 */
extern struct varlena *toast_reader_get_stored(ToastReader *reader,
											   const struct varlena *stored);

/*
 * Decompress a value that is VARATT_IS_COMPRESSED().  The result is valid
 * until the next call, or until CurrentMemoryContext is reset.  Errors are
 * the same as above.
 */
extern struct varlena *toast_reader_decompress(ToastReader *reader,
											   struct varlena *compressed);

/*
 * Return the size that a value which is VARATT_IS_EXTERNAL() has after it is
 * fetched, without decompressing it: bytes, including its header.  A pointer
 * to anything but the relation's TOAST table is an error, as above.
 */
extern Size toast_reader_stored_size(ToastReader *reader,
									 const struct varlena *stored);

/*
 * Fetch such a value into memory of that size, which is aligned for its
 * header.  The header says whether the value is compressed.
 */
extern void toast_reader_fetch(ToastReader *reader,
							   const struct varlena *stored,
							   struct varlena *to);

/*
 * Release the pinned page, and close the TOAST table if it was opened.  Locks
 * are kept.  The memory of the reader is freed with its context.
 */
extern void toast_reader_free(ToastReader *reader);

#endif							/* PARDUMP_TOAST_READER_H */
