/*-------------------------------------------------------------------------
 *
 * number.c
 *	  Encoders and decoders of integers, floats, booleans and OIDs, and
 *	  encoders of the binary form of many types.
 *
 * choose.c finds them by the types' functions.  Integers are converted by
 * bytes/digits.h.  Floats have fast ways here for the numbers that most
 * columns contain; each of these ways is proved to give the result of the
 * server's function, and all other numbers are left to that function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/transam.h"
#include "common/shortest_dec.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/inet.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "utils/xid8.h"

#include "bytes/digits.h"
#include "types/family.h"

/* ----------
 * Encoders of bool, integers, OIDs, transaction IDs and floats.
 *
 * Their texts are ASCII and contain no character that COPY escapes, so they
 * are written into the buffer without another pass.  None of them is longer
 * than VALUE_ROOM, which column_encode() has reserved.
 * ----------
 */

StaticAssertDecl(INTEGER_TEXT_ROOM <= VALUE_ROOM &&
				 DOUBLE_SHORTEST_DECIMAL_LEN + DIGITS_SLACK <= VALUE_ROOM,
				 "a number's text must fit in VALUE_ROOM");

static char *
encode_bool(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	*to = DatumGetBool(value) ? 't' : 'f';
	return to + 1;
}

/* also for int2, whose Datum is the same as that of an equal int4 */
static char *
encode_int4(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_int64(to, DatumGetInt32(value));
}

static char *
encode_int8(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_int64(to, DatumGetInt64(value));
}

/* for oid, xid and cid, which are unsigned and have 32 bits */
static char *
encode_uint4(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_uint64(to, DatumGetUInt32(value));
}

static char *
encode_xid8(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	FullTransactionId xid = DatumGetFullTransactionId(value);

	return put_uint64(to, U64FromFullTransactionId(xid));
}

/*
 * Write the number billionths / 10^9.  All short floats are converted to this
 * form, so that one function writes them.
 */
static inline char *
put_billionths(char *p, uint64 billionths)
{
	uint32		whole = (uint32) (billionths / 1000000000);
	uint32		fraction = (uint32) (billionths - whole * UINT64CONST(1000000000));

	p = put_uint64(p, whole);
	if (fraction != 0)
	{
		*p++ = '.';
		p = put_fraction_9(p, fraction);
	}
	return p;
}

/*
 * Write a number with few decimals and return the end of the text, or return
 * NULL if it has more.  Most numbers in columns of floats have few, and need
 * no search for their shortest text.
 *
 * Let m be the integer nearest to num * 10^k.  m / 10^k is a division of two
 * exact numbers, so its result is rounded correctly.  If this result is num,
 * the decimal number m / 10^k reads back as num.  It has at most DBL_DIG = 15
 * significant digits (6 for float4), and no two decimal numbers of so few
 * digits read back as the same number, so it is also the shortest text.  The
 * quotient of a float4 is first rounded to a double, and then to a float.  A
 * double has more than twice as many bits, so both roundings together give
 * the result of a single one.
 */
static pg_attribute_always_inline char *
put_scaled(char *p, double num, double power, bool is_float4)
{
	double		magnitude = fabs(num);
	int64		scaled = (int64) (magnitude * power + 0.5);
	double		quotient = (double) scaled / power;

	/* with excess precision the comparison would not prove anything */
	if (FLT_EVAL_METHOD != 0 ||
		(is_float4 ? (double) (float) quotient : quotient) != magnitude)
		return NULL;
	if (num < 0)
		*p++ = '-';
	return put_billionths(p, scaled * (uint64) (1e9 / power));
}

/*
 * Nine decimals below 10^6, and six below 10^9, are 15 digits in both cases.
 * Numbers below the lower limit are written with an exponent.  NaN is in
 * neither range.
 */
static inline char *
put_short_double(char *p, double num)
{
	double		magnitude = fabs(num);

	if (magnitude >= 1e-4 && magnitude < 1e6)
		return put_scaled(p, num, 1e9, false);
	if (magnitude >= 1e6 && magnitude < 1e9)
		return put_scaled(p, num, 1e6, false);
	return NULL;
}

