/*-------------------------------------------------------------------------
 *
 * toast_values.c
 *	  Compresses values of new rows, and stores them out of line.
 *
 * The server shortens a row that is longer than about 2 kB (heaptoast.c:
 * heap_toast_insert_or_update): it compresses the largest values, one after
 * another, and moves those out of line that are too long even then.  With
 * pglz, the default up to 18, compressing takes most of the time of a load of
 * documents.  So it is done here, by bytes/pglz.c, before the server gets
 * the row.  The server finds a row that is short enough, or continues where
 * this file has ended.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/toast_compression.h"
#include "access/toast_helper.h"
#include "access/toast_internals.h"
#include "common/pg_lzcompress.h"
#include "utils/expandeddatum.h"
#include "utils/rel.h"

#include "bytes/pglz.h"
#include "load/toast_values.h"

/* ----------
 * Stores values out of line.
 *
 * The server skips values that are compressed already when it compresses the
 * values of a long row.  So it would compress all other values, even the
 * shortest, before it moved a compressed one out of line.  If a row contains
 * an external value, the server fetches it first (toast_helper.c:
 * toast_tuple_init).
 *
 * This second rule is used here.  The row contains a pointer to an expanded
 * object (src/include/utils/expandeddatum.h).  When the server fetches it,
 * the object stores its value in the TOAST table and returns the TOAST
 * pointer.  With this pointer the row is short enough, and the server stores
 * it in the tuple.
 *
 * Index entries must not be made of such a row: an access method may store a
 * value without fetching it (brin_minmax_multi.c), and so would store an
 * address of this process.
 * ----------
 */

/* A value to be stored out of line, as an expanded object. */
typedef struct ToastedValue
{
	ExpandedObjectHeader object;	/* must be first */
	Relation	rel;			/* borrowed */
	int			options;
	struct varlena *value;		/* borrowed; plain or compressed */
} ToastedValue;

/* The get_flat_size method of the object. */
static Size
flat_size(ExpandedObjectHeader * object)
{
	return TOAST_POINTER_SIZE;
}

/*
 * The flatten_into method of the object: write the chunks into the TOAST
 * table, and return the pointer.
 */
static void
flatten(ExpandedObjectHeader * object, void *result, Size size)
{
	ToastedValue *toasted = (ToastedValue *) object;
	Pointer		pointer =
		DatumGetPointer(toast_save_datum(toasted->rel,
										 PointerGetDatum(toasted->value),
										 NULL, toasted->options));

	Assert(size == TOAST_POINTER_SIZE && VARSIZE_ANY(pointer) == size);
	memcpy(result, pointer, size);
	pfree(pointer);
}

static const ExpandedObjectMethods methods = {flat_size, flatten};

Datum
toast_value_later(Relation rel, struct varlena *value, int options)
{
	ToastedValue *toasted = palloc(sizeof(ToastedValue));
	struct varatt_indirect redirect;
	struct varlena *pointer = palloc(INDIRECT_POINTER_SIZE);

	EOH_init_header(&toasted->object, &methods, CurrentMemoryContext);
	toasted->rel = rel;
	toasted->options = options;
	toasted->value = value;

	/* indirect, as heap_form_tuple() would fetch an expanded object itself */
	redirect.pointer = (struct varlena *) toasted->object.eoh_ro_ptr;
	SET_VARTAG_EXTERNAL(pointer, VARTAG_INDIRECT);
	memcpy(VARDATA_EXTERNAL(pointer), &redirect, sizeof(redirect));
	return PointerGetDatum(pointer);
}

/* ----------
 * Compresses the values of long rows.
 *
 * The functions of toast_helper.c choose the values, so that the rows become
 * the same as the server's.  Only values that are moved out of line together
 * may get their OIDs in another order.
 * ----------
 */

/*
 * Compress a value as toast_compress_datum() does.  Returns NULL if that does
 * not make it shorter.
 */
