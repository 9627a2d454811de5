/*-------------------------------------------------------------------------
 *
 * index_key.c
 *	  Decides whether the extension can build an index, and converts its keys
 *	  to bits that sort in the same order, and back.
 *
 * index_key.h describes the conversion and its callers.
 *
 * Only types with a known comparison function are supported: all bits of a
 * value must matter for the comparison, and their order must be that of the
 * values after a reversible change.  The comparison functions are in
 * src/backend/access/nbtree/nbtcompare.c, and in date.c, timestamp.c, uuid.c,
 * float.c, enum.c, varlena.c and varchar.c of src/backend/utils/adt.
 *
 * Index tuples have the layout of index_form_tuple()
 * (src/backend/access/common/indextuple.c).  Before an index is built, sample
 * tuples with each set of NULLs are formed by that function as well, and
 * compared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "port.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

#include "base/server_compat.h"
#include "index/index_key.h"

StaticAssertDecl(MaxHeapTuplesPerPage < (1 << INDEX_OFFSET_BITS),
				 "a place has too few bits for its offset");
StaticAssertDecl(INDEX_OFFSET_BITS + 32 < 64, "a place is more than a word");

/* ----------
 * Conditions for an index
 * ----------
 */

/* The operator families for which pg_opfamily.h has no names. */
#define CHAR_BTREE_FAM_OID 429
#define DATETIME_BTREE_FAM_OID 434
#define FLOAT_BTREE_FAM_OID 1970
#define TIME_BTREE_FAM_OID 1996
#define UUID_BTREE_FAM_OID 2968
#define ENUM_BTREE_FAM_OID 3522

/* An operator class of pg_opclass.dat whose order is known here. */
typedef struct KnownClass
{
	Oid			family;
	Oid			type;
	Oid			compare;		/* the function that defines the order */
	KeyKind		kind;
	int			bytes;
	char		align;
} KnownClass;

static const KnownClass known_classes[] = {
	{BOOL_BTREE_FAM_OID, BOOLOID, F_BTBOOLCMP, KEY_BOOL, 1, TYPALIGN_CHAR},
	{CHAR_BTREE_FAM_OID, CHAROID, F_BTCHARCMP, KEY_CHAR, 1, TYPALIGN_CHAR},
	{INTEGER_BTREE_FAM_OID, INT2OID, F_BTINT2CMP, KEY_INT2, 2, TYPALIGN_SHORT},
	{INTEGER_BTREE_FAM_OID, INT4OID, F_BTINT4CMP, KEY_INT4, 4, TYPALIGN_INT},
	{INTEGER_BTREE_FAM_OID, INT8OID, F_BTINT8CMP, KEY_INT8, 8, TYPALIGN_DOUBLE},
	{OID_BTREE_FAM_OID, OIDOID, F_BTOIDCMP, KEY_OID, 4, TYPALIGN_INT},
	{DATETIME_BTREE_FAM_OID, DATEOID, F_DATE_CMP, KEY_INT4, 4, TYPALIGN_INT},
	{DATETIME_BTREE_FAM_OID, TIMESTAMPOID, F_TIMESTAMP_CMP, KEY_INT8, 8,
	TYPALIGN_DOUBLE},
	{DATETIME_BTREE_FAM_OID, TIMESTAMPTZOID, F_TIMESTAMPTZ_CMP, KEY_INT8, 8,
	TYPALIGN_DOUBLE},
	{TIME_BTREE_FAM_OID, TIMEOID, F_TIME_CMP, KEY_INT8, 8, TYPALIGN_DOUBLE},
	{FLOAT_BTREE_FAM_OID, FLOAT4OID, F_BTFLOAT4CMP, KEY_FLOAT4, 4,
	TYPALIGN_INT},
	{FLOAT_BTREE_FAM_OID, FLOAT8OID, F_BTFLOAT8CMP, KEY_FLOAT8, 8,
	TYPALIGN_DOUBLE},
	{UUID_BTREE_FAM_OID, UUIDOID, F_UUID_CMP, KEY_UUID, 16, TYPALIGN_CHAR},
	{ENUM_BTREE_FAM_OID, ANYENUMOID, F_ENUM_CMP, KEY_ENUM, 4, TYPALIGN_INT},
	{TEXT_BTREE_FAM_OID, TEXTOID, F_BTTEXTCMP, KEY_TEXT, -1, TYPALIGN_INT},
	{BPCHAR_BTREE_FAM_OID, BPCHAROID, F_BPCHARCMP, KEY_BPCHAR, -1,
	TYPALIGN_INT}
};

