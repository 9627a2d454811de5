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

#include "utils/relcache.h"

typedef struct ToastReader ToastReader;

/* For values in tuples of rel, which must stay open. */
extern ToastReader *toast_reader_new(Relation rel);

/*
 * A value that is VARATT_IS_EXTERNAL(), as it is stored: fetched, but not
 * decompressed.  Valid up to the next call.  Errors are those of the server's
 * own functions (XX001 data_corrupted).
 */
extern struct varlena *toast_reader_get_stored(ToastReader *reader,
											   const struct varlena *stored);

/*
 * The plain form of a value that is VARATT_IS_COMPRESSED().  Valid up to the
 * next call, or the reset of CurrentMemoryContext.  Errors as above.
 */
extern struct varlena *toast_reader_decompress(ToastReader *reader,
											   struct varlena *compressed);

/*
 * The size of a value that is VARATT_IS_EXTERNAL() once it is fetched, but
 * not decompressed: bytes, header included.  A value that does not point into
 * the relation's TOAST table is an error, as above.
 */
extern Size toast_reader_stored_size(ToastReader *reader,
									 const struct varlena *stored);

/*
 * Fetch such a value into memory of that size, aligned for its header.  The
 * header says whether the value is compressed.
 */
extern void toast_reader_fetch(ToastReader *reader,
							   const struct varlena *stored,
							   struct varlena *to);

/*
 * Release the pinned page, and close the TOAST table that the reader may have
 * opened, whose lock is kept.  Its memory goes with its context.
 */
extern void toast_reader_free(ToastReader *reader);

#endif							/* PARDUMP_TOAST_READER_H */
