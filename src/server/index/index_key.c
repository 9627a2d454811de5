/*-------------------------------------------------------------------------
 *
 * index_key.c
 *	  The key of a btree index of fixed-width columns, as bits that sort.
 *
 * Only types whose comparison function is known are taken: each bit of a
 * value counts, and the order is that of the bits after a change that can be
 * undone.  The comparison functions are those of src/backend/access/nbtree/
 * nbtcompare.c, and of date.c, timestamp.c, uuid.c, float.c and enum.c in
 * src/backend/utils/adt.
 *
 * The form of index tuples is that of index_form_tuple() (src/backend/access/
 * common/indextuple.c).  Before an index is built, tuples of all sets of
 * NULLs are formed by both and compared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
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
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

#include "base/server_compat.h"
#include "index/index_key.h"

StaticAssertDecl(MaxHeapTuplesPerPage < (1 << INDEX_OFFSET_BITS),
				 "a place has too few bits for its offset");
StaticAssertDecl(INDEX_OFFSET_BITS + 32 < 64, "a place is more than a word");

/* ----------
 * What an index must be like.
 * ----------
 */

/* Families of which pg_opfamily.h has no names. */
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

static const KnownClass known_classes[] =
{
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
	{ENUM_BTREE_FAM_OID, ANYENUMOID, F_ENUM_CMP, KEY_ENUM, 4, TYPALIGN_INT}
};

static int
compare_ranks(const void *a, const void *b)
{
	Oid			x = ((const EnumRank *) a)->value;
	Oid			y = ((const EnumRank *) b)->value;

	return x < y ? -1 : x > y;
}

/* Read the values of an enum type in their order. */
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

	/* enum_cmp() compares even OIDs without a look at the catalog */
	for (int i = 1, last_even = -1; i <= column->n_ranks; i++)
	{
		if (column->by_rank[i - 1] % 2 == 1)
			continue;
		if (last_even >= 0 &&
			column->by_rank[last_even] > column->by_rank[i - 1])
			return "it has an enum type whose values are not in order";
		last_even = i - 1;
	}
	qsort(column->ranks, column->n_ranks, sizeof(EnumRank), compare_ranks);
	return NULL;
}

/* The only NaN that is taken has the bits of 'NaN'::float8, or of float4. */
static uint64
bits_of_nan(KeyKind kind)
{
	float4		nan4 = get_float4_nan();
	float8		nan8 = get_float8_nan();
	uint32		bits4;
	uint64		bits8;

	memcpy(&bits4, &nan4, sizeof(bits4));
	memcpy(&bits8, &nan8, sizeof(bits8));
	return kind == KEY_FLOAT4 ? bits4 : bits8;
}

static const char *
init_column(KeyColumn *column, Relation heap, Relation index, int i)
{
	Form_pg_attribute stored;
	Form_pg_attribute indexed = TupleDescAttr(RelationGetDescr(index), i);
	Oid			compare = index_getprocid(index, i + 1, BTORDER_PROC);
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
	if (stored->attisdropped ||
		stored->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL ||
		stored->attlen != column->bytes || indexed->attlen != column->bytes ||
		stored->attalign != known_classes[n].align ||
		indexed->attalign != known_classes[n].align ||
		stored->attbyval != (column->bytes <= 8) ||
		indexed->attbyval != (column->bytes <= 8))
		return "it has a column that is not stored as its type is";
	column->nullable = !stored->attnotnull;
	column->descending = (index->rd_indoption[i] & INDOPTION_DESC) != 0;
	column->nulls_first = (index->rd_indoption[i] & INDOPTION_NULLS_FIRST) != 0;

	/* all bits of a NaN must be above those of infinity */
	if ((column->kind == KEY_FLOAT4 &&
		 bits_of_nan(KEY_FLOAT4) > UINT64CONST(0x7FFFFFFF)) ||
		(column->kind == KEY_FLOAT8 &&
		 bits_of_nan(KEY_FLOAT8) >> 63 != 0))
		return "NaN is a negative number on this platform";
	if (column->kind == KEY_ENUM)
		return init_enum(column, getBaseType(stored->atttypid));
	return NULL;
}

/* Why a table, or an index of this kind, is left to the server. */
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
 * Keys to entries and back.
 * ----------
 */

/* The bytes of a value as a number; of a uuid only the first half. */
static inline uint64
bytes_of_datum(const KeyColumn *column, Datum value)
{
	uint64		bytes = (uint64) value;

	if (column->bytes < 8)
		bytes &= (UINT64CONST(1) << 8 * column->bytes) - 1;
	return bytes;
}

/*
 * The bits of a value up to 8 bytes long that sort as it does, or false.
 * decode_value() is the inverse.
 */