/*
 * Read the values of an enum type in their order.  Returns NULL, or why the
 * server has to build the index.
 */
static const char *
init_enum(KeyColumn *column, Oid type)
{
	Relation	rel = table_open(EnumRelationId, AccessShareLock);
	Relation	index = index_open(EnumTypIdSortOrderIndexId, AccessShareLock);
	ScanKeyData scan_key;
	SysScanDesc scan;
	HeapTuple	tuple;
	int			max_ranks = 64;

	column->ranks = palloc(max_ranks * sizeof(EnumRank));
	ScanKeyInit(&scan_key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(type));
	scan = systable_beginscan_ordered(rel, index, NULL, 1, &scan_key);
	while ((tuple = systable_getnext_ordered(scan, ForwardScanDirection)) != NULL)
	{
		if (column->n_ranks == max_ranks)
		{
			max_ranks *= 2;
			column->ranks = repalloc(column->ranks,
									 max_ranks * sizeof(EnumRank));
		}
		column->ranks[column->n_ranks].value = ((Form_pg_enum) GETSTRUCT(tuple))->oid;
		column->ranks[column->n_ranks].rank = column->n_ranks;
		column->n_ranks++;
	}
	systable_endscan_ordered(scan);
	index_close(index, AccessShareLock);
	table_close(rel, AccessShareLock);
	if (column->n_ranks == 0)
		return "it has an enum type without values";
	column->by_rank = palloc(column->n_ranks * sizeof(Oid));
	for (int i = 0; i < column->n_ranks; i++)
		column->by_rank[i] = column->ranks[i].value;

	/*
	 * enum_cmp() compares two even OIDs as numbers, without looking up their
	 * order in the catalog, so both orders must be the same.
	 */
	for (int i = 1, last_even = -1; i <= column->n_ranks; i++)
	{
		if (column->by_rank[i - 1] % 2 == 1)
			continue;
		if (last_even >= 0 &&
			column->by_rank[last_even] > column->by_rank[i - 1])
			return "it has an enum type whose values are not in order";
		last_even = i - 1;
	}
	qsort(column->ranks, column->n_ranks, sizeof(EnumRank), key_compare_ranks);
	return NULL;
}

/* Find out how a column of the key is converted.  Returns as init_enum(). */
static const char *
init_column(KeyColumn *column, Relation heap, Relation index, int i)
{
	Form_pg_attribute stored;
	Form_pg_attribute indexed = TupleDescAttr(RelationGetDescr(index), i);
	Oid			compare = index_getprocid(index, i + 1, BTORDER_PROC);
	bool		by_value;
	int			n = 0;

	column->attnum = index->rd_index->indkey.values[i];
	if (column->attnum <= 0 ||
		column->attnum > RelationGetNumberOfAttributes(heap))
		return "it has a system column or an expression";
	stored = TupleDescAttr(RelationGetDescr(heap), column->attnum - 1);
	while (n < lengthof(known_classes) &&
		   (known_classes[n].family != index->rd_opfamily[i] ||
			known_classes[n].type != index->rd_opcintype[i] ||
			known_classes[n].compare != compare))
		n++;
	if (n == lengthof(known_classes))
		return "it has an operator class that is not known";
	column->kind = known_classes[n].kind;
	column->bytes = known_classes[n].bytes;
	column->align = known_classes[n].align;
	by_value = column->bytes > 0 && column->bytes <= 8;
	if (stored->attisdropped ||
		stored->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL ||
		stored->attlen != column->bytes || indexed->attlen != column->bytes ||
		stored->attalign != column->align ||
		indexed->attalign != column->align ||
		stored->attbyval != by_value || indexed->attbyval != by_value)
		return "it has a column that is not stored as its type is";
	if (text_key_has(column->kind))
	{
		/* with plain storage, even short values have headers of four bytes */
		if (indexed->attstorage == TYPSTORAGE_PLAIN)
			return "it has a column with plain storage";
		if (!text_key_collation(index->rd_indcollation[i]))
			return "it has a collation that is not known";
	}
	column->nullable = !stored->attnotnull;
	column->descending = (index->rd_indoption[i] & INDOPTION_DESC) != 0;
	column->nulls_first = (index->rd_indoption[i] & INDOPTION_NULLS_FIRST) != 0;

	/* NaN sorts above infinity, so its sign bit must not be set */
	if ((column->kind == KEY_FLOAT4 &&
		 key_nan_bits(KEY_FLOAT4) > UINT64CONST(0x7FFFFFFF)) ||
		(column->kind == KEY_FLOAT8 &&
		 key_nan_bits(KEY_FLOAT8) >> 63 != 0))
		return "NaN is a negative number on this platform";
	if (column->kind == KEY_ENUM)
		return init_enum(column, getBaseType(stored->atttypid));
	return NULL;
}

