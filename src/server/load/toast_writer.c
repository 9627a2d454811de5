/*-------------------------------------------------------------------------
 *
 * toast_writer.c
 *	  Puts values out of line as they come.
 *
 * The server's way with a long row (heaptoast.c: heap_toast_insert_or_update)
 * is to compress the largest values until it fits, and those that are
 * compressed already it passes over: all others would be compressed, down to
 * the shortest, before it puts one out of line.  What it finds out of line it
 * fetches back first (toast_helper.c: toast_tuple_init).  So the row that it
 * is given points to an expanded object (src/include/utils/expandeddatum.h),
 * which, fetched, stores its value and gives the pointer to it.  The server
 * finds the row short enough by that, and puts the pointer into the tuple.
 *
 * Fetched again, as the row's index entries do it, the object gives the
 * value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/toast_internals.h"
#include "utils/expandeddatum.h"
#include "utils/rel.h"

#include "load/toast_writer.h"

/* A value on its way. */
typedef struct ToastedValue
{
	ExpandedObjectHeader object;	/* must be first */
	Relation	rel;			/* borrowed */
	int			options;
	struct varlena *value;		/* borrowed; plain or compressed */
	bool		is_stored;
} ToastedValue;

static Size
flat_size(ExpandedObjectHeader * object)
{
	ToastedValue *toasted = (ToastedValue *) object;

	if (!toasted->is_stored)
		return TOAST_POINTER_SIZE;
	return toast_raw_datum_size(PointerGetDatum(toasted->value));
}

static void
flatten(ExpandedObjectHeader * object, void *result, Size size)
{
	ToastedValue *toasted = (ToastedValue *) object;
	struct varlena *flat;

	if (toasted->is_stored)
		flat = detoast_attr(toasted->value);
	else
		flat = (struct varlena *)
			DatumGetPointer(toast_save_datum(toasted->rel,
											 PointerGetDatum(toasted->value),
											 NULL, toasted->options));
	if (VARSIZE_ANY(flat) != size)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid length of a compressed value")));
	memcpy(result, flat, size);
	toasted->is_stored = true;
	if (flat != toasted->value)
		pfree(flat);
}

static const ExpandedObjectMethods methods = {flat_size, flatten};

/* A pointer, of memory alone, to the value on its way. */
static Datum
point_to(Relation rel, struct varlena *value, int options)
{
	ToastedValue *toasted = palloc(sizeof(ToastedValue));
	struct varatt_indirect redirect;
	struct varlena *pointer = palloc(INDIRECT_POINTER_SIZE);

	EOH_init_header(&toasted->object, &methods, CurrentMemoryContext);
	toasted->rel = rel;
	toasted->options = options;
	toasted->value = value;
	toasted->is_stored = false;

	/* heap_form_tuple() would fetch an expanded object itself */
	redirect.pointer = (struct varlena *) toasted->object.eoh_ro_ptr;
	SET_VARTAG_EXTERNAL(pointer, VARTAG_INDIRECT);
	memcpy(VARDATA_EXTERNAL(pointer), &redirect, sizeof(redirect));
	return PointerGetDatum(pointer);
}

HeapTuple
toast_writer_form(Relation rel, Datum *values, const bool *isnull,
				  const int *external, int n_external, int options)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	bool		has_toast = OidIsValid(rel->rd_rel->reltoastrelid);
	Datum	   *stored = palloc(tupdesc->natts * sizeof(Datum));

	memcpy(stored, values, tupdesc->natts * sizeof(Datum));
	for (int i = 0; i < n_external; i++)
	{
		int			att = external[i];
		struct varlena *value = (struct varlena *) DatumGetPointer(values[att]);

		if (TupleDescAttr(tupdesc, att)->attstorage == TYPSTORAGE_PLAIN)
			stored[att] = PointerGetDatum(detoast_attr(value));
		else if (has_toast)
			stored[att] = point_to(rel, value, options);
	}
	return heap_form_tuple(tupdesc, stored, (bool *) isnull);
}