static inline bool
encode_value(const KeyColumn *column, uint64 bytes, uint64 *bits)
{
	const uint64 sign4 = UINT64CONST(0x80000000);
	const uint64 sign8 = UINT64CONST(1) << 63;

	switch (column->kind)
	{
		case KEY_BOOL:
			*bits = bytes;
			return bytes <= 1;
		case KEY_CHAR:
		case KEY_OID:
			*bits = bytes;
			return true;
		case KEY_INT2:
			*bits = bytes ^ 0x8000;
			return true;
		case KEY_INT4:
			*bits = bytes ^ sign4;
			return true;
		case KEY_INT8:
			*bits = bytes ^ sign8;
			return true;
		case KEY_FLOAT4:
			/* -0.0 equals 0.0, and a NaN all others */
			if (bytes == sign4 ||
				((bytes & ~sign4) > UINT64CONST(0x7F800000) &&
				 bytes != bits_of_nan(KEY_FLOAT4)))
				return false;
			*bits = (bytes & sign4) ? ~bytes & UINT64CONST(0xFFFFFFFF)
				: bytes | sign4;
			return true;
		case KEY_FLOAT8:
			if (bytes == sign8 ||
				((bytes & ~sign8) > UINT64CONST(0x7FF0000000000000) &&
				 bytes != bits_of_nan(KEY_FLOAT8)))
				return false;
			*bits = (bytes & sign8) ? ~bytes : bytes | sign8;
			return true;
		case KEY_ENUM:
			{
				EnumRank	wanted = {(Oid) bytes, 0};
				EnumRank   *found = bsearch(&wanted, column->ranks,
											column->n_ranks, sizeof(EnumRank),
											compare_ranks);

				if (found == NULL)
					return false;
				*bits = found->rank;
				return true;
			}
		case KEY_UUID:
			break;
	}
	return false;
}

static inline uint64
decode_value(const KeyColumn *column, uint64 bits)
{
	const uint64 sign4 = UINT64CONST(0x80000000);
	const uint64 sign8 = UINT64CONST(1) << 63;

	switch (column->kind)
	{
		case KEY_INT2:
			return bits ^ 0x8000;
		case KEY_INT4:
			return bits ^ sign4;
		case KEY_INT8:
			return bits ^ sign8;
		case KEY_FLOAT4:
			return (bits & sign4) ? bits ^ sign4
				: ~bits & UINT64CONST(0xFFFFFFFF);
		case KEY_FLOAT8:
			return (bits & sign8) ? bits ^ sign8 : ~bits;
		case KEY_ENUM:
			return column->by_rank[bits];
		case KEY_BOOL:
		case KEY_CHAR:
		case KEY_OID:
		case KEY_UUID:
			break;
	}
	return bits;
}

/* Of a descending column all bits are inverted. */
static inline uint64
turn_bits(const KeyColumn *column, uint64 bits)
{
	int			n = Min(column->bytes, 8) * 8;

	return column->descending ? ~bits & (~UINT64CONST(0) >> (64 - n)) : bits;
}

bool
index_key_encode(const IndexKey *key, const Datum *values,
				 const bool *isnull, uint64 place, uint64 *entry, uint64 *sum)
{
	uint64		key_sum = key->sum_seed;
	int			position = 0;

	for (int i = 0; i < key->n_words; i++)
		entry[i] = 0;
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];
		Datum		value = values[column->attnum - 1];
		bool		null = isnull[column->attnum - 1];

		if (column->nullable)
			index_put_bits(entry, &position, null != column->nulls_first, 1);
		if (null)
		{
			if (!column->nullable)
				return false;
			key_sum = index_sum_mix(key_sum, ~UINT64CONST(0) - i);
			position += column->bytes * 8;
		}
		else if (column->kind == KEY_UUID)
		{
			uint64		halves[2];

			memcpy(halves, DatumGetPointer(value), sizeof(halves));
			for (int j = 0; j < 2; j++)
			{
				key_sum = index_sum_mix(key_sum, halves[j]);
				index_put_bits(entry, &position,
							   turn_bits(column, pg_ntoh64(halves[j])), 64);
			}
		}
		else
		{
			uint64		bytes = bytes_of_datum(column, value);
			uint64		bits;

			if (!encode_value(column, bytes, &bits))
				return false;
			key_sum = index_sum_mix(key_sum, bytes);
			index_put_bits(entry, &position, turn_bits(column, bits),
						   column->bytes * 8);
		}
	}
	entry[key->n_words - 1] |= place;
	*sum = key_sum;
	return true;
}

int
index_key_nulls(const IndexKey *key, const uint64 *entry)
{
	int			nulls = 0;
	int			position = 0;

	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];

		if (column->nullable &&
			index_get_bits(entry, &position, 1) != column->nulls_first)
			nulls |= 1 << i;
		position += column->bytes * 8;
	}
	return nulls;
}