/* Return why the server has to build indexes of this kind, or NULL. */
static const char *
check_kind(Relation heap, Relation index, const IndexInfo *info)
{
	if (heap->rd_rel->relkind != RELKIND_RELATION &&
		heap->rd_rel->relkind != RELKIND_MATVIEW)
		return "its table is not an ordinary table";
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return "its table's access method is not heap";
	if (IsSystemRelation(heap) || IsSystemRelation(index))
		return "its table is a system table";
	if (RELATION_IS_OTHER_TEMP(heap))
		return "its table is a temporary table of another session";
	if (info->ii_Concurrent)
		return "it is built concurrently";
	if (info->ii_Expressions != NIL || info->ii_Predicate != NIL)
		return "it has an expression or a predicate";
	if (info->ii_ExclusionOps != NULL || index->rd_index->indisexclusion)
		return "it is that of an exclusion constraint";
	if (!index->rd_index->indimmediate)
		return "its constraint is deferrable";
	if (info->ii_Unique != index->rd_index->indisunique ||
		info->ii_NullsNotDistinct != index->rd_index->indnullsnotdistinct)
		return "its definition is not the one that was asked for";
	if (info->ii_NumIndexAttrs != info->ii_NumIndexKeyAttrs ||
		info->ii_NumIndexAttrs != RelationGetNumberOfAttributes(index))
		return "it has included columns";
	if (info->ii_NumIndexKeyAttrs > INDEX_KEY_COLUMNS)
		return "it has too many columns";
	return NULL;
}

/* ----------
 * Conversion of keys to entries and back
 * ----------
 */

bool
index_key_encode(const IndexKey *key, const Datum *values,
				 const bool *isnull, uint64 place, uint64 *entry, uint64 *sum)
{
	uint64		key_sum = key->sum_seed;
	int			position = 0;

	if (key->has_text)
		return text_key_encode(&key->text, values, isnull, place, entry, sum);
	for (int i = 0; i < key->n_words; i++)
		entry[i] = 0;
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];
		Datum		value = values[column->attnum - 1];
		bool		null = isnull[column->attnum - 1];

		/* the bit of NULL is 0 if NULLs sort first, otherwise 1 */
		if (column->nullable)
			index_put_bits(entry, &position, null != column->nulls_first, 1);
		if (null)
		{
			/* a NULL in a NOT NULL column is damage */
			if (!column->nullable)
				return false;
			key_sum = key_sum_null(key_sum, i);
			position += column->bytes * 8;
		}
		else if (column->kind == KEY_UUID)
		{
			uint64		halves[2];

			/* uuid_cmp() is memcmp(), so the bytes are in network order */
			memcpy(halves, DatumGetPointer(value), sizeof(halves));
			for (int j = 0; j < 2; j++)
			{
				key_sum = key_sum_mix(key_sum, halves[j]);
				index_put_bits(entry, &position,
							   key_turn_bits(column, pg_ntoh64(halves[j])), 64);
			}
		}
		else
		{
			uint64		bytes = key_datum_bytes(column, value);
			uint64		bits;

			if (!key_encode_value(column, bytes, &bits))
				return false;
			key_sum = key_sum_mix(key_sum, bytes);
			index_put_bits(entry, &position, key_turn_bits(column, bits),
						   column->bytes * 8);
		}
	}
	/* the bits of the key end before those of the place */
	entry[key->n_words - 1] |= place;
	*sum = key_sum;
	return true;
}

