/*-------------------------------------------------------------------------
 *
 * digits.h
 *	  Converts integers to decimal digits, bytes to hexadecimal digits, and
 *	  back.
 *
 * The encoders and decoders in types/ inline these functions: those for
 * decimal digits in numbers, dates, times, network addresses, the subscripts
 * of arrays and JSON, those for hexadecimal digits in bytea, uuid, network
 * and MAC addresses, and the escapes of JSON.  The server's own functions
 * (src/backend/utils/adt/numutils.c) convert one or two digits at a time;
 * these convert 8 decimal digits or 16 hexadecimal digits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DIGITS_H
#define PARDUMP_DIGITS_H

#include "bytes/byte_block.h"

/* ----------
 * Reads decimal digits.
 *
 * Eight digits are converted in one register.  The first multiplication makes
 * four numbers below 100 of them, and two more multiplications add these up.
 * If there are fewer digits, they are shifted to the end of the register, so
 * that zeros precede them.  The time is therefore the same for each length of
 * the number, and no branch on the length is mispredicted.
 *
 * Each read_...() returns false if one of the bytes is not a digit.
 * ----------
 */

/*
 * The number of bytes after the digits that may be read, though their values
 * are not used.  The caller must make sure that they can be read.
 */
#define READ_DIGITS_SLACK	8

static inline bool
is_digit(char c)
{
	return (unsigned char) (c - '0') <= 9;
}

/*
 * Return the values of eight characters in a word, the first one in the
 * lowest byte.  If a character is not a digit, its value is above 9.
 */
static inline uint64
digit_values(const char *p)
{
	return load_word(p) ^ UINT64CONST(0x3030303030303030);
}

/*
 * Set the high bit of the first byte that is not a digit.  The high bits of
 * later bytes may be set or not, whether these are digits or not.
 */
static inline uint64
non_digits(uint64 values)
{
	/* no digit causes a carry, so the first flag is always right */
	return ((values + UINT64CONST(0x7676767676767676)) | values) &
		UINT64CONST(0x8080808080808080);
}

static inline bool
are_digits(uint64 values)
{
	return non_digits(values) == 0;
}

/* Count the digits at p, up to eight, before the first other byte. */
static inline int
count_digits(const char *p)
{
	uint64		others = non_digits(digit_values(p));

	return others == 0 ? 8 : pg_rightmost_one_pos64(others) / 8;
}

/* Return the number that consists of eight digits. */
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

/* Read 1 to 8 digits, and up to READ_DIGITS_SLACK bytes after them. */
static inline bool
read_uint_8(const char *p, Size len, uint32 *n)
{
	uint64		values = digit_values(p) << (64 - 8 * len);

	*n = number_of_digits(values);
	return are_digits(values);
}

/*
 * Read 1 to 19 digits, and up to READ_DIGITS_SLACK bytes after them.  More
 * digits might not fit into 64 bits.
 */
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

/*
 * Read 1 to max_digits digits, up to the first other byte, and move *p to the
 * place after them.  Does not read beyond "end".
 */
