/*-------------------------------------------------------------------------
 *
 * hex.h
 *	  Bytes to hexadecimal digits, and back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_HEX_H
#define PARDUMP_HEX_H

#include "port/pg_bswap.h"

#include "bytes/byte_block.h"

/* ----------
 * Writes bytes as lower-case hexadecimal digits in place.
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

/* Write 16 bytes as 32 digits. */
#ifdef BYTE_BLOCK_SSE2

/* A digit is its value plus '0', plus the way from '9' to 'a' beyond 9. */
static inline __m128i
hex_from_nibbles(__m128i nibbles)
{
	__m128i		letters = _mm_cmpgt_epi8(nibbles, _mm_set1_epi8(9));

	return _mm_add_epi8(_mm_add_epi8(nibbles, _mm_set1_epi8('0')),
						_mm_and_si128(letters, _mm_set1_epi8('a' - '9' - 1)));
}

static inline char *
put_hex_16(char *p, const uint8 *bytes)
{
	__m128i		in = _mm_loadu_si128((const __m128i *) bytes);
	__m128i		mask = _mm_set1_epi8(0x0f);
	__m128i		high = _mm_and_si128(_mm_srli_epi16(in, 4), mask);
	__m128i		low = _mm_and_si128(in, mask);

	_mm_storeu_si128((__m128i *) p,
					 hex_from_nibbles(_mm_unpacklo_epi8(high, low)));
	_mm_storeu_si128((__m128i *) (p + 16),
					 hex_from_nibbles(_mm_unpackhi_epi8(high, low)));
	return p + 32;
}

#elif defined(BYTE_BLOCK_NEON)

static inline char *
put_hex_16(char *p, const uint8 *bytes)
{
	uint8x16_t	in = vld1q_u8(bytes);
	uint8x16_t	digits = vld1q_u8((const uint8 *) hex_digits);
	uint8x16x2_t chars;

	chars.val[0] = vqtbl1q_u8(digits, vshrq_n_u8(in, 4));
	chars.val[1] = vqtbl1q_u8(digits, vandq_u8(in, vdupq_n_u8(0x0f)));
	vst2q_u8((uint8 *) p, chars);
	return p + 32;
}

#else

static inline char *
put_hex_16(char *p, const uint8 *bytes)
{
	for (int i = 0; i < 16; i++)
		p = put_hex_byte(p, bytes[i]);
	return p;
}

#endif

/* ----------
 * Reads bytes from hexadecimal digits of either case.
 *
 * A letter's value is that of its low four bits plus 9, as 'A' is 0x41 and
 * 'a' is 0x61; a digit has no bit 0x40.
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

/* Two digits; false if they are none. */
static inline bool
read_hex_byte(const char *p, uint8 *byte)
{
	*byte = hex_value(p[0]) << 4 | hex_value(p[1]);
	return is_hex_digit(p[0]) && is_hex_digit(p[1]);
}

/* Are the 16 bytes at "p" hexadecimal digits? */
#ifdef BYTE_BLOCK_SSE2

static inline bool
are_16_hex_digits(const char *p)
{
	__m128i		block = byte_block_load(p);
	__m128i		digits = _mm_sub_epi8(block, _mm_set1_epi8('0'));
	__m128i		letters = _mm_sub_epi8(_mm_or_si128(block, _mm_set1_epi8(0x20)),
									   _mm_set1_epi8('a'));
	__m128i		flags = byte_block_or(byte_block_le(digits, 9),
									  byte_block_le(letters, 5));

	return _mm_movemask_epi8(flags) == 0xffff;
}

#else

static inline bool
are_16_hex_digits(const char *p)
{
	bool		all = true;

	for (int i = 0; i < 16; i++)
		all &= is_hex_digit(p[i]);
	return all;
}

#endif

/* Write 4 bytes from 8 digits, which they must be. */
static inline void
put_4_bytes_of_hex(uint8 *to, const char *p)
{
	uint64		word;
	uint64		values;
	uint32		bytes;

	memcpy(&word, p, 8);
#ifdef WORDS_BIGENDIAN
	word = pg_bswap64(word);
#endif
	values = (word & EACH_BYTE(0x0f)) + 9 * (word >> 6 & EACH_BYTE(1));
	/* pairs in the low byte of each 16 bits, then side by side */
	values = (values << 4 | values >> 8) & UINT64CONST(0x00ff00ff00ff00ff);
	values = (values | values >> 8) & UINT64CONST(0x0000ffff0000ffff);
	bytes = (uint32) (values | values >> 16);
#ifdef WORDS_BIGENDIAN
	bytes = pg_bswap32(bytes);
#endif
	memcpy(to, &bytes, 4);
}

/* Read 8 bytes from 16 digits; false if they are none. */
static inline bool
read_hex_8(const char *p, uint8 *to)
{
	put_4_bytes_of_hex(to, p);
	put_4_bytes_of_hex(to + 4, p + 8);
	return are_16_hex_digits(p);
}

#endif							/* PARDUMP_HEX_H */
