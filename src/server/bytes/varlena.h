/*-------------------------------------------------------------------------
 *
 * varlena.h
 *	  Headers and sizes of variable-length values, which may be damaged.
 *
 * The reader of tuples (read/heap_reader.c), the loader of raw tuples
 * (load/raw_loader.c) and the encoders of arrays and jsonb use these
 * functions.  The server's macros trust the header of a value, so a damaged
 * header would make them read other memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_VARLENA_H
#define PARDUMP_VARLENA_H

#include "access/htup_details.h"

/* ----------
 * Aligns a varlena value of a tuple.
 * ----------
 */

/* Room for a value that had a short header, aligned as its type may need. */
typedef union AlignedValue
{
	int64		alignment;
	char		bytes[VARHDRSZ + VARATT_SHORT_MAX];
} AlignedValue;

/*
 * Return the value with a header of four bytes, after which its data is
 * aligned.  It must be neither compressed nor out of line.  A value with a
 * short header is copied to "copy": PG_DETOAST_DATUM() would allocate memory
 * for the copy.
 */
static inline struct varlena *
aligned_varlena(Datum value, AlignedValue *copy)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	Size		len;

	if (!VARATT_IS_SHORT(stored))
		return stored;
	len = VARSIZE_SHORT(stored) - VARHDRSZ_SHORT;
	memcpy(copy->bytes + VARHDRSZ, VARDATA_SHORT(stored), len);
	SET_VARSIZE(copy->bytes, len + VARHDRSZ);
	return (struct varlena *) copy->bytes;
}

/* ----------
 * Computes how many bytes a stored value has, if it may be damaged.
 *
 * VARSIZE_ANY() and strlen() trust the value.  These functions compare its
 * length with the end of the tuple, array or jsonb that contains it, and read
 * nothing beyond that end.
 * ----------
 */

/*
 * Return the size of the varlena value at "p", including its header, or 0 if
 * no such value can be stored there: it would exceed "end", it is shorter
 * than its header, or it is a pointer to memory, which is never stored.  "p"
 * must be before "end".
 */
static inline Size
stored_varlena_size(const char *p, const char *end)
{
	Size		left = end - p;
	Size		size;

	if (VARATT_IS_1B_E(p))
	{
		if (left < VARHDRSZ_EXTERNAL || !VARATT_IS_EXTERNAL_ONDISK(p))
			return 0;
		size = VARSIZE_EXTERNAL(p);
	}
	else if (VARATT_IS_1B(p))
		size = VARSIZE_1B(p);
	else
	{
		if (left < VARHDRSZ)
			return 0;
		size = VARSIZE_4B(p);
		if (size < (VARATT_IS_4B_C(p) ? VARHDRSZ_COMPRESSED : VARHDRSZ))
			return 0;
	}
	return size <= left ? size : 0;
}

/* The same for a value of a type with any pg_type.typlen. */
static inline Size
stored_size(const char *p, const char *end, int16 typlen)
{
	const char *nul;

	if (p >= end)
		return 0;
	if (typlen > 0)
		return (Size) typlen <= (Size) (end - p) ? (Size) typlen : 0;
	if (typlen == -1)
		return stored_varlena_size(p, end);
	nul = memchr(p, '\0', end - p);
	return nul ? nul + 1 - p : 0;
}

/*
 * Is the varlena value at "p" neither compressed nor out of line?  Its size
 * must have been checked before.
 */
static inline bool
stored_varlena_is_plain(const char *p)
{
	return !VARATT_IS_EXTERNAL(p) && !VARATT_IS_COMPRESSED(p);
}

#endif							/* PARDUMP_VARLENA_H */
