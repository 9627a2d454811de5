/*-------------------------------------------------------------------------
 *
 * read_digits.h
 *	  Reads decimal digits.
 *
 * Eight digits are read in one register: pairs are made of them first, then
 * fours of the pairs, by multiplications that serve all lanes.  Fewer digits
 * are shifted to its end, so that zeros stand before them, which costs the
 * same for each length of the number.
 *
 * Each read_...() returns false if one of the bytes is not a digit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_READ_DIGITS_H
#define PARDUMP_READ_DIGITS_H

#include "postgres.h"

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

/* Bytes that may be read behind the digits, though not used. */
#define READ_DIGITS_SLACK	8

static inline bool
is_digit(char c)
{
	return (unsigned char) (c - '0') <= 9;
}

/* The values of eight characters, a byte each, the first one lowest. */
static inline uint64
digit_values(const char *p)
{
	uint64		word;

	memcpy(&word, p, 8);
#ifdef WORDS_BIGENDIAN
	word = pg_bswap64(word);
#endif
	return word ^ UINT64CONST(0x3030303030303030);
}

/*
 * The high bit of the first byte that is not a digit, and perhaps of later
 * ones.
 */
static inline uint64
non_digits(uint64 values)
{
	/* what carries from a byte comes of no digit */
	return ((values + UINT64CONST(0x7676767676767676)) | values) &
		UINT64CONST(0x8080808080808080);
}

static inline bool
are_digits(uint64 values)
{
	return non_digits(values) == 0;
}

/* How many digits there are at p before another byte, up to eight. */
static inline int
count_digits(const char *p)
{
	uint64		others = non_digits(digit_values(p));

	return others == 0 ? 8 : pg_rightmost_one_pos64(others) / 8;
}

/* The number that eight digits make. */
static inline uint32
number_of_digits(uint64 values)
{
	uint64		mask = UINT64CONST(0x000000ff000000ff);

	values = values * 10 + (values >> 8);
	return (uint32) (((values & mask) * UINT64CONST(0x000f424000000064) +
					  (values >> 16 & mask) * UINT64CONST(0x0000271000000001)) >> 32);
}

static inline bool
read_8_digits(const char *p, uint32 *n)
{
	uint64		values = digit_values(p);

	*n = number_of_digits(values);
	return are_digits(values);
}

/* 1 to 8 digits.  Reads up to READ_DIGITS_SLACK bytes behind them. */
static inline bool
read_uint_8(const char *p, Size len, uint32 *n)
{
	uint64		values = digit_values(p) << (64 - 8 * len);

	*n = number_of_digits(values);
	return are_digits(values);
}

/* 1 to 19 digits.  Reads up to READ_DIGITS_SLACK bytes behind them. */
static inline bool
read_uint_19(const char *p, Size len, uint64 *n)
{
	Size		first = (len - 1) % 8 + 1;
	uint32		part;

	if (!read_uint_8(p, first, &part))
		return false;
	*n = part;
	for (p += first, len -= first; len > 0; p += 8, len -= 8)
	{
		if (!read_8_digits(p, &part))
			return false;
		*n = *n * 100000000 + part;
	}
	return true;
}

static inline bool
read_2_digits(const char *p, uint32 *n)
{
	*n = 10 * (p[0] - '0') + (p[1] - '0');
	return is_digit(p[0]) && is_digit(p[1]);
}

static inline bool
read_4_digits(const char *p, uint32 *n)
{
	uint32		low;
	bool		are_digits = read_2_digits(p, n) && read_2_digits(p + 2, &low);

	if (are_digits)
		*n = 100 * *n + low;
	return are_digits;
}

#endif							/* PARDUMP_READ_DIGITS_H */