Size
index_key_form(const IndexKey *key, const uint64 *entry, IndexTuple tuple)
{
	int			nulls = index_key_nulls(key, entry);
	const TupleForm *form = &key->forms[nulls];
	int			position = 0;

	if (key->has_text)
		return text_key_form(&key->text, entry, tuple);
	memset(tuple, 0, form->size);
	index_key_place(key, entry, &tuple->t_tid);
	tuple->t_info = form->size;
	if (nulls != 0)
	{
		/* in the null bitmap, a bit is set for each column with a value */
		tuple->t_info |= INDEX_NULL_MASK;
		((IndexAttributeBitMap) (tuple + 1))->bits[0] =
			~nulls & ((1 << key->n_columns) - 1);
	}
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];
		char	   *to = (char *) tuple + form->offset[i];

		position += column->nullable ? 1 : 0;
		if (nulls & (1 << i))
			position += column->bytes * 8;
		else if (column->kind == KEY_UUID)
		{
			for (int j = 0; j < 2; j++)
			{
				uint64		bits = index_get_bits(entry, &position, 64);

				key_write_bytes(to + 8 * j,
								pg_hton64(key_turn_bits(column, bits)), 8);
			}
		}
		else
		{
			uint64		bits = index_get_bits(entry, &position,
											  column->bytes * 8);

			key_write_bytes(to, key_decode_value(column, key_turn_bits(column, bits)),
							column->bytes);
		}
	}
	return form->size;
}

uint64
index_key_sum(const IndexKey *key, const IndexTupleData *tuple)
{
	uint64		sum = key->sum_seed;
	int			nulls = 0;
	const TupleForm *form;

	if (key->has_text)
		return text_key_sum(&key->text, tuple);
	if (IndexTupleHasNulls(tuple))
		nulls = ~((const IndexAttributeBitMapData *) (tuple + 1))->bits[0] &
			((1 << key->n_columns) - 1);
	form = &key->forms[nulls];
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];
		const char *from = (const char *) tuple + form->offset[i];

		if (nulls & (1 << i))
			sum = key_sum_null(sum, i);
		else
		{
			sum = key_sum_mix(sum, key_read_bytes(from, column->bytes));
			if (column->kind == KEY_UUID)
				sum = key_sum_mix(sum, key_read_bytes(from + 8, 8));
		}
	}
	return sum;
}

/* ----------
 * The layout of index tuples
 * ----------
 */

/* Compute the layout of tuples in which these columns are NULL. */
static void
init_form(IndexKey *key, int nulls)
{
	TupleForm  *form = &key->forms[nulls];
	Size		header = sizeof(IndexTupleData);
	Size		end = 0;

	if (nulls != 0)
		header += sizeof(IndexAttributeBitMapData);
	header = MAXALIGN(header);
	for (int i = 0; i < key->n_columns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(key->index), i);

		if (nulls & (1 << i))
			continue;
		end = att_align_nominal(end, att->attalign);
		form->offset[i] = header + end;
		end += key->columns[i].bytes;
	}
	form->size = MAXALIGN(header + end);
	Assert(form->size <= KEY_TUPLE_BYTES);
}

/*
 * Make a sample text with up to 7 spaces at its end.  Depending on its
 * length, its header in an index tuple has one byte or four.
 */
