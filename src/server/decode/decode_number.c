/*-------------------------------------------------------------------------
 *
 * decode_number.c
 *	  Decoders of bool, integers, and object and transaction ids.
 *
 * Integers are read as the output functions write them: without white space,
 * plus sign and leading zeros, all of which their input functions take in
 * ways that differ by type and major (src/backend/utils/adt/int.c, int8.c,
 * oid.c, xid.c, numutils.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "utils/fmgroids.h"
#include "utils/xid8.h"

#include "bytes/read_digits.h"
#include "decode/decode_number.h"

#define MAX_INTEGER_DIGITS	19

StaticAssertDecl(READ_DIGITS_SLACK <= FIELD_PADDING,
				 "digits are read beyond the padding");

/* Read digits alone, and no zero before others. */
static inline bool
read_unsigned(const char *text, Size len, uint64 max, uint64 *n)
{
	return len >= 1 && len <= MAX_INTEGER_DIGITS &&
		(text[0] != '0' || len == 1) &&
		read_uint_19(text, len, n) && *n <= max;
}

/* Read a number of -max - 1 to max. */
static inline bool
read_signed(const char *text, Size len, int64 max, int64 *n)
{
	uint64		magnitude;
	bool		negative = len > 0 && text[0] == '-';

	if (!read_unsigned(text + negative, len - negative,
					   (uint64) max + negative, &magnitude))
		return false;
	*n = (int64) (negative ? (uint64) 0 - magnitude : magnitude);
	return true;
}

static bool
decode_bool(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	*value = BoolGetDatum(text[0] == 't');
	return len == 1 && (text[0] == 't' || text[0] == 'f');
}

static bool
decode_int2(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	int64		n;

	if (!read_signed(text, len, PG_INT16_MAX, &n))
		return false;
	*value = Int16GetDatum((int16) n);
	return true;
}

static bool
decode_int4(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	int64		n;

	if (!read_signed(text, len, PG_INT32_MAX, &n))
		return false;
	*value = Int32GetDatum((int32) n);
	return true;
}

static bool
decode_int8(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	int64		n;

	if (!read_signed(text, len, PG_INT64_MAX, &n))
		return false;
	*value = Int64GetDatum(n);
	return true;
}

/* oid, xid and cid: unsigned, 32 bits */
static bool
decode_uint4(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	uint64		n;

	if (!read_unsigned(text, len, PG_UINT32_MAX, &n))
		return false;
	*value = UInt32GetDatum((uint32) n);
	return true;
}

static bool
decode_xid8(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	uint64		n;

	if (!read_unsigned(text, len, PG_UINT64_MAX, &n))
		return false;
	*value = FullTransactionIdGetDatum(FullTransactionIdFromU64(n));
	return true;
}

DecodeFunction
number_decoder(Oid input_function, ColumnDecoder *decoder)
{
	switch (input_function)
	{
		case F_BOOLIN:
			return decode_bool;
		case F_INT2IN:
			return decode_int2;
		case F_INT4IN:
			return decode_int4;
		case F_INT8IN:
			return decode_int8;
		case F_OIDIN:
		case F_XIDIN:
		case F_CIDIN:
			return decode_uint4;
		case F_XID8IN:
			return decode_xid8;
		default:
			return NULL;
	}
}