/* Write the low bytes of a number as a value that long. */
static inline void
write_bytes(char *to, uint64 bytes, int n)
{
	uint8		byte = (uint8) bytes;
	uint16		two = (uint16) bytes;
	uint32		four = (uint32) bytes;

	switch (n)
	{
		case 1:
			memcpy(to, &byte, 1);
			break;
		case 2:
			memcpy(to, &two, 2);
			break;
		case 4:
			memcpy(to, &four, 4);
			break;
		default:
			memcpy(to, &bytes, 8);
	}
}

static inline uint64
read_bytes(const char *from, int n)
{
	uint8		byte;
	uint16		two;
	uint32		four;
	uint64		eight;

	switch (n)
	{
		case 1:
			memcpy(&byte, from, 1);
			return byte;
		case 2:
			memcpy(&two, from, 2);
			return two;
		case 4:
			memcpy(&four, from, 4);
			return four;
		default:
			memcpy(&eight, from, 8);
			return eight;
	}
}

Size
index_key_form(const IndexKey *key, const uint64 *entry, IndexTuple tuple)
{
	int			nulls = index_key_nulls(key, entry);
	const TupleForm *form = &key->forms[nulls];
	int			position = 0;

	memset(tuple, 0, form->size);
	index_key_place(key, entry, &tuple->t_tid);
	tuple->t_info = form->size;
	if (nulls != 0)
	{
		/* a bit is set for each column that is not NULL */
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

				write_bytes(to + 8 * j,
							pg_hton64(turn_bits(column, bits)), 8);
			}
		}
		else
		{
			uint64		bits = index_get_bits(entry, &position,
											  column->bytes * 8);

			write_bytes(to, decode_value(column, turn_bits(column, bits)),
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

	if (IndexTupleHasNulls(tuple))
		nulls = ~((const IndexAttributeBitMapData *) (tuple + 1))->bits[0] &
			((1 << key->n_columns) - 1);
	form = &key->forms[nulls];
	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];
		const char *from = (const char *) tuple + form->offset[i];

		if (nulls & (1 << i))
			sum = index_sum_mix(sum, ~UINT64CONST(0) - i);
		else
		{
			sum = index_sum_mix(sum, read_bytes(from, column->bytes));
			if (column->kind == KEY_UUID)
				sum = index_sum_mix(sum, read_bytes(from + 8, 8));
		}
	}
	return sum;
}

/* ----------
 * The form of index tuples.
 * ----------
 */

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
	Assert(form->size <= INDEX_KEY_TUPLE_BYTES);
}

/* Some value that the column can have. */
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
	}
	return (Datum) 0;
}

/* Does the server form the same tuple of some values, with these NULLs? */
static bool
form_is_the_servers(const IndexKey *key, int nulls)
{
	union
	{
		IndexTupleData tuple;
		char		space[INDEX_KEY_TUPLE_BYTES];
		uint64		align;
	}			ours;
	pg_uuid_t	uuids[INDEX_KEY_COLUMNS];
	Datum		values[INDEX_KEY_COLUMNS];
	bool		isnull[INDEX_KEY_COLUMNS];
	Datum	   *stored = palloc0(key->last_attnum * sizeof(Datum));
	bool	   *stored_null = palloc0(key->last_attnum * sizeof(bool));
	uint64		entry[INDEX_ENTRY_WORDS];
	uint64		sum;
	Size		size;
	IndexTuple	server;
	bool		same;

	for (int i = 0; i < key->n_columns; i++)
	{
		const KeyColumn *column = &key->columns[i];

		isnull[i] = (nulls & (1 << i)) != 0;
		values[i] = sample_value(column, &uuids[i]);

		/* a column that is in the index twice has one value */
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
	pfree(stored);
	pfree(stored_null);
	return same;
}

static int
bits_for(uint64 count)
{
	int			n = 0;

	while (n < 32 && count > (UINT64CONST(1) << n))
		n++;
	return n;
}

const char *
index_key_init(IndexKey *key, Relation heap, Relation index,
			   const IndexInfo *info)
{
	const char *reason = check_kind(heap, index, info);
	int			key_bits = 0;

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
		key_bits += column->bytes * 8 + (column->nullable ? 1 : 0);
	}
	key->place_bits = INDEX_OFFSET_BITS +
		bits_for(RelationGetNumberOfBlocks(heap));
	key->n_words = (key_bits + key->place_bits + 63) / 64;
	if (key->n_words > INDEX_ENTRY_WORDS)
		return "its columns are too wide";
	key->n_key_words = (key_bits + 63) / 64;
	key->last_mask = ~UINT64CONST(0) << (64 * key->n_key_words - key_bits);

	for (int nulls = 0; nulls < (1 << key->n_columns); nulls++)
		init_form(key, nulls);
	for (int nulls = 0; nulls < (1 << key->n_columns); nulls++)
	{
		bool		possible = true;

		for (int i = 0; i < key->n_columns; i++)
		{
			if ((nulls & (1 << i)) && !key->columns[i].nullable)
				possible = false;
		}
		if (possible && !form_is_the_servers(key, nulls))
			return "its tuples have a form that is not known";
	}
	return NULL;
}
