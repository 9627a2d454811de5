/*-------------------------------------------------------------------------
 *
 * range_check.c
 *	  Passes over the rows of a block range for their fingerprint.
 *
 * Rows are taken apart only where a value is out of line.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "utils/rel.h"

#include "fingerprint/range_check.h"
#include "heap/heap_reader.h"
#include "heap/toast_reader.h"
#include "heap/tuple_deform.h"

typedef struct RangePass
{
	Relation	rel;			/* borrowed, as the columns and fingerprint */
	const AttrNumber *attnums;
	int			n_attnums;
	RangeFingerprint *fingerprint;
	HeapReader *heap;
	ToastReader *toast;
	TupleDeformer *deformer;	/* up to the last column */
	Datum	   *values;			/* by attribute */
	bool	   *isnull;
	AttrNumber	column;			/* whose value is fetched, or 0 */
} RangePass;

bool
same_bytes(const bytea *a, const bytea *b)
{
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

static void
begin_pass(RangePass *pass, Snapshot snapshot, BlockNumber start,
		   BlockNumber end)
{
	AttrNumber	last = 0;

	for (int i = 0; i < pass->n_attnums; i++)
		last = Max(last, pass->attnums[i]);
	pass->heap = heap_reader_new(pass->rel, snapshot, start, end);
	pass->toast = toast_reader_new(pass->rel);
	pass->deformer = tuple_deformer_new(RelationGetDescr(pass->rel), last);
	pass->values = palloc(sizeof(Datum) * (last + 1));
	pass->isnull = palloc(sizeof(bool) * (last + 1));
}

static void
add_values(RangePass *pass, HeapTuple tuple)
{
	if (!tuple_deform(pass->deformer, tuple, pass->values, pass->isnull))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid length of a value in table \"%s\"",
						RelationGetRelationName(pass->rel))));
	for (int i = 0; i < pass->n_attnums; i++)
	{
		int			attribute = pass->attnums[i] - 1;
		struct varlena *value;

		if (pass->isnull[attribute] ||
			TupleDescAttr(RelationGetDescr(pass->rel), attribute)->attlen != -1)
			continue;
		value = (struct varlena *) DatumGetPointer(pass->values[attribute]);
		if (!VARATT_IS_EXTERNAL(value))
			continue;
		pass->column = pass->attnums[i];
		range_fingerprint_add_value(pass->fingerprint,
									toast_reader_get_stored(pass->toast,
															value));
		pass->column = 0;
	}
}

/* Tell with any error where it was met. */
static void
add_place(void *arg)
{
	RangePass  *pass = arg;
	const ItemPointerData *place = heap_reader_place(pass->heap);
	TupleDesc	tupdesc = RelationGetDescr(pass->rel);

	if (place)
		heap_row_errcontext(pass->rel, place,
							pass->column == 0 ? NULL :
							NameStr(TupleDescAttr(tupdesc,
												  pass->column - 1)->attname));
	else
		errcontext("reading table \"%s\"", RelationGetRelationName(pass->rel));
}

RangeCheck
range_check(Relation rel, Snapshot snapshot, const AttrNumber *attnums,
			int n_attnums, BlockNumber start, BlockNumber end,
			RangeFingerprint *fingerprint, const bytea *expected_first)
{
	RangePass	pass = {rel, attnums, n_attnums, fingerprint};
	ErrorContextCallback place = {error_context_stack, add_place, &pass};
	RangeCheck	result = {0};
	bool		differs = false;
	HeapTuple	tuple;

	begin_pass(&pass, snapshot, start, end);
	error_context_stack = &place;
	while (!differs && (tuple = heap_reader_next(pass.heap)) != NULL)
	{
		bool		had_first = result.first != NULL;

		range_fingerprint_add_tuple(fingerprint, tuple);
		if (HeapTupleHasExternal(tuple))
			add_values(&pass, tuple);
		result.rows++;
		result.first = range_fingerprint_first(fingerprint);
		differs = !had_first && result.first != NULL &&
			expected_first != NULL &&
			!same_bytes(result.first, expected_first);
	}
	error_context_stack = place.previous;
	if (!differs)
		result.fingerprint = range_fingerprint_end(fingerprint, &result.first);
	heap_reader_free(pass.heap);
	toast_reader_free(pass.toast);
	pfree(pass.deformer);
	return result;
}