static Datum
sample_text(uint64 random)
{
	int			n = random % 160;
	int			n_blanks = random / 160 % 8;
	struct varlena *text = palloc(VARHDRSZ + n + n_blanks);

	SET_VARSIZE(text, VARHDRSZ + n + n_blanks);
	for (int i = 0; i < n; i++)
		VARDATA(text)[i] = (char) (random >> i % 48) | 1;
	memset(VARDATA(text) + n, ' ', n_blanks);
	return PointerGetDatum(text);
}

/* Make a random value of the column's type. */
static Datum
sample_value(const KeyColumn *column, pg_uuid_t *uuid)
{
	uint64		random = pg_prng_uint64(&pg_global_prng_state);

	switch (column->kind)
	{
		case KEY_BOOL:
			return BoolGetDatum(random % 2 == 1);
		case KEY_CHAR:
			return CharGetDatum((char) random);
		case KEY_INT2:
			return Int16GetDatum((int16) random);
		case KEY_INT4:
			return Int32GetDatum((int32) random);
		case KEY_INT8:
			return Int64GetDatum((int64) random);
		case KEY_OID:
			return ObjectIdGetDatum((Oid) random);
		case KEY_FLOAT4:
			return Float4GetDatum((float4) ((double) (int64) random / 3));
		case KEY_FLOAT8:
			return Float8GetDatum((double) (int64) random / 3);
		case KEY_UUID:
			for (int i = 0; i < UUID_LEN; i++)
				uuid->data[i] = (unsigned char) (random >> (i % 8) * 8) + i;
			return UUIDPGetDatum(uuid);
		case KEY_ENUM:
			return ObjectIdGetDatum(column->by_rank[random % column->n_ranks]);
		case KEY_TEXT:
		case KEY_BPCHAR:
			return sample_text(random);
	}
	return (Datum) 0;
}

/*
 * Does the server form the same tuple of random values, if these columns are
 * NULL?
 */
static bool
form_is_the_servers(const IndexKey *key, int nulls)
{
	union
	{
		IndexTupleData tuple;
		char		space[KEY_TUPLE_BYTES];
		uint64		align;
	}			ours;
	pg_uuid_t	uuids[INDEX_KEY_COLUMNS];
	Datum		values[INDEX_KEY_COLUMNS];
	bool		isnull[INDEX_KEY_COLUMNS];
	Datum	   *stored = palloc0(key->last_attnum * sizeof(Datum));
	bool	   *stored_null = palloc0(key->last_attnum * sizeof(bool));
	uint64	   *entry = palloc(key->max_words * sizeof(uint64));
	uint64		sum;
	Size		size;
	IndexTuple	server;
	bool		same;

	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];

		isnull[i] = (nulls & (1 << i)) != 0;
		values[i] = sample_value(column, &uuids[i]);

		/* if the index contains a column twice, both have the same value */
		for (int j = 0; j < i; j++)
		{
			if (key->columns[j].attnum == column->attnum)
			{
				values[i] = values[j];
				isnull[i] = isnull[j];
			}
		}
		stored[column->attnum - 1] = values[i];
		stored_null[column->attnum - 1] = isnull[i];
	}
	if (!index_key_encode(key, stored, stored_null,
						  UINT64CONST(0) << INDEX_OFFSET_BITS | 1, entry, &sum))
		return false;
	size = index_key_form(key, entry, &ours.tuple);
	server = index_form_tuple(RelationGetDescr(key->index), values, isnull);
	ItemPointerSet(&server->t_tid, 0, 1);
	same = IndexTupleSize(server) == size &&
		memcmp(server, &ours.tuple, size) == 0 &&
		index_key_sum(key, server) == sum;
	pfree(server);
	pfree(entry);
	pfree(stored);
	pfree(stored_null);
	return same;
}

/* Return the number of bits that the numbers below "count" have. */
static int
bits_for(uint64 count)
{
	int			n = 0;

	while (n < 32 && count > (UINT64CONST(1) << n))
		n++;
	return n;
}

/*
 * Compute the layout of entries for a key of fixed width.  Returns false if
 * they would have too many words.
 */