static inline bool
read_digits(const char **p, const char *end, int max_digits, int64 *n)
{
	const char *start = *p;

	*n = 0;
	while (*p < end && is_digit(**p) && *p - start < max_digits)
		*n = *n * 10 + (*(*p)++ - '0');
	return *p > start;
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

/* ----------
 * Writes decimal digits in place.
 *
 * Each put_...() writes at "p" and returns the end of what it wrote, without
 * a terminating zero.  The functions that drop leading or trailing zeros
 * store eight bytes at once, so they need room for DIGITS_SLACK bytes beyond
 * their text.
 *
 * Eight digits are made in one register: one number below 10^8 becomes two
 * below 10^4, four below 10^2, eight below 10.  In each step one
 * multiplication splits all numbers.  Leading zeros are then shifted out.
 * This takes the same time for each length of the number, while a branch on
 * the length would be mispredicted in most columns.  The length is computed
 * from the number and not from its digits, so that the processor knows the
 * place of the next value before the digits are made.
 * ----------
 */

/* The bytes after their text that put_uint...() may overwrite. */
#define DIGITS_SLACK		8

/* Room for any integer of 64 bits with sign and slack. */
#define INTEGER_TEXT_ROOM	(20 + DIGITS_SLACK)

static const char digit_pairs[200] =
"00010203040506070809" "10111213141516171819"
"20212223242526272829" "30313233343536373839"
"40414243444546474849" "50515253545556575859"
"60616263646566676869" "70717273747576777879"
"80818283848586878889" "90919293949596979899";

/* Write a number below 100 with two digits. */
static inline char *
put_2_digits(char *p, uint32 n)
{
	memcpy(p, digit_pairs + 2 * n, 2);
	return p + 2;
}

/* Write a number below 10,000 with four digits. */
static inline char *
put_4_digits(char *p, uint32 n)
{
	uint32		high = n / 100;

	memcpy(p, digit_pairs + 2 * high, 2);
	memcpy(p + 2, digit_pairs + 2 * (n - 100 * high), 2);
	return p + 4;
}

/*
 * Return the number of digits of a number below 10^8; of 0 it is 1.  Numbers
 * with the same highest bit have at most two lengths.  A table has a step for
 * each highest bit: the high word of the sum of number and step is the
 * length.  It is the longer one only if the addition carries, which it does
 * from the power of ten on.  (Kendall Willets; in D. Lemire, "Computing the
 * number of digits of an integer even faster", 2021.)
 */
static inline int
decimal_length(uint32 n)
{
#define STEP(digits, power) (((uint64) (digits) << 32) - (power))
#define STEPS_3(digits, power) \
	STEP(digits, power), STEP(digits, power), STEP(digits, power)
#define STEPS_4(digits, power) STEPS_3(digits, power), STEP(digits, power)
	static const uint64 steps[27] = {	/* by the highest bit */
		STEPS_4(2, 10), STEPS_3(3, 100), STEPS_3(4, 1000), STEPS_4(5, 10000),
		STEPS_3(6, 100000), STEPS_3(7, 1000000), STEPS_4(8, 10000000),
		STEPS_3(9, 100000000)
	};

	Assert(n < 100000000);
	return (int) ((n + steps[pg_leftmost_one_pos32(n | 1)]) >> 32);
#undef STEPS_4
#undef STEPS_3
#undef STEP
}

/*
 * Return the eight digits of a number below 10^8 in a word, the first one in
 * the lowest byte.  n * 10486 >> 20 is n / 100 for each n below 10^4, and
 * n * 103 >> 10 is n / 10 for each n below 100.
 */
static inline uint64
eight_digits(uint32 n)
{
	uint32		high = n / 10000;
	uint64		fours = high | (uint64) (n - 10000 * high) << 32;
	uint64		hundreds = (fours * 10486) >> 20 & UINT64CONST(0x0000007f0000007f);
	uint64		twos = hundreds | (fours - 100 * hundreds) << 16;
	uint64		tens = (twos * 103) >> 10 & UINT64CONST(0x000f000f000f000f);

	return tens | (twos - 10 * tens) << 8;
}

#define EIGHT_ZEROS			UINT64CONST(0x3030303030303030)

/* Write a number below 10^8 with eight digits. */
static inline char *
put_8_digits(char *p, uint32 n)
{
	store_word(p, eight_digits(n) | EIGHT_ZEROS);
	return p + 8;
}

/* Write a number below 10^8 without leading zeros. */
static inline char *
put_uint_8(char *p, uint32 n)
{
	int			len = decimal_length(n);

	store_word(p, (eight_digits(n) | EIGHT_ZEROS) >> (64 - 8 * len));
	return p + len;
}

/*
 * Write the digits that n / 10^8 has after the decimal point, without
 * trailing zeros.  0 < n < 10^8.
 */
static inline char *
put_fraction_8(char *p, uint32 n)
{
	uint64		digits = eight_digits(n);

	store_word(p, digits | EIGHT_ZEROS);
	return p + pg_leftmost_one_pos64(digits) / 8 + 1;
}

/* The same for n / 10^9, 0 < n < 10^9. */
static inline char *
put_fraction_9(char *p, uint32 n)
{
	uint32		last = n % 10;

	n /= 10;
	if (last == 0)
		return put_fraction_8(p, n);
	p = put_8_digits(p, n);
	*p++ = '0' + last;
	return p;
}

static inline char *
put_uint64(char *p, uint64 n)
{
	uint64		high;

	if (likely(n < 100000000))
		return put_uint_8(p, (uint32) n);
	high = n / 100000000;
	if (high < 100000000)
		p = put_uint_8(p, (uint32) high);
	else
	{
		p = put_uint_8(p, (uint32) (high / 100000000));
		p = put_8_digits(p, (uint32) (high % 100000000));
	}
	return put_8_digits(p, (uint32) (n - 100000000 * high));
}

static inline char *
put_int64(char *p, int64 n)
{
	if (n >= 0)
		return put_uint64(p, (uint64) n);
	*p++ = '-';
	return put_uint64(p, (uint64) 0 - (uint64) n);
}

/* ----------
 * Writes bytes as lower-case hexadecimal digits in place, up to 16 bytes at a
 * time.
 * ----------
 */

static const char hex_digits[16] = "0123456789abcdef";

static inline char *
put_hex_byte(char *p, uint8 byte)
{
	p[0] = hex_digits[byte >> 4];
	p[1] = hex_digits[byte & 15];
	return p + 2;
}

/*
 * Return the digits of 16 values below 16.  A digit is its value plus '0';
 * for values above 9, also plus the characters between '9' and 'a'.
 */
static inline ByteBlock
hex_from_nibbles(ByteBlock nibbles)
{
	return nibbles + '0' + (~byte_block_le(nibbles, 9) & ('a' - '9' - 1));
}

/* Write 16 bytes as 32 digits. */
static inline char *
put_hex_16(char *p, const uint8 *bytes)
{
	ByteBlock	block = byte_block_load((const char *) bytes);
	ByteBlock	high = hex_from_nibbles(block >> 4);
	ByteBlock	low = hex_from_nibbles(block & 0x0f);

	/* interleave the digits: each byte's high digit comes first */
#if defined(BYTE_BLOCK_SSE2)
	_mm_storeu_si128((__m128i *) p,
					 _mm_unpacklo_epi8((__m128i) high, (__m128i) low));
	_mm_storeu_si128((__m128i *) (p + BYTE_BLOCK_SIZE),
					 _mm_unpackhi_epi8((__m128i) high, (__m128i) low));
#elif defined(BYTE_BLOCK_NEON)
	vst1q_u8((uint8 *) p, vzip1q_u8((uint8x16_t) high, (uint8x16_t) low));
	vst1q_u8((uint8 *) p + BYTE_BLOCK_SIZE,
			 vzip2q_u8((uint8x16_t) high, (uint8x16_t) low));
#else
	for (int i = 0; i < BYTE_BLOCK_SIZE; i++)
	{
		p[2 * i] = high[i];
		p[2 * i + 1] = low[i];
	}
#endif
	return p + 2 * BYTE_BLOCK_SIZE;
}

/* ----------
 * Reads bytes from hexadecimal digits of either case, up to 16 digits at a
 * time.
 *
 * The value of a letter is its low four bits plus 9, as 'A' is 0x41 and 'a'
 * is 0x61.  Letters have bit 0x40, digits do not.
 * ----------
 */

static inline bool
is_hex_digit(char c)
{
	return (unsigned char) (c - '0') <= 9 ||
		(unsigned char) ((c | 0x20) - 'a') <= 5;
}

static inline uint8
hex_value(char c)
{
	return (c & 0x0f) + (c & 0x40 ? 9 : 0);
}

/* Read a byte from two characters; false if one of them is not a digit. */
static inline bool
read_hex_byte(const char *p, uint8 *byte)
{
	*byte = hex_value(p[0]) << 4 | hex_value(p[1]);
	return is_hex_digit(p[0]) && is_hex_digit(p[1]);
}

static inline bool
are_16_hex_digits(const char *p)
{
	ByteBlock	block = byte_block_load(p);
	ByteBlock	flags = byte_block_le(block - '0', 9) |
		byte_block_le((block | 0x20) - 'a', 5);

	return !byte_block_any(~flags);
}

/* Read 4 bytes from 8 characters, all of which must be digits. */
static inline void
put_4_bytes_of_hex(uint8 *to, const char *p)
{
	uint64		word = load_word(p);
	uint64		values;
	uint32		bytes;

	values = (word & EACH_BYTE(0x0f)) + 9 * (word >> 6 & EACH_BYTE(1));
	/* combine two digits in the low byte of each 16 bits, then join these */
	values = (values << 4 | values >> 8) & UINT64CONST(0x00ff00ff00ff00ff);
	values = (values | values >> 8) & UINT64CONST(0x0000ffff0000ffff);
	bytes = (uint32) (values | values >> 16);
#ifdef WORDS_BIGENDIAN
	bytes = pg_bswap32(bytes);
#endif
	memcpy(to, &bytes, 4);
}

/* Read 8 bytes from 16 characters; false if one of them is not a digit. */
static inline bool
read_hex_8(const char *p, uint8 *to)
{
	put_4_bytes_of_hex(to, p);
	put_4_bytes_of_hex(to + 4, p + 8);
	return are_16_hex_digits(p);
}

#endif							/* PARDUMP_DIGITS_H */
