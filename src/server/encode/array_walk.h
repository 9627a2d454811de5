/*-------------------------------------------------------------------------
 *
 * array_walk.h
 *	  Walks over the elements of an array that may be damaged.
 *
 * The layout is told in src/include/utils/array.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ARRAY_WALK_H
#define PARDUMP_ARRAY_WALK_H

#include "postgres.h"

#include "access/tupmacs.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "bytes/stored_size.h"
#include "encode/column_encoder.h"

/* How elements are stored. */
typedef struct ElementStorage
{
	int16		typlen;
	bool		typbyval;
	char		typalign;
} ElementStorage;

/* Do dimensions and null bitmap lie within the value? */
static inline bool
array_header_is_sound(ArrayType *value)
{
	Size		size = VARSIZE(value);
	int			ndim;

	if (size < sizeof(ArrayType))
		return false;
	ndim = ARR_NDIM(value);
	if (ndim < 0 || ndim > MAXDIM || size < ARR_OVERHEAD_NONULLS(ndim))
		return false;
	if (!ARR_HASNULL(value))
		return true;
	return value->dataoffset <= size && value->dataoffset >=
		ARR_OVERHEAD_WITHNULLS(ndim, ArrayGetNItems(ndim, ARR_DIMS(value)));
}

/* A walk over the elements of a value. */
typedef struct ElementWalk
{
	int			index;			/* of the next element */
	char	   *place;			/* of the next one that is not NULL */
	const char *value_end;
	const uint8 *bitmap;		/* NULL if no element is NULL */
} ElementWalk;

static inline void
array_walk_begin(ElementWalk *walk, ArrayType *value)
{
	walk->index = 0;
	walk->place = ARR_DATA_PTR(value);
	walk->value_end = (const char *) value + VARSIZE(value);
	walk->bitmap = ARR_NULLBITMAP(value);
}

/*
 * Get the next element; false if it is NULL.  It must not end beyond the
 * value, and arrays hold none that is compressed or out of line.
 */
static inline bool
array_walk_next(const ElementStorage *storage, ElementWalk *walk,
				Datum *element)
{
	int			index = walk->index++;
	Size		size;

	CHECK_FOR_INTERRUPTS();		/* there may be a hundred million of them */
	if (walk->bitmap != NULL &&
		(walk->bitmap[index / 8] & (1 << (index % 8))) == 0)
		return false;
	size = stored_size(walk->place, walk->value_end, storage->typlen);
	if (unlikely(size == 0 || (storage->typlen == -1 &&
							   !stored_varlena_is_plain(walk->place))))
		damaged_value("array");
	*element = fetch_att(walk->place, storage->typbyval, storage->typlen);
	walk->place = (char *) att_align_nominal(walk->place + size,
											 storage->typalign);
	return true;
}

#endif							/* PARDUMP_ARRAY_WALK_H */