/* Five decimals below 10, and two below 10^4, are FLT_DIG = 6 digits. */
static inline char *
put_short_float(char *p, float num)
{
	float		magnitude = fabsf(num);

	if (magnitude >= 1e-4f && magnitude < 10.0f)
		return put_scaled(p, num, 1e5, true);
	if (magnitude >= 10.0f && magnitude < 1e4f)
		return put_scaled(p, num, 1e2, true);
	return NULL;
}

/* If extra_float_digits > 0, float8out() writes the shortest exact text. */
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

/* ----------
 * Decoders of bool, integers, OIDs and transaction IDs.
 *
 * Only the integers that the output functions write are decoded: without
 * white space, plus sign and leading zeros.  The input functions accept
 * these, but in ways that depend on the type and the major version
 * (src/backend/utils/adt/int.c, int8.c, oid.c, xid.c, numutils.c).
 * ----------
 */

/* Any number of 19 digits fits into 64 bits, one of 20 may not. */
#define MAX_INTEGER_DIGITS	19

StaticAssertDecl(READ_DIGITS_SLACK <= FIELD_PADDING,
				 "digits are read beyond the padding");

/* Read a number that consists of digits, without leading zeros. */
static inline bool
read_unsigned(const char *text, Size len, uint64 max, uint64 *n)
{
	return len >= 1 && len <= MAX_INTEGER_DIGITS &&
		(text[0] != '0' || len == 1) &&
		read_uint_19(text, len, n) && *n <= max;
}

/* Read a number from -max - 1 to max. */
static inline bool
read_signed(const char *text, Size len, int64 max, int64 *n)
{
	uint64		magnitude;
	bool		negative = len > 0 && text[0] == '-';

	/* the input functions read "-0" as 0, too; "--1" is declined */
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

/* for int2 and int4; the variant is the largest value */
static bool
decode_int4(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	int64		n;

	if (!read_signed(text, len, decoder->variant, &n))
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

/* for oid, xid and cid, which are unsigned and have 32 bits */
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

/* ----------
 * Decoders of float4 and float8.
 *
 * The input functions (src/backend/utils/adt/float.c) call strtod() and
 * strtof(), which round correctly.  These decoders round correctly, too, for
 * numbers of up to 19 digits times a power of ten that is neither large nor
 * small.  They compute a quotient or product in integers of 128 bits, with
 * more bits than a float has.  Its last bit is set if any bits were lost, and
 * it is rounded once.  If the digits and the power of ten can both be
 * represented exactly as doubles, a single operation on these has the same
 * result in less time.
 * ----------
 */

/* With excess precision, results would be rounded twice. */
#if defined(HAVE_INT128) && (!defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD == 0)

#define HAVE_FLOAT_DECODERS

/*
 * The limits of digits and exponents that are decoded.  19 digits fit into 64
 * bits, and so does 5^27.  As 10^n is 5^n * 2^n, and 2^n only changes the
 * binary exponent, powers of 5 are enough.
 */
#define MAX_DIGITS		19
#define MAX_EXPONENT	27

/* Integers and powers of ten up to these limits are exact as doubles. */
#define MAX_EXACT_DIGITS	(UINT64CONST(1) << 53)
#define MAX_EXACT_EXPONENT	22

/* digits * 10 ^ exponent */
typedef struct DecimalNumber
{
	uint64		digits;
	int			exponent;
	bool		negative;
} DecimalNumber;

/* bits * 2 ^ exponent; the lowest bit is set if any bits were lost */
typedef struct BinaryNumber
{
	uint64		bits;
	int			exponent;
} BinaryNumber;

static const uint64 powers_of_5[MAX_EXPONENT + 1] = {
	UINT64CONST(1), UINT64CONST(5), UINT64CONST(25), UINT64CONST(125),
	UINT64CONST(625), UINT64CONST(3125), UINT64CONST(15625),
	UINT64CONST(78125), UINT64CONST(390625), UINT64CONST(1953125),
	UINT64CONST(9765625), UINT64CONST(48828125), UINT64CONST(244140625),
	UINT64CONST(1220703125), UINT64CONST(6103515625),
	UINT64CONST(30517578125), UINT64CONST(152587890625),
	UINT64CONST(762939453125), UINT64CONST(3814697265625),
	UINT64CONST(19073486328125), UINT64CONST(95367431640625),
	UINT64CONST(476837158203125), UINT64CONST(2384185791015625),
	UINT64CONST(11920928955078125), UINT64CONST(59604644775390625),
	UINT64CONST(298023223876953125), UINT64CONST(1490116119384765625),
	UINT64CONST(7450580596923828125)
};

static const double powers_of_10[MAX_EXACT_EXPONENT + 1] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
};

/*
 * Read digits, and append them to those of *number.  Returns the place after
 * them.  If *number has more than MAX_DIGITS digits then, its value is wrong,
 * which the caller finds out.
 */
static inline const char *
read_more_digits(const char *p, const char *end, uint64 *number)
{
	static const uint32 powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000,
	10000000, 100000000};
	int			n;

	do
	{
		n = Min(count_digits(p), end - p);
		if (n > 0)
			*number = *number * powers[n] +
				number_of_digits(digit_values(p) << (64 - 8 * n));
		p += n;
	} while (n == 8);
	return p;
}

