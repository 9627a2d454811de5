/*-------------------------------------------------------------------------
 *
 * tuple_former.c
 *	  Forms tuples of a table, of values that have just been decoded.
 *
 * heap_form_tuple() goes through the columns three times, and through the
 * tuple twice, as it zeroes it first.  Here one look at the values of
 * variable length says how much room is enough, and then they are written,
 * with what the table's descriptor says of a column in a few bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "utils/memutils.h"

#include "load/tuple_former.h"

typedef struct FormedColumn
{
	int16		len;			/* attlen */
	bool		by_value;
	bool		is_packable;	/* may have a header of one byte */
	uint8		align_mask;
} FormedColumn;

struct TupleFormer
{
	TupleDesc	tupdesc;		/* borrowed */
	int			n_columns;
	Size		fixed_room;		/* enough for all but what has a length */
	FormedColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

static uint8
alignment_mask(char align)
{
	switch (align)
	{
		case TYPALIGN_CHAR:
			return 0;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT - 1;
		case TYPALIGN_INT:
			return ALIGNOF_INT - 1;
		default:
			return ALIGNOF_DOUBLE - 1;
	}
}

TupleFormer *
tuple_former_new(TupleDesc tupdesc)
{
	int			n = tupdesc->natts;
	TupleFormer *former = palloc0(offsetof(TupleFormer, columns) +
								  n * sizeof(FormedColumn));

	former->tupdesc = tupdesc;
	former->n_columns = n;
	former->fixed_room = HEAPTUPLESIZE +
		MAXALIGN(offsetof(HeapTupleHeaderData, t_bits) + BITMAPLEN(n));
	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, i);
		FormedColumn *column = &former->columns[i];

		column->len = attribute->attlen;
		column->by_value = attribute->attbyval;
		column->is_packable = attribute->attstorage != TYPSTORAGE_PLAIN;
		column->align_mask = alignment_mask(attribute->attalign);
		former->fixed_room += column->align_mask + Max(column->len, 0);
	}
	return former;
}

/*
 * How much room is enough for the tuple, or 0 if it is not one for us: with a
 * value out of line or expanded, or a cstring.  *has_null: is there a NULL?
 */
static inline Size
enough_room(const TupleFormer *former, const Datum *values,
			const bool *isnull, bool *has_null)
{
	Size		room = former->fixed_room;
	bool		any_null = false;

	for (int i = 0; i < former->n_columns; i++)
	{
		const FormedColumn *column = &former->columns[i];

		any_null |= isnull[i];
		if (column->len >= 0 || isnull[i])
			continue;
		if (column->len != -1 ||
			VARATT_IS_EXTERNAL(DatumGetPointer(values[i])))
			return 0;
		room += VARSIZE_ANY(DatumGetPointer(values[i]));
	}
	*has_null = any_null;
	return room;
}

static inline char *
put_padding(char *to, uint8 align_mask)
{
	while (((uintptr_t) to & align_mask) != 0)
		*to++ = '\0';
	return to;
}

static inline char *
put_varlena(char *to, const FormedColumn *column, const struct varlena *value)
{
	Size		size;

	if (VARATT_IS_SHORT(value))
	{
		size = VARSIZE_SHORT(value);
		memcpy(to, value, size);
	}
	else if (column->is_packable && VARATT_CAN_MAKE_SHORT(value))
	{
		size = VARATT_CONVERTED_SHORT_SIZE(value);
		SET_VARSIZE_SHORT(to, size);
		memcpy(to + 1, VARDATA(value), size - 1);
	}
	else
	{
		to = put_padding(to, column->align_mask);
		size = VARSIZE(value);
		memcpy(to, value, size);
	}
	return to + size;
}

static inline char *
put_value(char *to, const FormedColumn *column, Datum value)
{
	if (column->len < 0)
		return put_varlena(to, column,
						   (struct varlena *) DatumGetPointer(value));
	to = put_padding(to, column->align_mask);
	if (column->by_value)
		store_att_byval(to, value, column->len);
	else
		memcpy(to, DatumGetPointer(value), column->len);
	return to + column->len;
}

HeapTuple
tuple_former_form(TupleFormer *former, const Datum *values,
				  const bool *isnull)
{
	bool		has_null = false;
	Size		room = enough_room(former, values, isnull, &has_null);
	Size		bitmap_len = has_null ? BITMAPLEN(former->n_columns) : 0;
	Size		hoff = MAXALIGN(offsetof(HeapTupleHeaderData, t_bits) +
								bitmap_len);
	HeapTuple	tuple;
	HeapTupleHeader header;
	char	   *to;

	if (unlikely(room == 0 || !AllocSizeIsValid(room)))
		return heap_form_tuple(former->tupdesc, (Datum *) values,
							   (bool *) isnull);
	tuple = palloc(room);
	header = tuple->t_data = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	memset(header, 0, hoff);
	header->t_hoff = hoff;
	header->t_infomask = has_null ? HEAP_HASNULL : 0;
	HeapTupleHeaderSetNatts(header, former->n_columns);
	ItemPointerSetInvalid(&header->t_ctid);

	to = (char *) header + hoff;
	for (int i = 0; i < former->n_columns; i++)
	{
		const FormedColumn *column = &former->columns[i];

		if (isnull[i])
			continue;
		if (has_null)
			header->t_bits[i / BITS_PER_BYTE] |= 1 << (i % BITS_PER_BYTE);
		if (column->len < 0)
			header->t_infomask |= HEAP_HASVARWIDTH;
		to = put_value(to, column, values[i]);
	}
	tuple->t_len = to - (char *) header;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid;
	Assert((char *) tuple + room >= to);
	return tuple;
}