static bool
init_fixed(IndexKey *key, Relation heap)
{
	int			key_bits = 0;

	for (int i = 0; i < key->n_columns; i++)
		key_bits += key->columns[i].bytes * 8 +
			(key->columns[i].nullable ? 1 : 0);
	/* a small table needs few bits for a place, which may save a word */
	key->place_bits = INDEX_OFFSET_BITS +
		bits_for(RelationGetNumberOfBlocks(heap));
	key->n_words = (key_bits + key->place_bits + 63) / 64;
	if (key->n_words > INDEX_ENTRY_WORDS)
		return false;
	key->max_words = key->n_words;
	key->place_word = key->n_words - 1;
	key->n_key_words = (key_bits + 63) / 64;
	key->last_mask = ~UINT64CONST(0) << (64 * key->n_key_words - key_bits);
	for (int nulls = 0; nulls < (1 << key->n_columns); nulls++)
		init_form(key, nulls);
	return true;
}

/* The same for a key with texts. */
static bool
init_text(IndexKey *key)
{
	key->text.n_columns = key->n_columns;
	key->text.columns = key->columns;
	key->text.sum_seed = key->sum_seed;
	key->place_word = 0;
	key->place_bits = TEXT_KEY_PLACE_BITS;
	if (!text_key_init(&key->text))
		return false;
	key->max_words = key->text.max_words;
	return true;
}

/* Do the server's tuples have the same layout, with each set of NULLs? */
static bool
forms_are_the_servers(const IndexKey *key)
{
	/* the layout of texts depends on their lengths, so more are tried */
	int			n_tries = key->has_text ? 8 : 1;

	for (int nulls = 0; nulls < (1 << key->n_columns); nulls++)
	{
		bool		possible = true;

		for (int i = 0; i < key->n_columns; i++)
		{
			if ((nulls & (1 << i)) && !key->columns[i].nullable)
				possible = false;
		}
		for (int i = 0; possible && i < n_tries; i++)
		{
			if (!form_is_the_servers(key, nulls))
				return false;
		}
	}
	return true;
}

const char *
index_key_init(IndexKey *key, Relation heap, Relation index,
			   const IndexInfo *info)
{
	const char *reason = check_kind(heap, index, info);

	if (reason != NULL)
		return reason;
	memset(key, 0, sizeof(IndexKey));
	key->index = index;
	key->n_columns = info->ii_NumIndexKeyAttrs;
	if (!pg_strong_random(&key->sum_seed, sizeof(key->sum_seed)))
		return "no random number can be had";
	for (int i = 0; i < key->n_columns; i++)
	{
		KeyColumn  *column = &key->columns[i];

		reason = init_column(column, heap, index, i);
		if (reason != NULL)
			return reason;
		key->last_attnum = Max(key->last_attnum, column->attnum);
		if (text_key_has(column->kind))
			key->has_text = true;
	}
	if (!(key->has_text ? init_text(key) : init_fixed(key, heap)))
		return "its columns are too wide";
	if (!forms_are_the_servers(key))
		return "its tuples have a form that is not known";
	return NULL;
}

/* ----------
 * Keys of several processes
 * ----------
 */

/*
 * Return a checksum over what each process reads for itself, and what may
 * have changed in the meantime: the size of the table, which determines the
 * bits of a place, and the values of enum types, of which another session may
 * add one.
 */
static uint64
key_layout(const IndexKey *key)
{
	uint64		layout = key_sum_mix(key->max_words, key->place_bits);

	layout = key_sum_mix(layout, key->n_words);
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];

		layout = key_sum_mix(layout, column->nullable | column->descending << 1 |
							 column->nulls_first << 2);
		layout = key_sum_mix(layout, column->n_ranks);
		for (int j = 0; j < column->n_ranks; j++)
			layout = key_sum_mix(layout, column->by_rank[j]);
	}
	return layout;
}

void
index_key_share(const IndexKey *key, SharedKey *shared)
{
	shared->sum_seed = key->sum_seed;
	shared->layout = key_layout(key);
}

bool
index_key_attach(IndexKey *key, const SharedKey *shared)
{
	key->sum_seed = shared->sum_seed;
	key->text.sum_seed = shared->sum_seed;
	return key_layout(key) == shared->layout;
}