static struct varlena *
compress_value(const struct varlena *value, char method)
{
	int32		len = VARSIZE_ANY_EXHDR(value);
	struct varlena *compressed;
	int32		compressed_len;

	if (!CompressionMethodIsValid(method))
		method = default_toast_compression;
	if (method != TOAST_PGLZ_COMPRESSION)
		return (struct varlena *)
			DatumGetPointer(toast_compress_datum(PointerGetDatum(value), method));

	compressed = palloc(PGLZ_MAX_OUTPUT(len) + VARHDRSZ_COMPRESSED);
	compressed_len = pglz_encode(VARDATA_ANY(value), len,
								 (char *) compressed + VARHDRSZ_COMPRESSED);
	if (compressed_len < 0 || compressed_len + VARHDRSZ_COMPRESSED >= len - 2)
	{
		pfree(compressed);
		return NULL;
	}
	SET_VARSIZE_COMPRESSED(compressed, compressed_len + VARHDRSZ_COMPRESSED);
	TOAST_COMPRESS_SET_SIZE_AND_COMPRESS_METHOD(compressed, len,
												TOAST_PGLZ_COMPRESSION_ID);
	/* a batch may contain many such values */
	return repalloc(compressed, VARSIZE(compressed));
}

/* This is the first loop of heap_toast_insert_or_update(). */
HeapTuple
toast_tuple(Relation rel, HeapTuple tuple, int options)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	Datum		values[MaxHeapAttributeNumber];
	bool		isnull[MaxHeapAttributeNumber];
	struct varlena *moved[MaxHeapAttributeNumber] = {0};
	ToastAttrInfo attributes[MaxHeapAttributeNumber];
	ToastTupleContext context = {
		.ttc_rel = rel,
		.ttc_values = values,
		.ttc_isnull = isnull,
		.ttc_attr = attributes
	};
	Size		max_len = RelationGetToastTupleTarget(rel, TOAST_TUPLE_TARGET);
	bool		is_changed = false;
	char		pointer[TOAST_POINTER_SIZE];

	/*
	 * With a lower target, the server might do nothing with the shorter
	 * tuple, which would still be longer than the target.
	 */
	if (max_len < TOAST_TUPLE_THRESHOLD)
		return tuple;
	max_len -= tuple->t_data->t_hoff;

	/* stands for the pointers to values that are moved */
	SET_VARTAG_EXTERNAL(pointer, VARTAG_ONDISK);

	heap_deform_tuple(tuple, tupdesc, values, isnull);
	toast_tuple_init(&context);
	while (heap_compute_data_size(tupdesc, values, isnull) > max_len)
	{
		int			att = toast_tuple_find_biggest_attribute(&context, true, false);
		ToastAttrInfo *attribute;
		struct varlena *value;
		struct varlena *compressed = NULL;

		if (att < 0)
			break;
		attribute = &attributes[att];
		value = (struct varlena *) DatumGetPointer(values[att]);
		if (TupleDescAttr(tupdesc, att)->attstorage == TYPSTORAGE_EXTENDED)
			compressed = compress_value(value, attribute->tai_compression);
		if (compressed != NULL)
		{
			is_changed = true;
			value = compressed;
			values[att] = PointerGetDatum(value);
			attribute->tai_size = VARSIZE(value);
		}
		else
			attribute->tai_colflags |= TOASTCOL_INCOMPRESSIBLE;

		if (attribute->tai_size > max_len &&
			OidIsValid(rel->rd_rel->reltoastrelid))
		{
			is_changed = true;
			moved[att] = value;
			values[att] = PointerGetDatum(pointer);
			attribute->tai_colflags |= TOASTCOL_IGNORE;
		}
	}
	if (!is_changed)
		return tuple;
	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (moved[i] != NULL)
			values[i] = toast_value_later(rel, moved[i], options);
	}
	return heap_form_tuple(tupdesc, values, isnull);
}
