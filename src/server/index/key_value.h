/*-------------------------------------------------------------------------
 *
 * key_value.h
 *	  The columns of an index key, and the conversion of their values to bits
 *	  that sort in the same order.
 *
 * index_key.c and text_key.c use these functions.  Each conversion has an
 * inverse, as index tuples are made from the bits alone.  Values that are
 * equal to other values for the server are not converted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_KEY_VALUE_H
#define PARDUMP_KEY_VALUE_H

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "port/pg_bswap.h"
#include "storage/itemptr.h"
#include "utils/float.h"

#define INDEX_KEY_COLUMNS 4

/* An upper limit for the size of an index tuple without a posting list. */
#define KEY_TUPLE_BYTES \
	(32 + INDEX_KEY_COLUMNS * MAXALIGN(TOAST_INDEX_TARGET + 8))

/* A place is block << INDEX_OFFSET_BITS | offset. */
#define INDEX_OFFSET_BITS (BLCKSZ <= 8192 ? 9 : 11)

typedef enum KeyKind
{
	KEY_BOOL,
	KEY_CHAR,					/* "char" */
	KEY_INT2,
	KEY_INT4,					/* also date */
	KEY_INT8,					/* also time, timestamp and timestamptz */
	KEY_OID,
	KEY_FLOAT4,
	KEY_FLOAT8,
	KEY_UUID,
	KEY_ENUM,
	KEY_TEXT,					/* also varchar */
	KEY_BPCHAR
} KeyKind;

/* A value of an enum type, and its position in the order of the type. */
typedef struct EnumRank
{
	Oid			value;
	uint32		rank;
} EnumRank;

typedef struct KeyColumn
{
	AttrNumber	attnum;			/* of the table */
	KeyKind		kind;
	int			bytes;			/* of a value; -1 for texts */
	char		align;			/* as attalign */
	bool		nullable;		/* a bit says whether the value is NULL */
	bool		nulls_first;
	bool		descending;
	int			n_ranks;		/* of an enum type */
	EnumRank   *ranks;			/* sorted by value */
	Oid		   *by_rank;		/* values by rank */
} KeyColumn;

/* ----------
 * Places, and the sum with which an index is compared with its table
 * ----------
 */

/* Convert the bits of a place to a TID. */
static inline void
key_place(uint64 bits, ItemPointer place)
{
	ItemPointerSet(place, (BlockNumber) (bits >> INDEX_OFFSET_BITS),
				   (OffsetNumber) (bits & ((1 << INDEX_OFFSET_BITS) - 1)));
}

/*
 * Add a value to the sum of a key.  Unlike in an addition, the order of the
 * values matters, so exchanged columns lead to another sum.
 */
static inline uint64
key_sum_mix(uint64 sum, uint64 value)
{
	sum = (sum ^ value) * UINT64CONST(0x9E3779B97F4A7C15);
	return sum ^ (sum >> 32);
}

/* Add a NULL to a sum: no value adds two words like these. */
static inline uint64
key_sum_null(uint64 sum, int column)
{
	return key_sum_mix(key_sum_mix(sum, ~UINT64CONST(0) - column),
					   UINT64CONST(0xA0761D6478BD642F));
}

/* ----------
 * Values
 * ----------
 */

/* A comparison function for qsort() and bsearch(), by value. */
static inline int
key_compare_ranks(const void *a, const void *b)
{
	Oid			x = ((const EnumRank *) a)->value;
	Oid			y = ((const EnumRank *) b)->value;

	return x < y ? -1 : x > y;
}

/*
 * Return the bits of 'NaN'::float4 or 'NaN'::float8.  No other NaN is
 * converted, as all of them are equal to each other for the server.
 */
static inline uint64
key_nan_bits(KeyKind kind)
{
	float4		nan4 = get_float4_nan();
	float8		nan8 = get_float8_nan();
	uint32		bits4;
	uint64		bits8;

	memcpy(&bits4, &nan4, sizeof(bits4));
	memcpy(&bits8, &nan8, sizeof(bits8));
	return kind == KEY_FLOAT4 ? bits4 : bits8;
}

/* Return the bytes of a value that is passed by value, as a number. */
static inline uint64
key_datum_bytes(const KeyColumn *column, Datum value)
{
	uint64		bytes = (uint64) value;

	if (column->bytes < 8)
		bytes &= (UINT64CONST(1) << 8 * column->bytes) - 1;
	return bytes;
}

/*
 * Convert a value of up to 8 bytes to bits that sort in the same order.
 * Returns false if it cannot be converted.  key_decode_value() is the
 * inverse.
 *
 * Inverting the sign bit of an integer makes it sort as an unsigned number.
 * The same is true of positive floats.  Of negative ones all bits are
 * inverted, as their bits have the opposite order.
 */
static inline bool
key_encode_value(const KeyColumn *column, uint64 bytes, uint64 *bits)
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
			/* -0.0 is equal to 0.0, and each NaN to all others */
			if (bytes == sign4 ||
				((bytes & ~sign4) > UINT64CONST(0x7F800000) &&
				 bytes != key_nan_bits(KEY_FLOAT4)))
				return false;
			*bits = (bytes & sign4) ? ~bytes & UINT64CONST(0xFFFFFFFF)
				: bytes | sign4;
			return true;
		case KEY_FLOAT8:
			if (bytes == sign8 ||
				((bytes & ~sign8) > UINT64CONST(0x7FF0000000000000) &&
				 bytes != key_nan_bits(KEY_FLOAT8)))
				return false;
			*bits = (bytes & sign8) ? ~bytes : bytes | sign8;
			return true;
		case KEY_ENUM:
			{
				EnumRank	wanted = {(Oid) bytes, 0};
				EnumRank   *found = bsearch(&wanted, column->ranks,
											column->n_ranks, sizeof(EnumRank),
											key_compare_ranks);

				if (found == NULL)
					return false;
				*bits = found->rank;
				return true;
			}
		case KEY_UUID:
		case KEY_TEXT:
		case KEY_BPCHAR:
			break;
	}
	return false;
}

/* The inverse of key_encode_value(). */
static inline uint64
key_decode_value(const KeyColumn *column, uint64 bits)
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
		case KEY_TEXT:
		case KEY_BPCHAR:
			break;
	}
	return bits;
}

/* Invert all bits of a value if its column is descending. */
static inline uint64
key_turn_bits(const KeyColumn *column, uint64 bits)
{
	int			n = Min(column->bytes, 8) * 8;

	return column->descending ? ~bits & (~UINT64CONST(0) >> (64 - n)) : bits;
}

/* Write a number as a value of n bytes: 1, 2, 4 or 8. */
static inline void
key_write_bytes(char *to, uint64 bytes, int n)
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

/* The inverse of key_write_bytes(). */
static inline uint64
key_read_bytes(const char *from, int n)
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

#endif							/* PARDUMP_KEY_VALUE_H */