/* Read the exponent after an "e", up to the end of the text. */
static bool
read_exponent(const char *p, const char *end, int *exponent)
{
	bool		negative = p < end && *p == '-';
	uint32		n;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (p == end || end - p > 4 || !read_uint_8(p, end - p, &n))
		return false;
	*exponent += negative ? -(int) n : (int) n;
	return true;
}

/*
 * Read a number with an optional fraction and exponent.  A point must have
 * digits on both sides.
 */
static inline bool
read_decimal(const char *p, Size len, DecimalNumber *number)
{
	const char *end = p + len;
	const char *start;
	uint64		digits = 0;
	Size		n_digits;

	number->negative = len > 0 && *p == '-';
	p += number->negative;
	number->exponent = 0;

	start = p;
	p = read_more_digits(p, end, &digits);
	n_digits = digits == 0 ? 0 : p - start;
	/* more digits may have overflowed, even if the first ones are zeros */
	if (p == start || p - start > MAX_DIGITS)
		return false;

	if (p < end && *p == '.')
	{
		const char *fraction = ++p;

		/* zeros before the first other digit only change the exponent */
		if (digits == 0)
		{
			while (p < end && *p == '0')
				p++;
		}
		start = p;
		p = read_more_digits(p, end, &digits);
		n_digits += p - start;
		if (p == fraction || p - fraction > 1000)
			return false;
		number->exponent = -(int) (p - fraction);
	}
	number->digits = digits;
	return n_digits <= MAX_DIGITS &&
		(p == end ||
		 (*p == 'e' && read_exponent(p + 1, end, &number->exponent)));
}

/* Return the number of zero bits above the highest bit that is set. */
static inline int
leading_zeros(uint64 bits)
{
	return 63 - pg_leftmost_one_pos64(bits);
}

/*
 * Compute digits / 5^n; "digits" must not be 0.  Both are shifted until their
 * highest bit is set, so that the quotient has 63 or 64 bits.  If there is a
 * remainder, the lowest bit is set ("sticky bit").  As a double has 53 bits,
 * this bit only decides in which direction a tie is rounded.
 */
static inline BinaryNumber
divide_by_power_of_5(uint64 digits, int n)
{
	int			digits_shift = leading_zeros(digits);
	int			divisor_shift = leading_zeros(powers_of_5[n]);
	uint128		dividend = (uint128) (digits << digits_shift) << 63;
	uint64		divisor = powers_of_5[n] << divisor_shift;
	BinaryNumber result;

	result.bits = (uint64) (dividend / divisor);
	result.exponent = divisor_shift - digits_shift - 63;
	if ((uint128) result.bits * divisor != dividend)
		result.bits |= 1;
	return result;
}

