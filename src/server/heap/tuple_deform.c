/*-------------------------------------------------------------------------
 *
 * tuple_deform.c
 *	  Takes heap tuples apart without believing their lengths.
 *
 * heap_deform_tuple() (src/backend/access/common/heaptuple.c) follows every
 * length that it meets, so that one damaged byte leads it beyond the tuple,
 * the page, and all of shared memory.  Here each value is looked at before it
 * is stepped over.  That need not cost time: what a step needs of an
 * attribute stands in eight bytes, and where nothing but fixed lengths comes
 * first, one look serves for all of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"

#include "bytes/stored_size.h"
#include "heap/tuple_deform.h"

/* What is needed of an attribute to step over its value. */
typedef struct StoredAttribute
{
	int16		len;			/* as attlen */
	bool		byval;
	uint8		align;			/* bytes, a power of two */
	int32		offset;			/* if all have fixed lengths and no NULL */
} StoredAttribute;

struct TupleDeformer
{
	TupleDesc	tupdesc;		/* borrowed */
	int			natts;			/* to be filled in */
	int			n_fixed;		/* the first of them, of fixed lengths */
	int32		fixed_bytes;	/* where these end */
	StoredAttribute attributes[FLEXIBLE_ARRAY_MEMBER];
};

TupleDeformer *
tuple_deformer_new(TupleDesc tupdesc, int natts)
{
	TupleDeformer *deformer = palloc(offsetof(TupleDeformer, attributes) +
									 natts * sizeof(StoredAttribute));

	deformer->tupdesc = tupdesc;
	deformer->natts = natts;
	deformer->n_fixed = 0;
	deformer->fixed_bytes = 0;
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		StoredAttribute *stored = &deformer->attributes[i];

		stored->len = att->attlen;
		stored->byval = att->attbyval;
		stored->align = (uint8) att_align_nominal(1, att->attalign);
		if (deformer->n_fixed == i && att->attlen > 0)
		{
			stored->offset = TYPEALIGN(stored->align, deformer->fixed_bytes);
			deformer->fixed_bytes = stored->offset + stored->len;
			deformer->n_fixed++;
		}
	}
	return deformer;
}

/*
 * Do the null bitmap, for all attributes that the tuple claims to have, and
 * the header lie where they can, and do the values begin within the tuple?
 */
static inline bool
header_is_sound(HeapTuple tuple)
{
	HeapTupleHeader header = tuple->t_data;
	Size		least = SizeofHeapTupleHeader;

	if (HeapTupleHasNulls(tuple))
		least += BITMAPLEN(HeapTupleHeaderGetNatts(header));
	return header->t_hoff >= least && header->t_hoff <= tuple->t_len &&
		header->t_hoff == MAXALIGN(header->t_hoff);
}

/* Align a place as TYPEALIGN() does: values are aligned as their tuple is. */
static inline const char *
align_place(const char *place, const StoredAttribute *att)
{
	return (const char *) TYPEALIGN(att->align, place);
}

/*
 * Go to a varlena value whose header is not a short one; 0 if it is damaged.
 * Padding is zero, and only short headers and pointers, which are neither
 * zero nor aligned, stand directly behind the value before (tupmacs.h:
 * att_align_pointer).
 */
static Size
long_varlena_size(const char **place, const char *end,
				  const StoredAttribute *att)
{
	const char *aligned = align_place(*place, att);

	if (*place != aligned && *place < end && !VARATT_IS_1B(*place))
	{
		if (**place != '\0')
			return 0;
		*place = aligned;
	}
	return stored_size(*place, end, -1);
}

/* Go to the varlena value that comes next: its size, 0 if it is damaged. */
static inline Size
next_varlena_size(const char **place, const char *end,
				  const StoredAttribute *att)
{
	/* a pointer's header is that of a short value of size 0 */
	if (likely(*place < end && VARATT_IS_1B(*place) &&
			   VARSIZE_1B(*place) > 0))
		return VARSIZE_1B(*place) <= end - *place ? VARSIZE_1B(*place) : 0;
	return long_varlena_size(place, end, att);
}

/* The first attributes, whose places are always the same. */
static inline void
deform_fixed(const TupleDeformer *deformer, const char *data, Datum *values,
			 bool *isnull)
{
	for (int i = 0; i < deformer->n_fixed; i++)
	{
		const StoredAttribute *att = &deformer->attributes[i];

		values[i] = fetch_att(data + att->offset, att->byval, att->len);
		isnull[i] = false;
	}
}

Size
tuple_deform(const TupleDeformer *deformer, HeapTuple tuple, Datum *values,
			 bool *isnull)
{
	HeapTupleHeader header = tuple->t_data;
	const uint8 *bitmap = HeapTupleHasNulls(tuple) ? header->t_bits : NULL;
	const char *place = (const char *) header + header->t_hoff;
	const char *end = (const char *) header + tuple->t_len;
	int			n_stored = Min(HeapTupleHeaderGetNatts(header),
							   deformer->natts);
	int			i = 0;

	if (unlikely(!header_is_sound(tuple)))
		return 0;

	/* the one look at all attributes before the first of varying length */
	if (likely(bitmap == NULL && n_stored >= deformer->n_fixed &&
			   end - place >= deformer->fixed_bytes))
	{
		deform_fixed(deformer, place, values, isnull);
		place += deformer->fixed_bytes;
		i = deformer->n_fixed;
	}

	for (; i < n_stored; i++)
	{
		const StoredAttribute *att = &deformer->attributes[i];
		Size		size;

		isnull[i] = bitmap != NULL && att_isnull(i, bitmap);
		if (isnull[i])
		{
			values[i] = (Datum) 0;
			continue;
		}

		/* whether a varlena value is aligned, only its header tells */
		if (att->len == -1)
			size = next_varlena_size(&place, end, att);
		else
		{
			place = align_place(place, att);
			size = stored_size(place, end, att->len);
		}
		if (unlikely(size == 0))
			return 0;
		values[i] = att->len == -1 ? PointerGetDatum(place)
			: fetch_att(place, att->byval, att->len);
		place += size;
	}

	/* columns that were added after the tuple was written */
	for (; i < deformer->natts; i++)
		values[i] = getmissingattr(deformer->tupdesc, i + 1, &isnull[i]);
	return place - (const char *) header;
}
