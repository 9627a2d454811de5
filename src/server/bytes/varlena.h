/*-------------------------------------------------------------------------
 *
 * varlena.h
 *	  Headers and sizes of variable-length values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_VARLENA_H
#define PARDUMP_VARLENA_H

#include "access/htup_details.h"

/* ----------
 * Alignment of a varlena value as it stands in a tuple.
 * ----------
 */

/* Room for a value that had a short header, aligned as its type may need. */
typedef union AlignedValue
{
	int64		alignment;
	char		bytes[VARHDRSZ + VARATT_SHORT_MAX];
} AlignedValue;

/*
 * The value, neither compressed nor out of line, with a plain header, which
 * makes its data aligned.  A short value is copied to "copy" rather than
 * detoasted, which would palloc.
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
 * How many bytes a stored value takes, in a place that may be damaged.
 *
 * VARSIZE_ANY() and strlen() believe what they find.  These look first, and
 * never beyond the end of what holds the value: a tuple, an array, a jsonb.
 * ----------
 */

/*
 * The size of the varlena value at "p", header included, 0 if it is none that
 * could be stored there: it ends behind "end", is shorter than its header, or
 * points to memory, as no stored value does.  p < end.
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

/* The same for a value of a type of any pg_type.typlen. */
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

/* Is the varlena value at "p", of known size, neither compressed nor away? */
static inline bool
stored_varlena_is_plain(const char *p)
{
	return !VARATT_IS_EXTERNAL(p) && !VARATT_IS_COMPRESSED(p);
}

#endif							/* PARDUMP_VARLENA_H */
