/*-------------------------------------------------------------------------
 *
 * encode_number.c
 *	  Encoders of bool, integers, object and transaction ids, and floats.
 *
 * Their texts are plain ASCII without a character that COPY escapes, so they
 * are written straight into the block.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/transam.h"
#include "common/shortest_dec.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/xid8.h"

#include "bytes/digits.h"
#include "encode/encode_number.h"

StaticAssertDecl(INTEGER_TEXT_ROOM <= VALUE_ROOM &&
				 DOUBLE_SHORTEST_DECIMAL_LEN + DIGITS_SLACK <= VALUE_ROOM,
				 "a number's text must fit in VALUE_ROOM");

static char *
encode_bool(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	*to = DatumGetBool(value) ? 't' : 'f';
	return to + 1;
}

static char *
encode_int2(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_int32(to, DatumGetInt16(value));
}

static char *
encode_int4(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_int32(to, DatumGetInt32(value));
}

static char *
encode_int8(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_int64(to, DatumGetInt64(value));
}

/* oid, xid and cid: unsigned, 32 bits */
static char *
encode_uint4(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_uint32(to, DatumGetUInt32(value));
}

static char *
encode_xid8(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	FullTransactionId xid = DatumGetFullTransactionId(value);

	return put_uint64(to, U64FromFullTransactionId(xid));
}

/* Excess precision would spoil the comparisons below. */
#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD == 0
#define HAVE_EXACT_DIVISION	1
#else
#define HAVE_EXACT_DIVISION	0
#endif

/* Write billionths / 10^9. */
static inline char *
put_billionths(char *p, uint64 billionths)
{
	uint32		whole = (uint32) (billionths / 1000000000);
	uint32		fraction = (uint32) (billionths - whole * UINT64CONST(1000000000));

	p = put_uint32(p, whole);
	if (fraction != 0)
	{
		*p++ = '.';
		p = put_fraction_9(p, fraction);
	}
	return p;
}

/*
 * Numbers with few decimals are most of what columns of floats hold, and need
 * no search for their shortest text.  Return the end of the text, or NULL if
 * the number is not one of these.
 *
 * Be m the integer nearest to num * 10^k.  If m / 10^k, a division of two
 * exact numbers and so correctly rounded, gives num again, then the decimal
 * number m / 10^k reads back as num.  It has at most DBL_DIG = 15 significant
 * digits (6 for float4), and no two decimal numbers of so few digits read
 * back as the same number: it is the shortest text too.  The lower limit
 * keeps out what is written with an exponent.
 */
static inline char *
put_short_double(char *p, double num)
{
	double		magnitude = fabs(num);
	int64		scaled;
	uint64		billionths;

	if (!HAVE_EXACT_DIVISION)
		return NULL;
	if (magnitude >= 1e-4 && magnitude < 1e6)
	{
		scaled = (int64) (magnitude * 1e9 + 0.5);
		if ((double) scaled / 1e9 != magnitude)
			return NULL;
		billionths = scaled;
	}
	else if (magnitude >= 1e6 && magnitude < 1e9)
	{
		scaled = (int64) (magnitude * 1e6 + 0.5);
		if ((double) scaled / 1e6 != magnitude)
			return NULL;
		billionths = scaled * 1000;
	}
	else
		return NULL;			/* NaN too */

	if (num < 0)
		*p++ = '-';
	return put_billionths(p, billionths);
}

static inline char *
put_short_float(char *p, float num)
{
	float		magnitude = fabsf(num);
	int32		scaled;
	uint64		billionths;

	if (!HAVE_EXACT_DIVISION)
		return NULL;
	if (magnitude >= 1e-4f && magnitude < 10.0f)
	{
		scaled = (int32) (magnitude * 1e5f + 0.5f);
		if ((float) scaled / 1e5f != magnitude)
			return NULL;
		billionths = scaled * UINT64CONST(10000);
	}
	else if (magnitude >= 10.0f && magnitude < 1e4f)
	{
		scaled = (int32) (magnitude * 1e2f + 0.5f);
		if ((float) scaled / 1e2f != magnitude)
			return NULL;
		billionths = scaled * UINT64CONST(10000000);
	}
	else
		return NULL;

	if (num < 0)
		*p++ = '-';
	return put_billionths(p, billionths);
}

/* extra_float_digits > 0: the shortest text that reads back as the value */
static char *
encode_float8(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	double		num = DatumGetFloat8(value);
	char	   *end;

	if (unlikely(extra_float_digits <= 0))
		return encode_by_type_function(encoder, value, out, to);
	end = put_short_double(to, num);
	return end != NULL ? end : to + double_to_shortest_decimal_bufn(num, to);
}

static char *
encode_float4(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	float		num = DatumGetFloat4(value);
	char	   *end;

	if (unlikely(extra_float_digits <= 0))
		return encode_by_type_function(encoder, value, out, to);
	end = put_short_float(to, num);
	return end != NULL ? end : to + float_to_shortest_decimal_bufn(num, to);
}

EncodeFunction
number_encoder(Oid type_function)
{
	switch (type_function)
	{
		case F_BOOLOUT:
			return encode_bool;
		case F_INT2OUT:
			return encode_int2;
		case F_INT4OUT:
			return encode_int4;
		case F_INT8OUT:
			return encode_int8;
		case F_OIDOUT:
		case F_XIDOUT:
		case F_CIDOUT:
			return encode_uint4;
		case F_XID8OUT:
			return encode_xid8;
		case F_FLOAT4OUT:
			return encode_float4;
		case F_FLOAT8OUT:
			return encode_float8;
		default:
			return NULL;
	}
}