/*
 * Compute digits * 5^n; "digits" must not be 0.  If the product has more than
 * 64 bits, the highest 64 are kept, with a sticky bit as above.
 */
static inline BinaryNumber
multiply_by_power_of_5(uint64 digits, int n)
{
	uint128		product = (uint128) digits * powers_of_5[n];
	uint64		high = (uint64) (product >> 64);
	BinaryNumber result = {(uint64) product, 0};

	if (high != 0)
	{
		result.exponent = 64 - leading_zeros(high);
		result.bits = (uint64) (product >> result.exponent);
		if ((uint128) result.bits << result.exponent != product)
			result.bits |= 1;
	}
	return result;
}

/* Convert to a binary number; false if the exponent exceeds the limits. */
static inline bool
binary_number(const DecimalNumber *decimal, BinaryNumber *binary)
{
	int			exponent = decimal->exponent;

	if (exponent < -MAX_EXPONENT || exponent > MAX_EXPONENT)
		return false;
	if (exponent < 0)
		*binary = divide_by_power_of_5(decimal->digits, -exponent);
	else
		*binary = multiply_by_power_of_5(decimal->digits, exponent);
	binary->exponent += exponent;
	return true;
}

/* Return 2^n, which must not be near the limits of a double. */
static inline double
power_of_2(int n)
{
	uint64		bits = (uint64) (n + 1023) << 52;
	double		power;

	memcpy(&power, &bits, sizeof(power));
	return power;
}

/*
 * Convert the number without its sign to a double if this takes a single
 * operation on exact doubles, which rounds correctly.
 */
static inline bool
rounded_at_once(const DecimalNumber *decimal, double *result)
{
	int			exponent = decimal->digits == 0 ? 0 : decimal->exponent;

	if (decimal->digits > MAX_EXACT_DIGITS ||
		exponent < -MAX_EXACT_EXPONENT || exponent > MAX_EXACT_EXPONENT)
		return false;
	if (exponent < 0)
		*result = (double) decimal->digits / powers_of_10[-exponent];
	else
		*result = (double) decimal->digits * powers_of_10[exponent];
	return true;
}

/*
 * Is a double in the middle between two floats?  It may be there only because
 * it was rounded, and then rounding it again could give the wrong float.
 */
static inline bool
is_between_floats(double number)
{
	uint64		bits;

	/* a double has 29 bits more; the highest is half of a float's last bit */
	memcpy(&bits, &number, sizeof(bits));
	return (bits & UINT64CONST(0x1fffffff)) == UINT64CONST(0x10000000);
}

/* Read a number, and round it to a double once. */
static bool
decode_float8(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	DecimalNumber decimal;
	BinaryNumber binary;
	double		result;

	if (!read_decimal(text, len, &decimal))
		return false;
	if (!rounded_at_once(&decimal, &result))
	{
		if (!binary_number(&decimal, &binary))
			return false;
		/* the conversion rounds, the multiplication is exact */
		result = (double) binary.bits * power_of_2(binary.exponent);
	}
	*value = Float8GetDatum(decimal.negative ? -result : result);
	return true;
}

/*
 * Read a number, and round it to a float.  The first way rounds it to a
 * double before, which can only lead to another float if the double is in the
 * middle between two.  The second way rounds its bits once.
 */
static bool
decode_float4(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	DecimalNumber decimal;
	BinaryNumber binary;
	double		result;

	if (!read_decimal(text, len, &decimal))
		return false;
	if (!rounded_at_once(&decimal, &result) || is_between_floats(result))
	{
		if (!binary_number(&decimal, &binary))
			return false;
		result = (double) (float) binary.bits * power_of_2(binary.exponent);
	}
	/* float4in() raises errors for large numbers, and rounds denormals */
	if (result != 0 && (result > FLT_MAX || result < FLT_MIN))
		return false;
	*value = Float4GetDatum((float) (decimal.negative ? -result : result));
	return true;
}

#endif

/* ----------
 * Encoders of types whose binary form is nearly their stored form: numbers in
 * network byte order, or the stored bytes.
 *
 * They write the results of the types' send functions
 * (src/backend/utils/adt).  Some types have a binary encoder next to the
 * encoder of their text, in other files: texts, jsonb, numeric, network
 * addresses and arrays.
 * ----------
 */

