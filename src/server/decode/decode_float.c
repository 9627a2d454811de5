/*-------------------------------------------------------------------------
 *
 * decode_float.c
 *	  Decoders of float4 and float8.
 *
 * The input functions (src/backend/utils/adt/float.c) call strtod() and
 * strtof(), which round correctly.  So does this, for numbers of up to 19
 * digits times a power of ten that is neither large nor small, by arithmetic
 * in integers of 128 bits: a quotient or product of more bits than a float
 * has, whose last bit tells whether there was more of it, is rounded once.
 * Where both the digits and the power of ten are doubles, exactly, one
 * operation on these does the same in less time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "port/pg_bitutils.h"
#include "utils/fmgroids.h"

#include "bytes/read_digits.h"
#include "decode/decode_float.h"

/* Excess precision would round twice. */
#if defined(HAVE_INT128) && (!defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD == 0)

#define MAX_DIGITS		19
#define MAX_EXPONENT	27

/* Integers up to this one are doubles, and so are these powers of ten. */
#define MAX_EXACT_DIGITS	(UINT64CONST(1) << 53)
#define MAX_EXACT_EXPONENT	22

/* digits * 10 ^ exponent */
typedef struct DecimalNumber
{
	uint64		digits;
	int			exponent;
	bool		negative;
} DecimalNumber;

/* bits * 2 ^ exponent; the lowest bit is set if anything is left out */
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
 * Read digits, and put them behind those that *number has.  Returns the place
 * behind them.  Of more than MAX_DIGITS the number is wrong.
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

/* Read what follows an "e"; up to the end of the text. */
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
 * Read digits, among them perhaps a point, and an exponent.  Digits must
 * stand on both sides of a point.
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
	if (p == start || p - start > MAX_DIGITS)
		return false;

	if (p < end && *p == '.')
	{
		const char *fraction = ++p;

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

/* The bits that are shifted to the left until the highest is set. */
static inline int
leading_zeros(uint64 bits)
{
	return 63 - pg_leftmost_one_pos64(bits);
}

/* digits / 5^n; digits are not 0.  The quotient has 63 or 64 bits. */
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

/* digits * 5^n; digits are not 0. */
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

/* 2^n, not near the ends of what a double can be */
static inline double
power_of_2(int n)
{
	uint64		bits = (uint64) (n + 1023) << 52;
	double		power;

	memcpy(&power, &bits, sizeof(power));
	return power;
}

/* The number without its sign, if one operation rounds it to a double. */
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
 * Does a double lie in the middle between two floats?  Then it may have come
 * there by rounding, and must not be rounded again.
 */
static inline bool
is_between_floats(double number)
{
	uint64		bits;

	memcpy(&bits, &number, sizeof(bits));
	return (bits & UINT64CONST(0x1fffffff)) == UINT64CONST(0x10000000);
}

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
		/* the conversion rounds, the product is exact */
		result = (double) binary.bits * power_of_2(binary.exponent);
	}
	*value = Float8GetDatum(decimal.negative ? -result : result);
	return true;
}

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
	if (result != 0 && (result > FLT_MAX || result < FLT_MIN))
		return false;
	*value = Float4GetDatum((float) (decimal.negative ? -result : result));
	return true;
}

DecodeFunction
float_decoder(Oid input_function, ColumnDecoder *decoder)
{
	switch (input_function)
	{
		case F_FLOAT4IN:
			return decode_float4;
		case F_FLOAT8IN:
			return decode_float8;
		default:
			return NULL;
	}
}

#else

DecodeFunction
float_decoder(Oid input_function, ColumnDecoder *decoder)
{
	return NULL;
}

#endif