static char *
send_bool(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	*to = DatumGetBool(value) ? 1 : 0;
	return to + 1;
}

static char *
send_char(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	*to = DatumGetChar(value);
	return to + 1;
}

static char *
send_int2(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_network_16(to, DatumGetInt16(value));
}

/*
 * for all types of 32 bits, as the Datum of a float4 contains the same bits
 * as that of an int4
 */
static char *
send_int4(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_network_32(to, DatumGetInt32(value));
}

static char *
send_int8(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_network_64(to, DatumGetInt64(value));
}

static char *
send_timetz(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const TimeTzADT *timetz = DatumGetTimeTzADTP(value);

	to = put_network_64(to, timetz->time);
	return put_network_32(to, timetz->zone);
}

static char *
send_interval(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const Interval *interval = DatumGetIntervalP(value);

	to = put_network_64(to, interval->time);
	to = put_network_32(to, interval->day);
	return put_network_32(to, interval->month);
}

/* for types whose bytes are sent unchanged; the variant is their number */
static char *
send_bytes(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return byte_buffer_append(out, to, DatumGetPointer(value),
							  encoder->variant);
}

static char *
send_bytea(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const char *bytes = DatumGetPointer(value);

	return byte_buffer_append(out, to, VARDATA_ANY(bytes),
							  VARSIZE_ANY_EXHDR(bytes));
}

/* ----------
 * The family's encoders and decoders, by the types' functions.
 * ----------
 */

const EncoderRow number_encoders[] = {
	{F_BOOLOUT, encode_bool,.never_quoted = true},
	{F_INT2OUT, encode_int4,.never_quoted = true},
	{F_INT4OUT, encode_int4,.never_quoted = true},
	{F_INT8OUT, encode_int8,.never_quoted = true},
	{F_OIDOUT, encode_uint4,.never_quoted = true},
	{F_XIDOUT, encode_uint4},
	{F_CIDOUT, encode_uint4},
	{F_XID8OUT, encode_xid8},
	{F_FLOAT4OUT, encode_float4,.never_quoted = true},
	{F_FLOAT8OUT, encode_float8,.never_quoted = true},
	{F_BOOLSEND, send_bool},
	{F_CHARSEND, send_char},
	{F_INT2SEND, send_int2},
	{F_INT4SEND, send_int4},
	{F_OIDSEND, send_int4},
	{F_XIDSEND, send_int4},
	{F_CIDSEND, send_int4},
	{F_DATE_SEND, send_int4},
	{F_FLOAT4SEND, send_int4},
	{F_INT8SEND, send_int8},
	{F_XID8SEND, send_int8},
	{F_TIME_SEND, send_int8},
	{F_TIMESTAMP_SEND, send_int8},
	{F_TIMESTAMPTZ_SEND, send_int8},
	{F_FLOAT8SEND, send_int8},
	{F_TIMETZ_SEND, send_timetz},
	{F_INTERVAL_SEND, send_interval},
	{F_UUID_SEND, send_bytes, UUID_LEN},
	{F_MACADDR_SEND, send_bytes, sizeof(macaddr)},
	{F_MACADDR8_SEND, send_bytes, sizeof(macaddr8)},
	{F_BYTEASEND, send_bytea},
	{InvalidOid}
};

const DecoderRow number_decoders[] = {
	{F_BOOLIN, decode_bool},
	{F_INT2IN, decode_int4,.variant = PG_INT16_MAX},
	{F_INT4IN, decode_int4,.variant = PG_INT32_MAX},
	{F_INT8IN, decode_int8},
	{F_OIDIN, decode_uint4},
	{F_XIDIN, decode_uint4},
	{F_CIDIN, decode_uint4},
	{F_XID8IN, decode_xid8},
#ifdef HAVE_FLOAT_DECODERS
	{F_FLOAT4IN, decode_float4},
	{F_FLOAT8IN, decode_float8},
#endif
	{InvalidOid}
};
